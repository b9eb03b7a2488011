/** Laws of stores that follow another: nothing but its history is ever seen, by whatever way. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type FollowingStore,
  openFollowingStore,
} from '../../../src/state/following/following-store.ts';
import type { JournalWindow } from '../../../src/state/journal/journal.ts';
import { openStore } from '../../../src/state/open-store.ts';
import { StateError } from '../../../src/state/state-error.ts';
import {
  type Change,
  CompactedError,
  type JournalEvent,
  type Store,
} from '../../../src/state/store.ts';
import { runs } from '../../support/properties.ts';
import { RecordedEngine, RecordedFeed, RecordedHistory } from '../../support/recorded-engine.ts';
import { keyOf, objectOf, pathOf, put, remove, SECRETS, SetClock, TEAMS } from '../builders.ts';
import { fail, testCodec } from '../harnesses.ts';

const KEEP_ALL: Partial<JournalWindow> = { keepEvents: 100_000 };

interface Seen {
  readonly type: string;
  readonly path: string;
  readonly v: unknown;
  readonly hidden: unknown;
  readonly version: number;
}

function seen({ type, current, resourceVersion }: JournalEvent): Seen {
  const { key, object, hidden } = current;
  expect(object.metadata.resourceVersion).toBe(String(resourceVersion));
  return { type, path: pathOf(key), v: object.spec, hidden, version: resourceVersion };
}

function contents(store: Pick<Store, 'list'>): unknown[] {
  return [TEAMS, SECRETS].flatMap((of) =>
    store.list(of).items.map(({ key, object, hidden, resourceVersion }) => ({
      path: pathOf(key),
      v: object.spec,
      hidden,
      version: resourceVersion,
    })),
  );
}

/** A store that is followed, and what it did: also what nobody was ever to see. */
class Leading {
  readonly history = new RecordedHistory();
  readonly clock = new SetClock();
  /** What was there at each version. */
  readonly worlds = new Map<number, unknown[]>();
  readonly window: Partial<JournalWindow>;
  engine = new RecordedEngine(this.history);
  #store: Store | undefined;
  readonly #batches = new Map<number, Seen[]>();

  constructor(window: Partial<JournalWindow> = KEEP_ALL) {
    this.window = window;
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error('not open');
    return this.#store;
  }

  async open(): Promise<void> {
    this.engine = new RecordedEngine(this.history);
    const { engine, clock, window } = this;
    this.#store = await openStore({
      engine,
      codec: testCodec,
      onError: fail,
      clock,
      window,
      followed: true,
    });
    engine.commit();
    this.worlds.set(this.store.resourceVersion, contents(this.store));
  }

  apply(changes: readonly Change[]): void {
    const events: Seen[] = [];
    const stops = [TEAMS, SECRETS].map((of) =>
      this.store.observe(of, (event) => events.push(seen(event))),
    );
    this.store.apply(changes, { count: { n: this.worlds.size } });
    for (const stop of stops) stop();
    const [first] = events;
    if (first !== undefined) this.#batches.set(first.version, events);
    this.worlds.set(this.store.resourceVersion, contents(this.store));
  }

  /** Keys of what is there now. */
  records(prefix: string): string[] {
    const now = this.history.at(this.history.revision);
    return [...now.keys()].filter((key) => key.startsWith(prefix));
  }

  /** Everything that is in the history, in order. */
  get durable(): Seen[] {
    const firsts = this.history.steps.flatMap((step) =>
      [...step].filter(([key, value]) => key.startsWith('e/') && value !== undefined),
    );
    return firsts.flatMap(([key]) => this.#batches.get(Number(key.slice(2))) ?? []);
  }

  follow(window: Partial<JournalWindow> = KEEP_ALL): { store: FollowingStore; feed: RecordedFeed } {
    const feed = new RecordedFeed(this.history);
    const { clock } = this;
    return {
      store: openFollowingStore({ feed, codec: testCodec, onError: fail, clock, window }),
      feed,
    };
  }
}

async function drained(store: Pick<Store, 'watch'>, since: number): Promise<Seen[]> {
  const got: Seen[] = [];
  for (const of of [TEAMS, SECRETS]) {
    await using watch = store.watch(of, since);
    for (;;) {
      const next = await Promise.race([watch.events().next(), turns()]);
      if (next === undefined || next.done === true) break;
      got.push(seen(next.value));
    }
  }
  return got.sort((a, b) => a.version - b.version);
}

/** Long enough for whatever needs no input. */
async function turns(): Promise<undefined> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
  return undefined;
}

const path = fc.constantFrom('x', 'y', 'z', 'a/1', 'a/2', 'b/1');
const change: fc.Arbitrary<Change> = fc.oneof(
  fc
    .record({ path, v: fc.integer({ min: 0, max: 3 }), secret: fc.boolean() })
    .map(({ path, v, secret }) => put(path, { v }, secret ? { hash: `h${v}` } : undefined)),
  path.map(remove),
);
type Step =
  | { readonly do: 'apply'; readonly changes: Change[] }
  | { readonly do: 'commit'; readonly batches: number; readonly shared: boolean }
  | { readonly do: 'follow'; readonly which: number; readonly steps: number }
  | { readonly do: 'read'; readonly which: number }
  | { readonly do: 'end'; readonly cleanly: boolean };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('apply' as const),
      changes: fc.array(change, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('commit' as const),
      batches: fc.integer({ min: 1, max: 4 }),
      shared: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('follow' as const),
      which: fc.nat(1),
      steps: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('read' as const), which: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), cleanly: fc.boolean() }) },
);

test('every follower shows the history up to some moment, and a watch moves between them without gap or repetition', async () => {
  let moves = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
      const leading = new Leading();
      await leading.open();
      const followers = [leading.follow(), leading.follow()] as const;
      await Promise.all(followers.map(({ store }) => store.ready()));
      const limits = [leading.history.revision, leading.history.revision];
      for (const [which, { feed }] of followers.entries()) feed.limit = limits[which] ?? 0;
      let since = leading.store.resourceVersion;
      const got: Seen[] = [];
      for (const each of steps) {
        if (each.do === 'apply') leading.apply(each.changes);
        else if (each.do === 'commit') leading.engine.commit(each.batches, each.shared);
        else if (each.do === 'end') {
          if (each.cleanly) await leading.store.close();
          await leading.open();
        } else {
          const { store, feed } = followers[each.which === 0 ? 0 : 1];
          if (each.do === 'follow') {
            limits[each.which] = (limits[each.which] ?? 0) + each.steps;
            feed.limit = limits[each.which] ?? 0;
            await store.barrier();
          }
          expect(contents(store)).toEqual(leading.worlds.get(store.resourceVersion));
          const news = await drained(store, since);
          since = news.at(-1)?.version ?? since;
          got.push(...news);
          moves++;
        }
      }
      leading.engine.commit();
      for (const { store, feed } of followers) {
        feed.limit = Number.POSITIVE_INFINITY;
        await store.barrier();
        got.push(...(await drained(store, since)));
        since = store.resourceVersion;
        expect(contents(store)).toEqual(contents(leading.store));
        expect([...store.documents('')]).toEqual([...leading.store.documents('')]);
        expect(store.counts.reloads).toBe(0);
      }
      expect(got).toEqual(leading.durable);
      await Promise.all(followers.map(({ store }) => store.close()));
    }),
    { numRuns: runs(60) },
  );
  expect(moves).toBeGreaterThan(100);
});

async function followed(
  of: { window?: Partial<JournalWindow> } = {},
): Promise<{ leading: Leading; feed: RecordedFeed; store: FollowingStore }> {
  const leading = new Leading(of.window);
  await leading.open();
  const { store, feed } = leading.follow();
  await store.ready();
  return { leading, store, feed };
}

test('a follower that begins later serves watches from versions before it began', async () => {
  const { leading, store: early } = await followed();
  const since = leading.store.resourceVersion;
  for (let v = 0; v < 20; v++) leading.apply([put('x', { v }), put(`a/${v}`, { v })]);
  leading.engine.commit(20, false);
  const { store: late } = leading.follow();
  await late.ready();
  await early.barrier();

  // All but the oldest record, which is part of the state that it began with.
  const [first, ...rest] = await drained(early, since + 2);
  expect(await drained(late, since + 2)).toEqual([first, ...rest]);
  expect(rest).toHaveLength(37);
  expect(() => late.watch(TEAMS, since)).toThrow(CompactedError);
  await Promise.all([early.close(), late.close()]);
});

test('records of what happened go when the window has passed them, except the newest', async () => {
  const { leading, store } = await followed({ window: { keepEvents: 5, keepMs: 1000 } });
  for (let v = 0; v < 50; v++) {
    leading.apply([put('x', { v })]);
    leading.clock.advance(100);
    leading.engine.commit();
  }
  const kept = leading.records('e/');
  expect(kept.length).toBeGreaterThan(5);
  expect(kept.length).toBeLessThan(15);
  leading.clock.advance(60_000);
  for (let v = 0; v < 5; v++) leading.apply([put('y', { v })]);
  await leading.store.close();
  await leading.open();
  expect(leading.store.resourceVersion).toBe(leading.durable.at(-1)?.version);
  // The numbers go on far above: that is not what makes records go.
  const before = leading.records('e/').length;
  leading.apply([put('y', { v: 9 })]);
  leading.engine.commit();
  expect(leading.records('e/')).toHaveLength(before + 1);
  await store.close();
});

test('a store that cannot be followed any more is read again: watches end, listeners get the difference', async () => {
  const { leading, store, feed } = await followed();
  leading.apply([put('stays'), put('goes'), put('changes', { v: 0 })]);
  leading.engine.commit();
  await store.barrier();
  const { resourceVersion: since } = store;
  const heard: string[] = [];
  store.observe(TEAMS, (event) => heard.push(`${event.type} ${pathOf(event.current.key)}`));
  const watch = store.watch(TEAMS, since);
  feed.limit = leading.history.revision;
  leading.apply([remove('goes'), put('changes', { v: 1 })]);
  leading.engine.commit();
  leading.apply([put('comes')]);
  leading.engine.commit();
  leading.history.floor = leading.history.revision;
  feed.limit = Number.POSITIVE_INFINITY;

  expect((await watch.events().next()).done).toBe(true);
  await store.barrier();
  expect(heard).toEqual(['DELETED goes', 'MODIFIED changes', 'ADDED comes']);
  expect(contents(store)).toEqual(contents(leading.store));
  expect(store.counts.reloads).toBe(1);
  // Who comes back from before is told to list again.
  expect(() => store.watch(TEAMS, since)).toThrow(CompactedError);
  // What was given out meanwhile may be among it, or may have been lost: that is not claimed here.
  expect(await store.reached(since + 1)).toBeUndefined();
  expect(await store.reached(since)).toBe(true);
  expect(await store.reached(leading.store.resourceVersion)).toBe(true);
  heard.length = 0;
  leading.apply([put('later')]);
  leading.engine.commit();
  await store.barrier();
  expect(heard).toEqual(['ADDED later']);
  await store.close();
});

test('a number that was given out and lost with its store is known to be lost', async () => {
  const { leading, store } = await followed();
  leading.apply([put('x')]);
  leading.engine.commit();
  const { resourceVersion: kept } = leading.store;
  leading.apply([put('y')]);
  const { resourceVersion: lost } = leading.store;
  await leading.open();
  expect(leading.store.resourceVersion).toBe(kept);
  leading.apply([put('z')]);
  leading.engine.commit();
  await store.barrier();

  expect(leading.store.resourceVersion).toBeGreaterThan(lost);
  expect(await store.reached(kept)).toBe(true);
  expect(await store.reached(lost)).toBe(false);
  expect(await store.reached(leading.store.resourceVersion)).toBe(true);
  expect(() => store.watch(TEAMS, lost)).toThrow(CompactedError);
  expect((await drained(store, kept)).map(({ path }) => path)).toEqual(['z']);
  await expect(store.reached(leading.store.resourceVersion + 1, 1)).rejects.toThrow(StateError);
  await store.close();
});

test('first contents are shown when they are whole, not before', async () => {
  const { leading, store } = await followed();
  const sources = Array.from({ length: 600 }, (_, i) => ({ key: keyOf(`a/${i}`) }));
  leading.store.fill(
    sources,
    {
      make: ({ key }) => ({
        object: objectOf(pathOf(key)),
        hidden: undefined,
        provenance: undefined,
      }),
      settled: () => undefined,
    },
    { revision: { of: 'x' } },
  );
  leading.engine.commit();
  await expect(store.barrier(1)).rejects.toThrow(StateError);
  expect(contents(store)).toEqual([]);
  expect(store.document('revision')).toBeUndefined();
  await leading.store.filled();
  leading.engine.commit();
  await store.barrier();
  expect(contents(store)).toEqual(contents(leading.store));
  expect(store.document('revision')).toEqual({ of: 'x' });

  // What is packed anew there changes nothing here.
  for (let v = 0; v < 4; v++) {
    leading.apply(sources.map(({ key }) => put(pathOf(key), { v })));
    await new Promise((resolve) => setTimeout(resolve, 1));
    leading.engine.commit(Number.POSITIVE_INFINITY, false);
  }
  await store.barrier();
  expect(contents(store)).toEqual(contents(leading.store));
  await store.close();
});

test('a follower whose records are older than what it has read begins again', async () => {
  const { leading, store } = await followed();
  leading.apply([put('x')]);
  leading.engine.commit();
  const backup = leading.history.revision;
  leading.apply([put('y')]);
  leading.engine.commit();
  await store.barrier();
  leading.history.steps.length = backup;
  leading.history.wake();
  await store.barrier().catch(() => undefined);
  await expect.poll(() => store.list(TEAMS).items.length).toBe(1);
  await store.close();
});

test('nothing can be asked of a follower that is closed', async () => {
  const { store } = await followed();
  const waits = store.reached(Number.MAX_SAFE_INTEGER);
  await Promise.all([expect(waits).rejects.toThrow(StateError), store.close()]);
  expect(() => store.watch(TEAMS, 0)).toThrow(StateError);
  await store.close();
});

test('a follower knows what git says about each object, also where that changes alone', async () => {
  const leading = new Leading();
  await leading.open();
  const { store } = leading.follow();
  await store.ready();
  const key = keyOf('x');
  const seenOf = async (): Promise<unknown> => {
    leading.engine.commit();
    await store.barrier();
    return store.get(key)?.provenance()?.facts;
  };
  leading.store.apply([put('x'), put('y')], {}, [[key, { facts: ['one'] }]]);
  expect(await seenOf()).toEqual(['one']);
  const before = store.get(key);

  leading.store.apply([], {}, [[key, { facts: ['two'], text: 'only for writers' }]]);
  expect(await seenOf()).toEqual(['two']);
  const now = store.get(key);
  expect(now?.resourceVersion).toBe(before?.resourceVersion);
  // Answers that are memoized by the former facts are forgotten.
  expect(now).not.toBe(before);
  expect(now?.json()).toEqual(before?.json());

  leading.store.apply([put('x', { v: 2 })], {}, [[key, { facts: ['three'] }]]);
  expect(await seenOf()).toEqual(['three']);
  const { store: later } = leading.follow();
  await later.ready();
  expect(later.get(key)?.provenance()?.facts).toEqual(['three']);
  await store.close();
  await later.close();
});
