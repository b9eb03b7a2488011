/** Stores that follow one in a real etcd. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Etcd } from '../../../../src/etcd/etcd.ts';
import { openEtcdFeed } from '../../../../src/state/engines/etcd/feed.ts';
import {
  type FollowingStore,
  openFollowingStore,
} from '../../../../src/state/following/following-store.ts';
import { openStore } from '../../../../src/state/open-store.ts';
import type { Change, JournalEvent, Store } from '../../../../src/state/store.ts';
import { ETCD_MISSING } from '../../../support/etcd.ts';
import { runs } from '../../../support/properties.ts';
import { pathOf, put, remove, SECRETS, TEAMS } from '../../builders.ts';
import { fail, testCodec } from '../../harnesses.ts';
import { freshPrefix, openAt, sharedEtcd, stopSharedEtcd } from './harness.ts';

const LONG_MS = 30_000;

function shown(store: Pick<Store, 'list'>): string[] {
  return [TEAMS, SECRETS].flatMap((of) =>
    store.list(of).items.map((stored) => `${stored.resourceVersion} ${stored.json()}`),
  );
}

function told({ type, current, resourceVersion }: JournalEvent): string {
  return `${resourceVersion} ${type} ${pathOf(current.key)} ${JSON.stringify(current.object.spec)}`;
}

/** Everything from a version up to the newest that is shown. */
async function eventsOf(store: FollowingStore, since: number): Promise<string[]> {
  const found: [number, string][] = [];
  for (const of of [TEAMS, SECRETS]) {
    await using watch = store.watch(of, since);
    for (;;) {
      const turn = new Promise<undefined>((resolve) => void setImmediate(resolve, undefined));
      const next = await Promise.race([watch.events().next(), turn]);
      if (next === undefined || next.done === true) break;
      found.push([next.value.resourceVersion, told(next.value)]);
    }
  }
  return found.sort(([a], [b]) => a - b).map(([, text]) => text);
}

describe.skipIf(ETCD_MISSING !== undefined)(`stores that follow etcd ${ETCD_MISSING ?? ''}`, () => {
  let etcd: Etcd;
  const errors: unknown[] = [];

  beforeAll(async () => {
    ({ etcd } = await sharedEtcd());
  });

  afterAll(async () => {
    await stopSharedEtcd();
    expect(errors).toEqual([]);
  });

  const follow = (prefix: string): FollowingStore =>
    openFollowingStore({
      feed: openEtcdFeed(etcd, prefix),
      codec: testCodec,
      onError: (error) => errors.push(error),
    });

  const lead = async (prefix: string): Promise<Store> =>
    openStore({
      engine: await openAt(etcd, prefix),
      codec: testCodec,
      onError: fail,
      followed: true,
    });

  const path = fc.constantFrom('x', 'y', 'a/1', 'a/2', 'b/1');
  const change: fc.Arbitrary<Change> = fc.oneof(
    fc.tuple(path, fc.nat(3)).map(([at, v]) => put(at, { v })),
    path.map(remove),
  );
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.array(change, { minLength: 1, maxLength: 5 }) },
    {
      weight: 1,
      // More than fits into a transaction, with one object several times.
      arbitrary: fc
        .nat(3)
        .map((v) => Array.from({ length: 300 }, (_, i) => put(`many/${i % 290}`, { v, i }))),
    },
    { weight: 1, arbitrary: fc.constantFrom('close' as const, 'crash' as const) },
  );

  test('a follower shows the events of the leader, one by one, through changes of the leader', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const prefix = freshPrefix();
        let store = await lead(prefix);
        const early = follow(prefix);
        await early.ready();
        const since = store.resourceVersion;
        const expected: string[] = [];
        /** The newest version of the oldest record: part of the state that the late one begins with. */
        let first: number | undefined;
        for (const each of steps) {
          if (Array.isArray(each)) {
            const heard: JournalEvent[] = [];
            const stops = [TEAMS, SECRETS].map((of) => store.observe(of, (e) => heard.push(e)));
            store.apply(each);
            for (const stop of stops) stop();
            expected.push(...heard.map(told));
            if (first !== undefined || heard.length === 0) continue;
            first = heard.at(-1)?.resourceVersion;
            await store.flush();
            continue;
          }
          await store.flush();
          const before = store.resourceVersion;
          if (each === 'close') await store.close();
          store = await lead(prefix);
          expect(store.resourceVersion).toBe(before);
        }
        await store.flush();
        const late = follow(prefix);
        await late.ready();
        await early.barrier(LONG_MS);
        expect(shown(early)).toEqual(shown(store));
        expect(shown(late)).toEqual(shown(store));
        const all = await eventsOf(early, since);
        expect(all).toEqual(expected);
        // What the late one has of it is the end of it.
        const from = first ?? since;
        expect(await eventsOf(late, from)).toEqual(await eventsOf(early, from));
        await Promise.all([early.close(), late.close(), store.close()]);
      }),
      { numRuns: runs(12) },
    );
  });

  test('an etcd that is compacted under a follower changes nothing for it', async () => {
    const prefix = freshPrefix();
    const store = await lead(prefix);
    const follower = follow(prefix);
    await follower.ready();
    const since = store.resourceVersion;
    for (let v = 0; v < 50; v++) {
      store.apply([put('x', { v })]);
      if (v % 10 !== 0) continue;
      await store.flush();
      await follower.barrier(LONG_MS);
      await etcd.compact((await openEtcdFeed(etcd, prefix).newest()).clock);
    }
    await store.flush();
    await follower.barrier(LONG_MS);
    expect(await eventsOf(follower, since)).toHaveLength(50);
    expect(follower.counts.reloads).toBe(0);
    const late = follow(prefix);
    await late.ready();
    expect(shown(late)).toEqual(shown(store));
    await Promise.all([follower.close(), late.close(), store.close()]);
  });
});
