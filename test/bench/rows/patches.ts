/**
 * Endpoint patches: one expression on 1, 10 and 100 addresses in the sandbox, from JSON values to
 * JSON values, beside node:vm, which is none, and beside goja, the engine in Go that vCluster uses;
 * objects through the threads, as the daemon does it. Then what an object costs that no path matches, what a tenant takes, and how soon the daemon is
 * back at work after a hostile expression.
 */
import { execFileSync } from 'node:child_process';
import vm from 'node:vm';
import { type JsonObject, type JsonValue, jsonEqual } from '../../../src/apimachinery/object.ts';
import { PatchEngine } from '../../../src/endpoint-patches/engine.ts';
import type { Evaluator } from '../../../src/endpoint-patches/evaluator.ts';
import { HEAD, TAIL } from '../../../src/endpoint-patches/expressions/syntax.ts';
import { compilePatches, type PatchProgram } from '../../../src/endpoint-patches/program.ts';
import { type ApplyRequest, runPatches } from '../../../src/endpoint-patches/run.ts';
import { DEFAULT_LIMITS } from '../../../src/endpoint-patches/sandbox/limits.ts';
import { Realm } from '../../../src/endpoint-patches/sandbox/realm.ts';
import type { TenantCluster } from '../../../src/endpoint-patches/tenant.ts';
import type { Fixture } from '../fixture.ts';
import { buildGoProgram } from '../go-program.ts';
import { type Line, withGoal } from '../report.ts';
import { type Summary, summarize } from '../statistics.ts';

const ADDRESSES = [1, 10, 100];
const GOAL_ADDRESSES = 10;
const GOAL = { atLeast: 0.25 };
const GOJA_GOAL = { atLeast: 2 };
const WARM_UP_MS = 1500;
const MEASURED_MS = 500;
/** As many objects as a loop has on the way. */
const UNDER_WAY = 64;
const UNMATCHED_PATCHES = 100;
const UNMATCHED_GOAL_US = 5;
const TENANTS = 50;

const TENANT: TenantCluster = {
  name: 'tenant',
  namespace: 'vcluster-tenant',
  config: {},
  mode: 'single',
  referenceNames: 'short',
};
const EXPRESSION = `value.map((subset) => ({
  ...subset,
  addresses: subset.addresses.map((address) => ({ ...address, hostname: 'tenant-' + address.hostname })),
}))`;
const HOSTILE: readonly (readonly [string, string])[] = [
  ['an endless loop', '(() => { for (;;); })()'],
  ['a list without an end', '(() => { const a = []; for (;;) a.push(a.slice()); })()'],
  ['a search without steps', '"a".repeat(5e6).indexOf("a".repeat(2e6) + "b")'],
];

export async function measurePatches({ repetitions }: Fixture): Promise<Line[]> {
  const engine = new PatchEngine();
  try {
    const lines: Line[] = [];
    const goja = buildGoProgram('goja');
    if (goja === undefined) {
      process.stderr.write(
        'bench: the lines beside goja are SKIPPED: Go or its module is missing\n',
      );
    }
    for (const addresses of ADDRESSES) {
      lines.push(...(await measureExpression({ addresses, repetitions, goja })));
    }
    lines.push(await measureObjects(engine, repetitions));
    lines.push(measureUnmatched(repetitions));
    lines.push(await measureTenants(engine));
    for (const [name, expression] of HOSTILE) {
      lines.push(...(await measureHostile(engine, { name, expression, repetitions })));
    }
    return lines;
  } finally {
    await engine.close();
  }
}

/** In this thread, per second of processor time: the price of the sandbox itself. */
async function measureExpression(of: {
  addresses: number;
  repetitions: number;
  /** Path of the program, if it is built. */
  goja: string | undefined;
}): Promise<Line[]> {
  const { addresses, repetitions, goja } = of;
  const program = programOf([{ path: 'subsets', expression: EXPRESSION }]);
  const realm = await Realm.open(program, DEFAULT_LIMITS);
  const plain = vmEvaluator(EXPRESSION);
  const subsets = endpoints(addresses)['subsets'] as JsonValue;
  const evaluation = {
    patch: 0,
    direction: 'forward' as const,
    values: [subsets],
    paths: ['subsets'],
  };
  const sandboxed = (): readonly JsonValue[] => {
    realm.begin();
    return realm.evaluate(evaluation);
  };
  const bare = (): void => void plain.evaluate(evaluation);
  const rates = {
    sandbox: [] as number[],
    vm: [] as number[],
    json: [] as number[],
    values: [] as number[],
  };
  const [expected] = sandboxed();
  rateOf(sandboxed, WARM_UP_MS);
  rateOf(bare, WARM_UP_MS);
  // In turn, so that noise falls on all.
  for (let i = 0; i < repetitions; i++) {
    rates.sandbox.push(rateOf(sandboxed, MEASURED_MS, processorMs));
    rates.vm.push(rateOf(bare, MEASURED_MS, processorMs));
    if (goja === undefined) continue;
    const { json, values, results } = askGoja(goja, subsets);
    if (!results.every((result) => jsonEqual(result, expected ?? null))) {
      throw new Error('goja evaluates the expression to another value');
    }
    rates.json.push(json);
    rates.values.push(values);
  }
  const unit = '/s' as const;
  const measured = summarize(rates.sandbox);
  const line = (name: string, reference: string, samples: number[]): Line => ({
    name: `an expression on ${addresses} addresses${name}`,
    unit,
    measured,
    reference: { name: reference, measured: summarize(samples) },
  });
  const isGoal = addresses === GOAL_ADDRESSES;
  const first = line('', 'node:vm, the same JSON', rates.vm);
  const lines = [isGoal ? withGoal(first, GOAL) : first];
  if (goja === undefined) return lines;
  const beside = [
    line(', goja', 'goja, JSON both ways', rates.json),
    line(', goja', 'goja, Go values both ways', rates.values),
  ];
  return [...lines, ...beside.map((one) => (isGoal ? withGoal(one, GOJA_GOAL) : one))];
}

interface GojaAnswer {
  readonly json: number;
  readonly values: number;
  readonly results: readonly JsonValue[];
}

function askGoja(program: string, value: JsonValue): GojaAnswer {
  const asked = {
    function: `${HEAD}${EXPRESSION}${TAIL}`,
    value,
    warmUpMs: MEASURED_MS,
    measuredMs: MEASURED_MS,
  };
  const answer = execFileSync(program, { input: JSON.stringify(asked), encoding: 'utf8' });
  return JSON.parse(answer) as GojaAnswer;
}

/** `clock`: what a second is measured by. The work goes on for `ms` of the wall clock. */
function rateOf(work: () => void, ms: number, clock = (): number => performance.now()): number {
  const start = performance.now();
  const before = clock();
  let count = 0;
  while (performance.now() - start < ms) {
    work();
    count++;
  }
  return (count * 1000) / (clock() - before);
}

/** Of all threads of the process, so that neighbours on the machine change it little. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Whole objects, many on the way, through the threads of the daemon. */
async function measureObjects(engine: PatchEngine, repetitions: number): Promise<Line> {
  const program = programOf([{ path: 'subsets', expression: EXPRESSION }]);
  const object = endpoints(GOAL_ADDRESSES);
  const request = { object, direction: 'forward' as const, values: false };
  const plain = vmEvaluator(EXPRESSION);
  const bare = (): void => void runPatches(program, request, plain);
  const rates = { engine: [] as number[], vm: [] as number[] };
  await engineRate(engine, program, { request, ms: WARM_UP_MS });
  rateOf(bare, WARM_UP_MS);
  for (let i = 0; i < repetitions; i++) {
    rates.engine.push(await engineRate(engine, program, { request, ms: MEASURED_MS }));
    rates.vm.push(rateOf(bare, MEASURED_MS));
  }
  return {
    name: `objects of ${GOAL_ADDRESSES} addresses, through threads`,
    unit: '/s',
    measured: summarize(rates.engine),
    reference: { name: 'node:vm in this thread', measured: summarize(rates.vm) },
  };
}

async function engineRate(
  engine: PatchEngine,
  program: PatchProgram,
  { request, ms }: { request: ApplyRequest; ms: number },
): Promise<number> {
  const start = performance.now();
  const end = start + ms;
  let count = 0;
  await Promise.all(
    Array.from({ length: UNDER_WAY }, async () => {
      while (performance.now() < end) {
        const { object } = await engine.apply(program, request);
        if (object === undefined) throw new Error('The expression of the benchmark fails');
        count++;
      }
    }),
  );
  return (count * 1000) / (performance.now() - start);
}

/** Values go in and come out as JSON: objects of another realm may not be handed around. */
function vmEvaluator(expression: string): Evaluator {
  const context = vm.createContext({});
  const evaluate = vm.runInContext(
    `(() => {
      const expression = ${HEAD}${expression}${TAIL};
      return (text) => JSON.stringify(JSON.parse(text).map((value) => expression(value, true)));
    })()`,
    context,
  ) as (text: string) => string;
  return {
    fuel: 0,
    evaluate: ({ values }) => JSON.parse(evaluate(JSON.stringify(values))) as JsonValue[],
  };
}

function measureUnmatched(repetitions: number): Line {
  const patches = Array.from({ length: UNMATCHED_PATCHES }, (_, i) => ({
    path: `subsets[*].addresses[*].none${i}`,
    expression: 'value',
  }));
  const program = programOf(patches);
  const request = { object: endpoints(1), direction: 'forward' as const };
  const none: Evaluator = { fuel: 0, evaluate: ({ values }) => values };
  const samples = Array.from({ length: repetitions + 1 }, () => {
    const rate = rateOf(() => void runPatches(program, request, none), MEASURED_MS, processorMs);
    return 1e6 / (rate * UNMATCHED_PATCHES);
  });
  const measured = summarize(samples.slice(1));
  const goal = { text: `≤ ${UNMATCHED_GOAL_US} us`, met: measured.median <= UNMATCHED_GOAL_US };
  return { name: 'a patch that matches nothing', unit: 'us', measured, goal };
}

/** Resident memory of the process, before and after many tenants had an object patched. */
async function measureTenants(engine: PatchEngine): Promise<Line> {
  const tenants = Array.from({ length: TENANTS }, (_, i) =>
    compilePatches({
      tenant: { ...TENANT, name: `tenant-${i}` },
      patches: [{ path: 'subsets', expression: EXPRESSION }],
    }),
  );
  const request = { object: endpoints(GOAL_ADDRESSES), direction: 'forward' as const };
  const before = process.memoryUsage.rss();
  for (const tenant of tenants) await engine.apply(tenant, request);
  const bytes = Math.max(0, process.memoryUsage.rss() - before) / TENANTS;
  const name = `memory of a tenant, of ${TENANTS}`;
  return { name, unit: 'MB', measured: summarize([bytes / 1e6]) };
}

async function measureHostile(
  engine: PatchEngine,
  { name, expression, repetitions }: { name: string; expression: string; repetitions: number },
): Promise<Line[]> {
  const friendly = programOf([{ path: 'subsets', expression: EXPRESSION }]);
  const object = endpoints(GOAL_ADDRESSES);
  const request = { object, direction: 'forward' as const };
  const recovery: number[] = [];
  const delays: number[] = [];
  for (let i = 0; i < repetitions; i++) {
    // Another tenant each time: one that is known to be hostile has a thread of its own.
    const hostile = compilePatches({
      tenant: { ...TENANT, name: `hostile-${i}` },
      patches: [{ path: 'kind', expression }],
    });
    const watch = watchDelay();
    const start = performance.now();
    const attack = engine.apply(hostile, request);
    await engine.apply(friendly, request);
    recovery.push(performance.now() - start);
    await attack;
    delays.push(watch());
  }
  const line = (text: string, measured: Summary): Line => ({ name: text, unit: 'ms', measured });
  return [
    line(`${name}: until the next object is done`, summarize(recovery)),
    line(`${name}: longest delay of the event loop`, summarize(delays)),
  ];
}

/** The longest that timers of this thread waited. */
function watchDelay(): () => number {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  return () => {
    clearInterval(timer);
    return Math.max(longest, performance.now() - last);
  };
}

function programOf(patches: readonly { path: string; expression: string }[]): PatchProgram {
  return compilePatches({ tenant: TENANT, patches });
}

function endpoints(addresses: number): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' } },
    subsets: [
      {
        addresses: Array.from({ length: addresses }, (_, i) => ({
          ip: `10.0.${i >> 8}.${i & 255}`,
          hostname: `web-${i}`,
          nodeName: `node-${i % 7}`,
          targetRef: { kind: 'Pod', name: `web-${i}`, namespace: 'shop', uid: `uid-${i}` },
        })),
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      },
    ],
  };
}
