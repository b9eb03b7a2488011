/** Expressions in the real sandbox, in its real threads. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type JsonObject, type JsonValue, valueAt } from '../../src/apimachinery/object.ts';
import { PatchEngine } from '../../src/endpoint-patches/engine.ts';
import { compilePatches, type PatchProgram } from '../../src/endpoint-patches/program.ts';
import type { PatchOutcome } from '../../src/endpoint-patches/report.ts';
import type { Patch } from '../../src/endpoint-patches/settings.ts';
import type { TenantCluster } from '../../src/endpoint-patches/tenant.ts';

const TENANT: TenantCluster = {
  name: 'vcluster',
  namespace: 'vcluster-ns',
  config: { sync: { toHost: {} } },
  mode: 'single',
  referenceNames: 'short',
};

let engine: PatchEngine;

beforeAll(() => {
  engine = new PatchEngine({ threads: 2 });
});

afterAll(async () => {
  await engine.close();
});

function program(patches: readonly Patch[], tenant: Partial<TenantCluster> = {}): PatchProgram {
  return compilePatches({ tenant: { ...TENANT, ...tenant }, patches });
}

async function evaluate(expression: string, value: JsonValue): Promise<PatchOutcome> {
  return await engine.apply(program([{ path: 'v', expression }]), {
    object: { v: value },
    direction: 'forward',
    virtualObject: { kind: 'Endpoints', metadata: { name: 'web' } },
  });
}

/** The examples of the product's documentation and of its tests, and what users write. */
test.each<[string, JsonValue, JsonValue | undefined]>([
  [
    'value.replace("images.example/", "registry.internal/")',
    'images.example/nginx',
    'registry.internal/nginx',
  ],
  ['"tenant-" + value', 'http', 'tenant-http'],
  ['value.replace(/^tenant-/, "")', 'tenant-http', 'http'],
  [
    'btoa(atob(value).replace("testing sync", "testing js patch"))',
    Buffer.from('testing sync here').toString('base64'),
    Buffer.from('testing js patch here').toString('base64'),
  ],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression
  ["value.startsWith('prod-') ? value : `prod-${value}`", 'a', 'prod-a'],
  ['"my-value"', 'other', 'my-value'],
  [
    `(value => { value.metadata ??= {}; value.metadata.annotations ??= {};
      value.metadata.annotations["patched-by"] = "vcluster"; return value; })(value)`,
    { spec: { replicas: 3 } },
    { metadata: { annotations: { 'patched-by': 'vcluster' } }, spec: { replicas: 3 } },
  ],
  ['value?.a?.[0]?.b ?? "none"', { a: [] }, 'none'],
  ['({ ...value, b: [...value.a, 3] })', { a: [1] }, { a: [1], b: [1, 3] }],
  ['value.replace(/(?<year>\\d{4})/u, "<$<year>>")', 'in 2026', 'in <2026>'],
  ['value.filter((x) => x > 1).at(-1)', [1, 2, 3], 3],
  ['value;', 'x', 'x'],
  ['value // as it is', 'x', 'x'],
  ['valueExists', 1, true],
  ['context.vcluster.name + "/" + context.vcluster.namespace', 1, 'vcluster/vcluster-ns'],
  ['context.vcluster.config', 1, { sync: { toHost: {} } }],
  ['context.virtualObject.metadata.name', 1, 'web'],
  ['context.hostObject', 1, undefined],
  ['context.hostObject === null', 1, true],
  ['context.path', 1, 'v'],
  ['({ ...context }.path)', 1, 'v'],
  [
    'virtualToHostDNS("nginx.default.svc.cluster.local")',
    1,
    'nginx-x-default-x-vcluster.vcluster-ns.svc.cluster.local',
  ],
  ['atob("AAEC/w==").length + btoa("\\u0000\\u00ff")', 1, '4AP8='],
  ['null', 'x', undefined],
  ['undefined', 'x', undefined],
  ['[null, undefined]', 'x', [null, null]],
  ['({ a: undefined, b: null })', 'x', { b: null }],
  ['false', 'x', false],
  ['0', 'x', 0],
  ['""', 'x', ''],
  ['value', 'größe 名前 \u0000 \ud83d\ude00', 'größe 名前 \u0000 \ud83d\ude00'],
  ['value.length', '\ud83d\ude00', 2],
  ['[1.5, -0, 1e21, 9007199254740993]', 1, [1.5, 0, 1e21, 9007199254740992]],
  ['value.toLocaleUpperCase("tr")', 'i', 'I'],
  // Results of other classes are what their JSON is.
  ['[new Map([[1, 2]]), /a/, new String("s"), Object(1)]', 1, [{}, {}, 's', 1]],
  ['({ a: () => 1, b: Symbol(), get c() { return 3 } })', 1, { c: 3 }],
  ['new (class { toJSON() { return "chosen" } })()', 1, 'chosen'],
  ['Object.create({ toJSON: () => "inherited" })', 1, 'inherited'],
  ['((shared) => [shared, shared])({ a: value })', 1, [{ a: 1 }, { a: 1 }]],
  ['new Uint8Array([7])', 1, { 0: 7 }],
])('%s of %j is %j', async (expression, value, expected) => {
  const { object, report } = await evaluate(expression, value);

  expect(report.failure).toBeUndefined();
  expect(object).toEqual(expected === undefined ? {} : { v: expected });
});

describe('errors', () => {
  test.each<[string, string, { line: number; col: number }]>([
    ['value.foo.bar()', "cannot read property 'bar' of undefined", { line: 1, col: 10 }],
    [
      '\n(() => {\n  const x = null;\n  return x.y;\n})()',
      "cannot read property 'y' of null",
      { line: 4, col: 11 },
    ],
    ['nope', "'nope' is not defined", { line: 1, col: 1 }],
    ['atob("?")', 'Invalid character', { line: 1, col: 5 }],
    ['btoa("名")', 'Invalid character', { line: 1, col: 5 }],
    ['new Date()', 'Date is not available', { line: 1, col: 9 }],
  ])('%j says %s at %j', async (expression, words, place) => {
    const { object, report } = await evaluate(expression, 'x');

    expect(object).toBeUndefined();
    expect(report.failure).toMatchObject({
      reason: 'exception',
      patch: 0,
      path: 'v',
      message: expect.stringContaining(words),
      ...place,
    });
  });

  test('the place is that of the value that failed', async () => {
    const { report } = await evaluate('value.map((x) => x.a.b)', [{ a: {} }, {}]);

    expect(report.failure).toMatchObject({ path: 'v', line: 1, col: 21 });
    const each = program([{ path: 'list[*]', expression: 'value.a.b' }]);
    const object = { list: [{ a: { b: 1 } }, {}] };
    const { report: second } = await engine.apply(each, { object, direction: 'forward' });
    expect(second.failure).toMatchObject({ path: 'list.1' });
  });

  test.each(['[1n]', '[Promise.resolve()].at(0)', '({ then() {} })', '() => value'])(
    'the result %s is no JSON',
    async (expression) => {
      const { report } = await evaluate(expression, 1);

      expect(report.failure).toMatchObject({
        path: 'v',
        message: expect.stringMatching(/JSON|promise|BigInt/i),
      });
    },
  );

  test('a value that is nested too deeply for the engine fails, and the next one is evaluated', async () => {
    const deep = JSON.parse(`${'['.repeat(2000)}${']'.repeat(2000)}`) as JsonValue;

    const { report } = await evaluate('value', deep);
    expect(report.failure?.reason).toMatch(/memory|stack/);
    expect((await evaluate('value', [1])).object).toEqual({ v: [1] });
  });

  test('a result that holds one object at many places takes no memory outside of the sandbox', async () => {
    const bomb = '(() => { let a = [1]; for (let i = 0; i < 50; i++) a = [a, a]; return a; })()';

    const { report } = await evaluate(bomb, 1);

    expect(report.failure?.reason).toMatch(/memory|time|output/);
  });

  test('a number that is none is found among what is null, which is a result', async () => {
    const list = [1, 'null', 3, 4, 5];
    const request = { object: { list }, direction: 'forward' as const };
    const each = (expression: string) =>
      engine.apply(program([{ path: 'list[*]', expression }]), request);

    const fine = await each('value === 3 ? [null, undefined] : value === 4 ? null : value');
    expect(fine.object).toEqual({ list: [1, 'null', [null, null], 5] });
    const { report } = await each('value === 1 ? null : value === 3 ? { a: [0 / 0] } : value');
    expect(report.failure).toMatchObject({ reason: 'result', path: 'list.2' });
    expect(report.failure?.message).toContain('the result holds NaN, which is no JSON');
  });
});

describe('the same limit is reached in every run', () => {
  test('an endless expression runs out of fuel at the same step, wherever it is run', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 4 }, () => evaluate('(() => { for (;;); })()', 1)),
    );

    for (const { object, report } of outcomes) {
      expect(object).toBeUndefined();
      expect(report).toMatchObject({ fuel: 400, failure: { reason: 'fuel' } });
    }
  });

  test('the fuel is that of the object, whatever number of patches it has', async () => {
    const half = '(() => { for (let i = 0; i < 2e6; i++); return 1 })()';
    const patches = ['a', 'b'].map((path) => ({ path, expression: half }));

    const one = await engine.apply(program(patches), { object: { a: 1 }, direction: 'forward' });
    const two = await engine.apply(program(patches), {
      object: { a: 1, b: 1 },
      direction: 'forward',
    });

    expect(one.report.failure).toBeUndefined();
    expect(one.report.fuel).toBeGreaterThan(200);
    expect(two.report.failure).toMatchObject({ reason: 'fuel', patch: 1 });
  });

  test('the output is limited for the object as a whole', async () => {
    const patches = [{ path: '*', expression: '"x".repeat(3e5)' }];
    const object = { a: 1, b: 1, c: 1, d: 1 };

    const { report } = await engine.apply(program(patches), { object, direction: 'forward' });

    expect(report.failure).toMatchObject({ reason: 'output', patch: 0 });
    expect(report.failure?.message).toBe('the results take more than 1048576 bytes');
  });
});

// covers: patches.expression patches.reverseExpression
test('both ways: the second undoes the first', async () => {
  const pair = program([
    {
      path: 'ports[*].name',
      expression: '"tenant-" + value',
      reverseExpression: 'value.replace(/^tenant-/, "")',
    },
  ]);
  const object = { ports: [{ name: 'http' }, { name: 'dns' }] };

  const there = await engine.apply(pair, { object, direction: 'forward' });
  const back = await engine.apply(pair, { object: there.object ?? {}, direction: 'reverse' });

  expect(there.object).toEqual({ ports: [{ name: 'tenant-http' }, { name: 'tenant-dns' }] });
  expect(back.object).toEqual(object);
});

test('patches of all modes run in one list', async () => {
  const patches: Patch[] = [
    { path: 'metadata.labels', labels: {} },
    { path: 'metadata.labels.app', expression: 'value + "-x"' },
    { path: 'ref', reference: { apiVersion: 'v1', kind: 'Secret' } },
  ];
  const object = {
    metadata: { name: 'o', namespace: 'default', labels: { app: 'web' } },
    ref: 'my-secret',
  };

  const { object: patched, report } = await engine.apply(
    program(patches, { name: 'my-vcluster' }),
    { object, direction: 'forward' },
  );

  expect(valueAt(patched, ['metadata', 'labels'])).toEqual({
    app: 'web-x',
    'gitplane.dev/managed-by': 'my-vcluster',
    'gitplane.dev/namespace': 'default',
  });
  expect(patched?.['ref']).toBe('v5ri45ovgqam9c');
  expect(report.patches.map(({ status }) => status)).toEqual(['applied', 'applied', 'applied']);
});

test('tenants do not see each other, and answers are not mixed up', async () => {
  const programs = Array.from({ length: 80 }, (_, i) =>
    program([{ path: 'v', expression: `globalThis.n = (globalThis.n ?? 0) + 1, value + ${i}` }], {
      name: `tenant-${i}`,
    }),
  );
  const jobs = Array.from({ length: 400 }, (_, i) => i);

  const outcomes = await Promise.all(
    jobs.map((i) =>
      engine.apply(programs[i % 80] as PatchProgram, { object: { v: i }, direction: 'forward' }),
    ),
  );

  expect(outcomes.map(({ object }) => object)).toEqual(jobs.map((i) => ({ v: i + (i % 80) })));
});

test('nothing is left of one object when the next one comes', async () => {
  const counting = program([{ path: 'v', expression: 'globalThis.n = (globalThis.n ?? 0) + 1' }]);
  const object: JsonObject = { v: 'x' };

  for (let i = 0; i < 3; i++) {
    const { object: patched } = await engine.apply(counting, { object, direction: 'forward' });
    expect(patched).toEqual({ v: 1 });
  }
});

test('an object that no expression matches needs no thread', async () => {
  const idle = new PatchEngine();
  const patches: Patch[] = [
    { path: 'nowhere', expression: 'value' },
    { path: 'v', reverseExpression: 'value' },
  ];

  const outcome = await idle.apply(program(patches), { object: { v: 1 }, direction: 'forward' });

  expect(outcome.object).toEqual({ v: 1 });
  expect(idle.stats.started).toBe(0);
  await idle.close();
});

test('a closed engine fails running and later requests', async () => {
  const closing = new PatchEngine();
  const endless = program([{ path: 'v', expression: '(() => { for (;;); })()' }]);
  const request = { object: { v: 1 }, direction: 'forward' as const };

  const running = closing.apply(endless, request);
  await closing.close();

  expect((await running).report.failure?.reason).toBe('crash');
  expect((await closing.apply(endless, request)).report.failure?.reason).toBe('crash');
});
