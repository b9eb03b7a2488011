/**
 * Endpoint sync from end to end, both clusters served by the daemon: from a change of an object in
 * the tenant cluster until its patched copy on the control-plane cluster is written; all objects of a
 * tenant again after its patches changed; and what a tenant takes of memory. Every change goes
 * through an expression.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { BRANCH, fastImport, git, importStream } from '../git.ts';
import { HttpConnection, requestBytes } from '../http-connection.ts';
import { assertStatus, type Load, throughput } from '../load.ts';
import type { Line } from '../report.ts';
import { summarize } from '../statistics.ts';

const OBJECTS = 1000;
const CLIENTS = 32;
const SINGLE_CHANGES = 100;
const TENANTS = 50;
const PATIENCE_MS = 60_000;
const TEAM = 'example.com/team';
const SYNCED = 'synced';
/** Has no loop: what the changes take by themselves. */
const PLAIN = 'plain';

export async function measureLoop(fixture: Fixture): Promise<Line[]> {
  const dataDir = await fixture.emptyPlatform();
  const gitDir = join(dataDir, 'repo.git');
  const daemon = await fixture.start(dataDir);
  const bench = new LoopBench(daemon, gitDir);
  try {
    await bench.commit({ [SYNCED]: withExpression('first'), [PLAIN]: WITHOUT_SYNC });
    await Promise.all([bench.fill(SYNCED, OBJECTS), bench.fill(PLAIN, OBJECTS)]);
    await bench.written(SYNCED, 'create', OBJECTS);
    return [
      ...(await changes(bench, fixture.repetitions)),
      await resync(bench, fixture.repetitions),
      await memory(bench, daemon),
    ];
  } finally {
    await daemon.stop();
  }
}

async function changes(bench: LoopBench, repetitions: number): Promise<Line[]> {
  const rates = { synced: [] as number[], plain: [] as number[] };
  for (let i = 0; i <= repetitions; i++) {
    const before = await bench.writes(SYNCED, 'update');
    const start = performance.now();
    await bench.changeAll(SYNCED, `round-${i}`);
    await bench.written(SYNCED, 'update', before + OBJECTS);
    const middle = performance.now();
    await bench.changeAll(PLAIN, `round-${i}`);
    // The first round warms up.
    if (i === 0) continue;
    rates.synced.push((OBJECTS * 1000) / (middle - start));
    rates.plain.push((OBJECTS * 1000) / (performance.now() - middle));
  }
  const delays: number[] = [];
  for (let i = 0; i < SINGLE_CHANGES; i++) delays.push(await bench.changeOne(i));
  return [
    {
      name: `${OBJECTS} changes in a tenant, until written`,
      unit: '/s',
      measured: summarize(rates.synced),
      reference: { name: 'the changes without a sync', measured: summarize(rates.plain) },
    },
    { name: 'one change, until its copy is seen', unit: 'ms', measured: summarize(delays) },
  ];
}

async function resync(bench: LoopBench, repetitions: number): Promise<Line> {
  const rates: number[] = [];
  for (let i = 0; i < repetitions; i++) {
    const before = await bench.writes(SYNCED, 'update');
    const start = performance.now();
    await bench.commit({ [SYNCED]: withExpression(`edition-${i}`) });
    await bench.written(SYNCED, 'update', before + OBJECTS);
    rates.push((OBJECTS * 1000) / (performance.now() - start));
  }
  const name = `${OBJECTS} objects again after a change of patches`;
  return { name, unit: '/s', measured: summarize(rates) };
}

/** Resident, with one object each, above what the daemon had before. */
async function memory(bench: LoopBench, daemon: DaemonProcess): Promise<Line> {
  const names = Array.from({ length: TENANTS }, (_, i) => `small-${i}`);
  const before = daemon.memory() ?? Number.NaN;
  await bench.commit(Object.fromEntries(names.map((name) => [name, withExpression('small')])));
  for (const name of names) await bench.fill(name, 1);
  for (const name of names) await bench.written(name, 'create', 1);
  const bytes = Math.max(0, (daemon.memory() ?? Number.NaN) - before) / TENANTS;
  const name = `memory of a tenant with its loop, of ${TENANTS}`;
  return { name, unit: 'MB', measured: summarize([bytes / 1e6]) };
}

function withExpression(word: string): object {
  const expression = `"${word}-" + value`;
  const patches = [{ path: `metadata.annotations["${TEAM}"]`, expression }];
  return { sync: { toHost: { endpoints: { patches } } } };
}

const WITHOUT_SYNC = { sync: { toHost: { endpoints: { enabled: false } } } };

class LoopBench {
  readonly #daemon: DaemonProcess;
  readonly #gitDir: string;

  constructor(daemon: DaemonProcess, gitDir: string) {
    this.#daemon = daemon;
    this.#gitDir = gitDir;
  }

  /** Tenants as their vcluster.yaml says; JSON is YAML. */
  async commit(tenants: Readonly<Record<string, object>>): Promise<void> {
    const head = await git(this.#gitDir, 'rev-parse', BRANCH);
    const files = Object.entries(tenants).map(([name, config]) => ({
      path: `tenants/${name}/vcluster.yaml`,
      content: Buffer.from(JSON.stringify(config)),
    }));
    const commits = [{ files, message: 'Tenants' }];
    await fastImport(this.#gitDir, importStream(`refs/heads/${BRANCH}`, head, commits));
    for (const name of Object.keys(tenants)) await this.#isServed(name);
  }

  /** Endpoints `e0` and on, with the Services that they need. */
  async fill(tenant: string, count: number): Promise<void> {
    const bodies = Array.from({ length: count }, (_, i) => `e${i}`).flatMap((name) => [
      { plural: 'services', body: { metadata: { name }, spec: { ports: [{ port: 80 }] } } },
      { plural: 'endpoints', body: endpoints(name) },
    ]);
    const requests = bodies.map(({ plural, body }) =>
      this.#request('POST', pathTo(tenant, plural), body),
    );
    await this.#sendAll(requests, 201);
  }

  async changeAll(tenant: string, team: string): Promise<void> {
    const requests = Array.from({ length: OBJECTS }, (_, i) =>
      this.#request('PATCH', pathTo(tenant, 'endpoints', `e${i}`), teamOf(`${team}-${i}`)),
    );
    await this.#sendAll(requests, 200);
  }

  /** Milliseconds from the request that changes it until a reader of the copy sees that. */
  async changeOne(number: number): Promise<number> {
    const connection = await HttpConnection.open(this.#daemon.http);
    const team = `single-${number}`;
    const path = `/kubernetes/cluster/local/api/v1/namespaces/vcluster-${SYNCED}/endpoints/e0-x-default-x-${SYNCED}`;
    const read = this.#request('GET', path);
    const start = performance.now();
    const change = this.#request('PATCH', pathTo(SYNCED, 'endpoints', 'e0'), teamOf(team));
    assertStatus(await connection.send(change, true), 200);
    await until(`${team} is written`, async () => {
      const { body } = await connection.send(read, true);
      return body?.includes(`${team}"`) === true;
    });
    connection.close();
    return performance.now() - start;
  }

  async writes(tenant: string, verb: string): Promise<number> {
    const connection = await HttpConnection.open(this.#daemon.http);
    const { body } = await connection.send(this.#request('GET', '/metrics'), true);
    connection.close();
    const line = new RegExp(
      `^gitplane_tenant_writes_total\\{tenant="${tenant}",verb="${verb}"\\} (\\d+)$`,
      'm',
    );
    return Number(line.exec(body?.toString('utf8') ?? '')?.[1] ?? 0);
  }

  async written(tenant: string, verb: string, count: number): Promise<void> {
    const what = `${count} objects of ${tenant} have the verb ${verb}`;
    await until(what, async () => (await this.writes(tenant, verb)) >= count, 10);
  }

  async #isServed(tenant: string): Promise<void> {
    const connection = await HttpConnection.open(this.#daemon.http);
    const request = this.#request('GET', pathTo(tenant, 'services'));
    await until(
      `${tenant} is served`,
      async () => (await connection.send(request)).status === 200,
      5,
    );
    connection.close();
  }

  #request(method: 'GET' | 'POST' | 'PATCH', path: string, body?: object): Buffer {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const { token } = this.#daemon;
    if (body === undefined) return requestBytes({ method, path, token });
    return requestBytes({ method, path, token, type, body: Buffer.from(JSON.stringify(body)) });
  }

  async #sendAll(requests: readonly Buffer[], status: number): Promise<void> {
    const left = requests.values();
    const load: Load = {
      endpoint: this.#daemon.http,
      connections: CLIENTS,
      ms: PATIENCE_MS,
      next: () => left.next().value,
      status,
    };
    await throughput(load);
  }
}

function pathTo(tenant: string, plural: string, name = ''): string {
  const base = `/kubernetes/virtualcluster/${tenant}/api/v1/namespaces/default/${plural}`;
  return name === '' ? base : `${base}/${name}`;
}

function endpoints(name: string): object {
  const addresses = Array.from({ length: 10 }, (_, i) => ({ ip: `10.0.0.${i + 1}` }));
  return {
    metadata: { name, annotations: { [TEAM]: 'none' } },
    subsets: [{ addresses, ports: [{ port: 80 }] }],
  };
}

function teamOf(team: string): object {
  return { metadata: { annotations: { [TEAM]: team } } };
}

async function until(what: string, look: () => Promise<boolean>, pauseMs = 0): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`Not within ${PATIENCE_MS} ms: ${what}`);
    await sleep(pauseMs);
  }
}
