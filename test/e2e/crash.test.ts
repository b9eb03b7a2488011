/** Acknowledged means durable (design, invariant 1): the process is killed, again and again. */
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { commitFiles, gitIn, manifest } from './clones.ts';

const TEAMS = `${API}/teams`;
const MERGE_PATCH = 'application/merge-patch+json';
const BURST = 500;

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

/** Numbers from 0 to 1 that follow from the seed alone (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Printed with the results; put one here to see a failure again. */
const SEEDS = [0, 1, 2].map((round) => (Date.now() + round * 7919) >>> 0);

/** Time limit of the answers in flight when a daemon stops (src/server/shutdown.ts). */
const ANSWERS_WITHIN_MS = 5_000;

/** Knowledge of a client about an object of its own. */
interface Life {
  readonly name: string;
  uid: string | undefined;
  /** `displayName` as last acknowledged; null: absent. */
  known: string | null;
  /** Wanted by the request that was never answered. */
  pending: string | null | undefined;
}

/** Creates, then perhaps patches, then perhaps deletes; ends with the first request that fails. */
async function live(life: Life, index: number, acknowledged: () => void): Promise<void> {
  const path = `${TEAMS}/${life.name}`;
  const send = async (
    wanted: string | null,
    method: string,
    at: string,
    body?: object,
  ): Promise<void> => {
    life.pending = wanted;
    const type = method === 'PATCH' ? MERGE_PATCH : 'application/json';
    const { code, json, text } = await daemon.call(
      method,
      at,
      body === undefined ? {} : { body, type },
    );
    // A daemon that is stopping refuses what it has not begun.
    if (code === 503) life.pending = undefined;
    if (code >= 300) throw new Error(`${code} ${text}`);
    life.known = wanted;
    life.pending = undefined;
    life.uid ??= json().metadata.uid;
    acknowledged();
  };
  const { name } = life;
  await send('created', 'POST', TEAMS, { metadata: { name }, spec: { displayName: 'created' } });
  if (index % 2 === 0) await send('patched', 'PATCH', path, { spec: { displayName: 'patched' } });
  if (index % 4 === 0) await send(null, 'DELETE', path);
}

/** Runs a burst until `signal` ended the daemon, sent when `after` requests were acknowledged. */
async function burst(
  prefix: string,
  signal: NodeJS.Signals,
  after: number,
): Promise<{ lives: Life[]; acknowledged: number; code: number | null; milliseconds: number }> {
  const lives = Array.from(
    { length: BURST },
    (_, i): Life => ({
      name: `${prefix}-${i}`,
      uid: undefined,
      known: null,
      pending: undefined,
    }),
  );
  let acknowledged = 0;
  let stopped: Promise<{ code: number | null; milliseconds: number }> | undefined;
  const stop = async () => {
    const started = performance.now();
    const code = await daemon.stop(signal);
    return { code, milliseconds: performance.now() - started };
  };
  const count = (): void => {
    if (++acknowledged >= after) stopped ??= stop();
  };
  await Promise.allSettled(lives.map((life, i) => live(life, i, count)));
  return { lives, acknowledged, ...(await (stopped ?? stop())) };
}

/** Asks again while packs are being rolled up: what is damaged stays damaged. */
async function expectSound(): Promise<void> {
  const repository = join(daemon.dataDir, 'repo.git');
  await vi.waitFor(
    async () => {
      const fsck = await daemon.git(['fsck', '--full', '--strict', '--no-dangling'], repository);
      expect([fsck.code, fsck.stderr]).toEqual([0, '']);
    },
    { timeout: 10_000, interval: 200 },
  );
}

/** Every object is as it was acknowledged, or as the request in flight wanted it; nothing between. */
async function expectNothingLost(lives: readonly Life[]): Promise<void> {
  const { items } = (await daemon.call('GET', TEAMS)).json();
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into objects of every shape
  const served = new Map<string, any>(items.map((item: any) => [item.metadata.name, item]));
  for (const { name, uid, known, pending } of lives) {
    const object = served.get(name);
    const found: string | null = object === undefined ? null : object.spec.displayName;
    expect(pending === undefined ? [known] : [known, pending], name).toContain(found);
    if (object === undefined) continue;
    if (uid !== undefined) expect(object.metadata.uid, name).toBe(uid);
    expect(object.spec).toEqual({ displayName: found });
    expect(object.metadata.generation).toBe(found === 'created' ? 1 : 2);
  }
  const repository = join(daemon.dataDir, 'repo.git');
  const listed = await gitIn(daemon, repository, 'ls-tree', '-r', '--name-only', 'main', 'teams/');
  // More than 256 teams, so that some are in fan-out folders.
  const names = listed.split('\n').map((path) => basename(path, '.yaml'));
  expect(names.toSorted()).toEqual([...served.keys()].sort());
  await expectSound();
}

describe('kill -9 in a burst of writes', () => {
  test.each(SEEDS)('loses nothing that was acknowledged (seed %i)', async (seed) => {
    const random = randomFrom(seed);
    const after = 1 + Math.floor(random() * BURST);
    const { lives, acknowledged } = await burst(`s${seed}`, 'SIGKILL', after);
    expect(acknowledged).toBeGreaterThanOrEqual(after);
    daemon = await startDaemon({ dataDir: daemon.dataDir });

    await expectNothingLost(lives);
  });

  test('leaves a repository that everything still works with', async () => {
    const body = { metadata: { name: 'after-the-crash' }, spec: {} };
    expect((await daemon.call('POST', TEAMS, { body })).code).toBe(201);
    const clone = await daemon.clone();
    await commitFiles(daemon, clone, { 'teams/pushed.yaml': manifest('Team', 'pushed') });
    expect((await daemon.git(['push'], clone)).stderr).toContain('accepted: 1 created');
    expect((await daemon.call('GET', `${TEAMS}/pushed`)).code).toBe(200);
  });
});

test('kill -9 during pushes keeps every push that git reported as done', async () => {
  const clone = await daemon.clone();
  let done = 0;
  const pushing = (async () => {
    for (let i = 0; ; i++) {
      await commitFiles(daemon, clone, { [`teams/p-${i}.yaml`]: manifest('Team', `p-${i}`) });
      const push = daemon.git(['push', '-q'], clone);
      if (i === 3) setImmediate(() => void daemon.stop('SIGKILL'));
      if ((await push).code !== 0) return;
      done++;
    }
  })();
  await pushing;
  expect(done).toBeGreaterThanOrEqual(3);
  daemon = await startDaemon({ dataDir: daemon.dataDir });

  for (let i = 0; i < done; i++) {
    expect((await daemon.call('GET', `${TEAMS}/p-${i}`)).code, `p-${i}`).toBe(200);
  }
  await expectSound();
});

test('SIGTERM in a burst answers the requests in flight and exits with 0', async () => {
  const { lives, code, milliseconds } = await burst('term', 'SIGTERM', 100);
  expect(code).toBe(0);
  expect(milliseconds).toBeLessThan(10_000);
  const { dataDir } = daemon;
  daemon = await startDaemon({ dataDir });

  // The daemon answers what it began, unless the limit of the answers in flight cut their connections.
  const isCut = milliseconds >= ANSWERS_WITHIN_MS;
  await expectNothingLost(isCut ? lives : lives.map((life) => ({ ...life, pending: undefined })));
});
