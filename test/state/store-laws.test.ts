/** Laws of the store against a naive model: a map of what is there, an array of what happened. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isRecord, jsonEqual } from '../../src/apimachinery/object.ts';
import { MemoryEngine } from '../../src/state/engines/memory-engine.ts';
import type { JournalWindow } from '../../src/state/journal/journal.ts';
import { compareKeys } from '../../src/state/objects/key-order.ts';
import { openStore } from '../../src/state/open-store.ts';
import {
  type Change,
  type Collection,
  CompactedError,
  type JournalEvent,
  type Store,
  type Watch,
} from '../../src/state/store.ts';
import { runs } from '../support/properties.ts';
import { keyOf, pathOf, put, remove, SECRETS, SetClock, secretsIn, TEAMS } from './builders.ts';
import { fail, testCodec } from './harnesses.ts';

const COLLECTIONS: Collection[] = [TEAMS, SECRETS, secretsIn('a'), secretsIn('b'), secretsIn('c')];

const path = fc.constantFrom('x', 'y', 'a/1', 'a/2', 'a-b/1', 'b/1', 'b/2', 'c/1');
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ path, v: fc.integer({ min: 0, max: 2 }) }).map(({ path, v }) => put(path, { v })),
  path.map(remove),
);
const batches = fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 25, size: 'medium' });

/** What is there: spec and version by path. */
type World = ReadonlyMap<string, { readonly spec: unknown; readonly version: number }>;

interface Happening {
  readonly type: string;
  readonly path: string;
  readonly spec: unknown;
  readonly version: number;
}

/** The obvious store: worlds are copied whole, the journal forgets nothing. */
class Model {
  /** The world as of each version, the first before any change. */
  readonly worlds: Map<number, World>;
  readonly happenings: Happening[] = [];
  #version: number;

  constructor(version: number) {
    this.#version = version;
    this.worlds = new Map([[version, new Map()]]);
  }

  get world(): World {
    return this.worlds.get(this.#version) ?? new Map();
  }

  apply(changes: readonly Change[]): void {
    for (const each of changes) {
      const path = pathOf(each.key);
      const before = this.world.get(path);
      if (each.type === 'remove' ? before === undefined : this.#same(each, before?.spec)) continue;
      const spec = each.type === 'remove' ? before?.spec : each.object.spec;
      this.#version++;
      const world = new Map(this.#previousWorld());
      if (each.type === 'remove') world.delete(path);
      else world.set(path, { spec, version: this.#version });
      this.worlds.set(this.#version, world);
      const type = each.type === 'remove' ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED';
      this.happenings.push({ type, path, spec, version: this.#version });
    }
  }

  #same(each: Change, spec: unknown): boolean {
    return each.type === 'put' && spec !== undefined && jsonEqual(each.object.spec, spec);
  }

  #previousWorld(): World {
    return this.worlds.get(this.#version - 1) ?? new Map();
  }
}

function inCollection({ kind, namespace }: Collection, path: string): boolean {
  const key = keyOf(path);
  return key.kind === kind && (namespace === undefined || key.namespace === namespace);
}

/** What the model says a list shows. */
function listed(collection: Collection, world: World): unknown[] {
  return [...world]
    .filter(([path]) => inCollection(collection, path))
    .sort(([a], [b]) => compareKeys(keyOf(a), keyOf(b)))
    .map(([path, { spec, version }]) => ({ path, spec, version }));
}

function shown(items: ReturnType<Store['list']>['items']): unknown[] {
  return items.map(({ key, object, resourceVersion }) => {
    expect(object.metadata.resourceVersion).toBe(String(resourceVersion));
    return { path: pathOf(key), spec: object.spec, version: resourceVersion };
  });
}

function happened({ type, current, resourceVersion }: JournalEvent): Happening {
  const spec: unknown = current.object.spec;
  return { type, path: pathOf(current.key), spec, version: resourceVersion };
}

async function open(
  window: Partial<JournalWindow> = {},
  disk?: Map<string, Buffer>,
): Promise<Store> {
  const engine = new MemoryEngine(disk);
  return openStore({ engine, codec: testCodec, onError: fail, clock: new SetClock(), window });
}

/** Reads a watch without waiting for what has not happened yet. */
class Follower {
  readonly watch: Watch;
  readonly got: Happening[] = [];
  #asked: Promise<IteratorResult<JournalEvent>> | undefined;

  constructor(watch: Watch) {
    this.watch = watch;
  }

  /** Takes at most `limit` events that are there. */
  async read(limit = Number.POSITIVE_INFINITY): Promise<Happening[]> {
    const wanted = this.got.length + limit;
    while (this.got.length < wanted) {
      this.#asked ??= this.watch.events().next();
      const result = await Promise.race([this.#asked, nextTurn()]);
      if (result === undefined || result.done === true) break;
      this.#asked = undefined;
      this.got.push(happened(result.value));
    }
    return this.got;
  }
}

function nextTurn(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(resolve, undefined));
}

async function drained(store: Store, collection: Collection, since: number): Promise<Happening[]> {
  await using watch = store.watch(collection, since);
  return await new Follower(watch).read();
}

/** A list as a map, with an event done to it. */
function replayed(items: unknown[], events: readonly Happening[]): unknown[] {
  const world = new Map(items.filter(isRecord).map((item) => [item['path'] as string, item]));
  for (const { type, path, spec, version } of events) {
    // An ADDED for what is there, or anything else for what is not, would be a phantom.
    expect(world.has(path)).toBe(type !== 'ADDED');
    if (type === 'DELETED') world.delete(path);
    else world.set(path, { path, spec, version });
  }
  return [...world.values()].sort((a, b) =>
    compareKeys(keyOf(a['path'] as string), keyOf(b['path'] as string)),
  );
}

test('lists, lists of the past and journal agree with the model', async () => {
  await fc.assert(
    fc.asyncProperty(batches, async (all) => {
      const store = await open();
      const model = new Model(store.resourceVersion);
      for (const batch of all) {
        store.apply(batch);
        model.apply(batch);
        for (const collection of COLLECTIONS) {
          expect(shown(store.list(collection).items)).toEqual(listed(collection, model.world));
        }
      }

      for (const collection of COLLECTIONS) {
        const expected = model.happenings.filter((each) => inCollection(collection, each.path));
        for (const [version, world] of model.worlds) {
          expect(shown(store.listAt(collection, version).items)).toEqual(listed(collection, world));
          const later = expected.filter((each) => each.version > version);
          expect(await drained(store, collection, version)).toEqual(later);
        }
      }
      await store.close();
    }),
    { numRuns: runs(40) },
  );
});

test('a list at N and the events up to M make the list at M, for every N of the window', async () => {
  const window = fc.record({
    keepEvents: fc.integer({ min: 0, max: 20 }),
    maxEvents: fc.integer({ min: 1, max: 25 }),
  });
  let refusals = 0;
  await fc.assert(
    fc.asyncProperty(batches, window, async (all, { keepEvents, maxEvents }) => {
      const store = await open({ keepEvents, maxEvents, keepMs: -1 });
      const start = store.resourceVersion;
      for (const batch of all) store.apply(batch);
      const head = store.resourceVersion;
      const kept = Math.min(keepEvents, maxEvents, head - start);

      for (const collection of COLLECTIONS) {
        const now = shown(store.list(collection).items);
        for (let version = start; version <= head; version++) {
          try {
            const past = shown(store.listAt(collection, version).items);
            expect(replayed(past, await drained(store, collection, version))).toEqual(now);
          } catch (error) {
            // Only what the window has passed may be refused, and then by both ways to read.
            if (!(error instanceof CompactedError)) throw error;
            refusals++;
            expect(version).toBeLessThan(head - kept);
            expect(error.oldest).toBeGreaterThan(version);
            expect(error.oldest).toBeLessThanOrEqual(head);
            expect(() => store.watch(collection, version)).toThrow(CompactedError);
          }
        }
      }
      await store.close();
    }),
    { numRuns: runs(60) },
  );
  expect(refusals).toBeGreaterThan(0);
});

test('watches read at any pace get every event once and in order, or are dropped', async () => {
  const reader = fc.record({
    collection: fc.constantFrom(...COLLECTIONS),
    start: fc.nat(25),
    pace: fc.nat(4),
  });
  const readers = fc.array(reader, { minLength: 1, maxLength: 8 });
  let drops = 0;
  let whole = 0;
  await fc.assert(
    fc.asyncProperty(batches, readers, fc.integer({ min: 1, max: 30 }), async (all, specs, max) => {
      const store = await open({ keepEvents: 0, keepMs: -1, maxEvents: max });
      const model = new Model(store.resourceVersion);
      const followers: { since: number; collection: Collection; follower: Follower }[] = [];
      for (const [i, batch] of all.entries()) {
        for (const { collection, start } of specs) {
          if (start !== i) continue;
          const since = store.resourceVersion;
          const follower = new Follower(store.watch(collection, since));
          followers.push({ since, collection, follower });
        }
        for (const [n, { follower }] of followers.entries()) await follower.read(specs[n]?.pace);
        store.apply(batch);
        model.apply(batch);
      }

      for (const { since, collection, follower } of followers) {
        const got = await follower.read();
        const expected = model.happenings.filter(
          ({ path, version }) => inCollection(collection, path) && version > since,
        );
        const { dropped } = follower.watch;
        expect(got).toEqual(dropped ? expected.slice(0, got.length) : expected);
        expect(got.length < expected.length).toBe(dropped);
        drops += dropped ? 1 : 0;
        whole += dropped ? 0 : 1;
      }
      await store.close();
    }),
    { numRuns: runs(60) },
  );
  // Both ends were tried.
  expect(drops).toBeGreaterThan(0);
  expect(whole).toBeGreaterThan(0);
});

test('a restart, clean or not, shows what was durable and repeats no version', async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.array(change, { maxLength: 6 }) },
    { weight: 1, arbitrary: fc.constantFrom('flush' as const, 'close' as const, 'crash' as const) },
  );
  const jumps = fc.array(fc.integer({ min: -1_000_000, max: 1_000_000 }), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), jumps, async (steps, clockJumps) => {
      const clock = new SetClock();
      let disk = new Map<string, Buffer>();
      const reopen = (): Promise<Store> =>
        openStore({ engine: new MemoryEngine(disk), codec: testCodec, onError: fail, clock });
      let store = await reopen();
      let durable = contents(store);
      let served = store.resourceVersion;
      for (const [i, each] of steps.entries()) {
        if (Array.isArray(each)) store.apply(each);
        expect(store.resourceVersion).toBeGreaterThanOrEqual(served);
        served = store.resourceVersion;
        if (Array.isArray(each)) continue;
        if (each === 'crash') disk = new Map(disk);
        else durable = contents(store);
        await (each === 'flush' ? store.flush() : each === 'close' ? store.close() : undefined);
        if (each === 'flush') continue;
        clock.advance(clockJumps[i % clockJumps.length] ?? 0);
        store = await reopen();
        expect(contents(store)).toEqual(durable);
        if (each === 'close') expect(store.resourceVersion).toBe(served);
        else expect(store.resourceVersion).toBeGreaterThan(served);
      }
      await store.close();
    }),
    { numRuns: runs(60) },
  );
});

function contents(store: Store): unknown[] {
  return [TEAMS, SECRETS].flatMap((collection) => shown(store.list(collection).items));
}
