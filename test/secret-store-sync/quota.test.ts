/** The sync with a store that limits requests: its pace, its order, and the condition of what has to wait. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Transport } from '../../src/secret-store-client/transport.ts';
import { KvStore } from '../support/kv/kv-store.ts';
import { rateLimit } from '../support/kv/rate-limit.ts';
import { startKvServer } from '../support/kv-server.ts';
import { openSynced, type SyncedPlatform } from './synced-platform.ts';
import { VirtualTime } from './virtual-time.ts';

const COUNT = 50;
const CHANGED = 40;
const BOTH = { direction: 'both' };

interface Slow {
  readonly synced: SyncedPlatform;
  readonly time: VirtualTime;
  /** Called before each request; requests wait for it. */
  readonly hook: { before: (path: string) => Promise<void> | void };
}

/** Secrets that agree with the store, which lists no versions: a cycle reads each of them. */
async function many(): Promise<Slow> {
  const time = new VirtualTime();
  const hook: Slow['hook'] = { before: () => {} };
  const store = new KvStore();
  store.mount('secret/');
  const server = await startKvServer({ store });
  onTestFinished(() => server.close());
  // A request over HTTP would take a while in which virtual time passes.
  const transport = (origin: string): Transport => ({
    origin,
    close: () => {},
    send: async (request) => {
      await hook.before(request.path);
      return store.handle(request);
    },
  });
  const synced = await openSynced({ server, options: { timing: time, transport } });
  synced.mount.listsVersions = false;
  for (let index = 0; index < COUNT; index += 1) {
    synced.mount.put(`many/${index}`, { a: 'agreed' });
    await synced.tie({ a: 'agreed' }, { ...BOTH, 'kv-secret-path': `many/${index}` }, name(index));
  }
  await synced.cycle();
  expect(synced.sync.report().counts).toMatchObject({ synced: COUNT });
  return { synced, time, hook };
}

function name(index: number): string {
  return `mail-${String(index).padStart(2, '0')}`;
}

async function refusals({ metrics }: SyncedPlatform): Promise<number> {
  const metric = await metrics.getSingleMetric('gitplane_secret_sync_refused_total')?.get();
  return metric?.values[0]?.value ?? 0;
}

/** Secrets in the order of the reads of their newest version since a request. */
function readsSince({ server }: SyncedPlatform, first: number): number[] {
  return server.store.requests
    .slice(first)
    .flatMap(({ method, path }) =>
      method === 'GET' ? (/\/data\/many\/(\d+)$/.exec(path)?.[1] ?? []) : [],
    )
    .map(Number);
}

/** Secrets in the order of a cycle over all of them. */
async function orderOfCycle(synced: SyncedPlatform): Promise<number[]> {
  const first = synced.server.store.requests.length;
  await synced.cycle();
  return [...new Set(readsSince(synced, first))];
}

describe('a store with a quota', () => {
  test.each([4, 10, 30, 60])(
    'a store with a quota of %i requests per second gets all changes of git within a fifth of it',
    async (requests) => {
      const { synced, time } = await many();
      const { store } = synced.server;
      store.limit = rateLimit({
        requests,
        intervalMs: 1_000,
        hasHeaders: false,
        now: () => time.passed,
      });
      const start = { passed: time.passed, requests: store.requests.length };
      const refused = await refusals(synced);
      // Some ten seconds of requests: the first refusal costs a part of one, whatever the quota is.
      for (let round = 0; round < requests / 15; round += 1) {
        for (let index = 0; index < CHANGED; index += 1) {
          await synced.edit({ a: `changed ${round}` }, name(index));
        }
        await synced.cycle();

        for (let index = 0; index < CHANGED; index += 1) {
          expect(synced.mount.live(`many/${index}`)).toEqual({ a: `changed ${round}` });
        }
      }
      const sent = store.requests.length - start.requests;
      const accepted = sent - ((await refusals(synced)) - refused);
      const seconds = (time.passed - start.passed) / 1_000;
      expect(accepted / seconds).toBeGreaterThan(0.8 * requests);
      expect(synced.sync.report()).toMatchObject({ state: 'available', counts: { synced: COUNT } });
      expect(synced.sync.report().warnings.join()).toContain('over its quota');
    },
  );

  test('gets a change of git before the rest of a cycle that began earlier', async () => {
    const { synced, time, hook } = await many();
    const { store } = synced.server;
    store.limit = rateLimit({
      requests: 10,
      intervalMs: 1_000,
      hasHeaders: false,
      now: () => time.passed,
    });
    const last = (await orderOfCycle(synced)).at(-1) ?? 0;
    const first = store.requests.length;
    let edited: Promise<void> | undefined;
    hook.before = () => {
      if (readsSince(synced, first).length < 10) return;
      edited ??= synced.edit({ a: 'changed' }, name(last));
      return edited;
    };
    await synced.cycle();

    const requests = store.requests.slice(first);
    const push = requests.findIndex(({ method }) => method === 'POST');
    const earlier = requests.slice(0, push).map(({ path }) => path);
    expect(requests[push]?.path).toContain(`many/${last}`);
    // Two are in work at once, and a read that is refused is in the record twice.
    expect(new Set(earlier).size).toBeLessThan(20);
    expect(synced.sync.report().counts).toMatchObject({ synced: COUNT });
  });

  test('a store that asks for a minute of silence is an outage, and the next cycle resumes', async () => {
    const { synced, hook } = await many();
    const { store } = synced.server;
    const order = await orderOfCycle(synced);
    const first = store.requests.length;
    hook.before = () => {
      if (readsSince(synced, first).length >= 20) store.quota = { left: 1000, retryAfter: '60' };
    };
    await synced.cycle();

    const stale = order.filter((index) =>
      synced.conditions(name(index)).includes('Stale=True RateLimited'),
    );
    expect(stale.length).toBeGreaterThanOrEqual(COUNT - 20);
    expect(new Set(stale)).toEqual(new Set(order.slice(-stale.length)));
    expect(synced.conditions(name(order[0] ?? 0))).toEqual(['Synced=True Synced']);
    hook.before = () => {};
    store.quota = { left: 0, retryAfter: undefined };
    const next = await orderOfCycle(synced);
    expect(new Set(next.slice(0, stale.length))).toEqual(new Set(stale));
    expect(synced.sync.report().counts).toMatchObject({ synced: COUNT });
  });
});

/** The store takes a few reads after each start, and the daemon is started again each time. */
test('a daemon that restarts again and again visits every secret in order', async () => {
  let { synced, hook } = await many();
  const { store } = synced.server;
  const seen = new Set<number>();
  const first = { request: 0 };
  hook.before = () => {
    const isOver = readsSince(synced, first.request).length >= 15;
    store.quota = { left: isOver ? 1000 : 0, retryAfter: '60' };
  };
  let starts = 0;
  while (seen.size < COUNT && starts < 12) {
    starts += 1;
    first.request = store.requests.length;
    store.quota = { left: 0, retryAfter: undefined };
    synced = await synced.restart();
    synced.mount.listsVersions = false;
    await vi.waitFor(() => expect(synced.sync.report().state).toBe('unavailable'), 10_000);
    for (const index of readsSince(synced, first.request)) seen.add(index);
  }

  expect(seen.size).toBe(COUNT);
  // The ideal is COUNT / 15; several are in work at once when the process ends.
  expect(starts).toBeLessThanOrEqual(8);
});

test('conditions follow while a cycle still runs', async () => {
  const { synced, hook } = await many();
  for (let index = 0; index < COUNT; index += 1) synced.mount.put(`many/${index}`, { a: 'new' });
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const first = synced.server.store.requests.length;
  hook.before = () => (readsSince(synced, first).length >= 25 ? held : undefined);
  const cycle = synced.cycle();
  // A cycle goes on where the one before stopped: any of them may be the first.
  const names = Array.from({ length: COUNT }, (_, index) => name(index));
  const isNew = (one: string): boolean => /version 2\b/.test(synced.message(one) ?? '');
  await vi.waitFor(() => expect(names.filter(isNew)).not.toEqual([]));
  expect(names.every(isNew)).toBe(false);
  release();
  await cycle;
  expect(synced.sync.report().lastCycle).toMatchObject({ pulled: COUNT });
});
