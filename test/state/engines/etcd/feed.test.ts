import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Etcd } from '../../../../src/etcd/etcd.ts';
import type { EngineWrite } from '../../../../src/state/engines/engine.ts';
import { openEtcdFeed } from '../../../../src/state/engines/etcd/feed.ts';
import {
  CompactedFeedError,
  type RecordFeed,
} from '../../../../src/state/following/record-feed.ts';
import { compareBytes } from '../../../../src/state/objects/key-order.ts';
import { ETCD_MISSING } from '../../../support/etcd.ts';
import { runs } from '../../../support/properties.ts';
import { freshPrefix, openAt, sharedEtcd, stopSharedEtcd } from './harness.ts';

describe.skipIf(ETCD_MISSING !== undefined)(
  `the feed of a state in etcd ${ETCD_MISSING ?? ''}`,
  () => {
    let etcd: Etcd;

    beforeAll(async () => {
      ({ etcd } = await sharedEtcd());
    });

    afterAll(() => stopSharedEtcd());

    test('the load at a revision and the events after it make every later state', async () => {
      const batch = fc.array(
        fc.record({
          key: fc.constantFrom('a', '~', '~/big', '~~', 'é', 'e/1', 'm/store', 'x'.repeat(900)),
          value: fc.option(fc.nat({ max: 5 }), { nil: undefined }),
        }),
        { minLength: 1, maxLength: 5 },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 6 }), async (batches) => {
          const prefix = freshPrefix();
          const engine = await openAt(etcd, prefix);
          const feed = openEtcdFeed(etcd, prefix);
          for (const [i, writes] of batches.entries()) {
            engine.write(writes.map(({ key, value }) => ({ key, value: valueFor(value) })));
            if (i % 3 === 0) engine.write(manyWrites(i));
            await engine.flush();
          }
          await engine.close();
          const { clock } = await feed.newest();

          // From any revision on, also from the middle of a batch that is being copied.
          const all = await statesFrom(feed, clock - 12n, clock);

          for (const [revision, state] of all) {
            expect(await loaded(feed, revision)).toEqual(state);
          }
        }),
        { numRuns: runs(8) },
      );
    });

    test('a batch that is too large for a transaction is one step', async () => {
      const prefix = freshPrefix();
      const feed = openEtcdFeed(etcd, prefix);
      const engine = await openAt(etcd, prefix);
      const from = (await feed.newest()).clock + 1n;
      const large = Buffer.alloc(1_300_000, 'l');

      engine.write([...manyWrites(0), { key: 'large', value: large }, set('m/store', '1')]);
      await engine.flush();

      const { written, clock } = await feed.newest();
      const changes = feed.changes(from);
      const steps: string[][] = [];
      for await (const { revision, records } of changes) {
        if (records.size > 0) {
          steps.push([...records.keys()]);
          expect(records.get('large')?.equals(large)).toBe(true);
          // Whoever looks for it sees it no later than it happened.
          expect(revision).toBeLessThanOrEqual(written);
        }
        if (revision >= clock) changes.close();
      }
      expect(steps).toHaveLength(1);
      expect(steps[0]).toHaveLength(302);
      await engine.close();
    });

    test('batches that say what happened stay apart where they write the same record', async () => {
      const prefix = freshPrefix();
      const feed = openEtcdFeed(etcd, prefix);
      const engine = await openAt(etcd, prefix);
      const from = (await feed.newest()).clock + 1n;
      for (let i = 0; i < 6; i++) {
        engine.write([set('o/a', String(i)), set(`e/${i}`, String(i)), set('m/store', String(i))]);
      }
      for (let i = 6; i < 9; i++) {
        engine.write([set(`o/${i}`, String(i)), set(`e/${i}`, ''), set('m/store', String(i))]);
      }
      await engine.flush();

      const { clock } = await feed.newest();
      const changes = feed.changes(from);
      const seen: string[] = [];
      let steps = 0;
      for await (const { revision, records } of changes) {
        steps++;
        const value = records.get('o/a');
        if (value !== undefined) seen.push(value.toString());
        if (revision >= clock) changes.close();
      }

      expect(seen).toEqual(['0', '1', '2', '3', '4', '5']);
      expect(steps).toBeLessThan(9);
      await engine.close();
    });

    test('the oldest revision is the one before the first event that can still be followed', async () => {
      const prefix = freshPrefix();
      const feed = openEtcdFeed(etcd, prefix);
      const engine = await openAt(etcd, prefix);
      const revisions: bigint[] = [];
      for (let i = 0; i < 9; i++) {
        engine.write([set(`e/${i}`, ''), set('m/store', String(i))]);
        await engine.flush();
        revisions.push((await feed.newest()).written);
      }
      expect(await feed.oldest()).toBe((revisions[0] ?? 0n) - 1n);

      await etcd.compact(revisions[5] ?? 0n);

      expect(await feed.oldest()).toBe(revisions[5]);
      expect(await loaded(feed, await feed.oldest())).toHaveLength(7);
      await expect(loaded(feed, revisions[4] ?? 0n)).rejects.toThrow(CompactedFeedError);
      const lost = feed
        .changes(revisions[4] ?? 0n)
        [Symbol.asyncIterator]()
        .next();
      await expect(lost).rejects.toThrow(CompactedFeedError);
      await engine.close();
    });
  },
);

function set(key: string, value: string): EngineWrite {
  return { key, value: Buffer.from(value) };
}

/** 5: a large one; 4: one that looks like a reference. */
function valueFor(value: number | undefined): Buffer | undefined {
  if (value === undefined) return undefined;
  if (value === 5) return Buffer.alloc(600_000, 'v');
  return value === 4 ? Buffer.from('\u0002[]') : Buffer.from(String(value));
}

function manyWrites(of: number): EngineWrite[] {
  return Array.from({ length: 300 }, (_, i) => set(`many/${i}`, `${of}`));
}

type State = [string, string][];

async function loaded(feed: RecordFeed, revision: bigint): Promise<State> {
  const state: State = [];
  for await (const [key, value] of feed.load(revision)) state.push([key, value.toString()]);
  return state;
}

async function statesFrom(feed: RecordFeed, from: bigint, to: bigint): Promise<[bigint, State][]> {
  const state = new Map(await loaded(feed, from));
  const states: [bigint, State][] = [];
  const changes = feed.changes(from + 1n);
  for await (const { revision, records } of changes) {
    for (const [key, value] of records) {
      if (value === undefined) state.delete(key);
      else state.set(key, value.toString());
    }
    states.push([revision, [...state].sort(([a], [b]) => compareBytes(a, b))]);
    if (revision >= to) changes.close();
  }
  return states;
}
