/** A store that is killed goes on with its versions, its journal and its watches. */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test as plain } from 'vitest';
import { openLmdbEngine } from '../../../src/state/engines/lmdb-engine.ts';
import { MemoryEngine } from '../../../src/state/engines/memory-engine.ts';
import { openStore } from '../../../src/state/open-store.ts';
import { PartCompressor } from '../../../src/state/redo/part-compression.ts';
import {
  frameOf,
  framesIn,
  HEAD_SEAL,
  partSeal,
  REDO_FORMAT,
} from '../../../src/state/redo/redo-files.ts';
import type { RedoLimits, RedoOptions } from '../../../src/state/redo/redo-log.ts';
import type { Change, JournalEvent, Store } from '../../../src/state/store.ts';
import { CompactedError } from '../../../src/state/store.ts';
import type { StoreOptions } from '../../../src/state/store-options.ts';
import { type Random, randomFrom } from '../../support/random.ts';
import { keyOf, pathOf, put, remove, SECRETS, SetClock, TEAMS } from '../builders.ts';
import { fail, testCodec } from '../harnesses.ts';

const CANARY = 'canary-9a77e1';

interface LifeOptions extends Partial<Omit<StoreOptions, 'redo'>> {
  readonly boot?: string;
  readonly limits?: Partial<RedoLimits>;
}

/** A store in a directory. A kill leaves what was written to files, and of the engine what was saved. */
class Life {
  readonly clock = new SetClock();
  readonly lost: string[] = [];
  readonly unused: { readonly reason: string; readonly isExpected: boolean }[] = [];
  directory: string;
  disk = new Map<string, Buffer>();
  #saved = new Map<string, Buffer>();
  readonly #root = fs.mkdtempSync(join(tmpdir(), 'gitplane-redo-'));
  #lives = 0;

  constructor() {
    this.directory = this.#next();
  }

  async open({ boot = 'boot-1', limits = {}, ...options }: LifeOptions = {}): Promise<Store> {
    const { lost, unused, clock } = this;
    const redo: RedoOptions = {
      directory: this.directory,
      boot,
      limits: { room: 0, ...limits },
      onLost: (reason) => void lost.push(reason),
      onUnused: (reason, isExpected) => void unused.push({ reason, isExpected }),
    };
    const engine = new MemoryEngine(this.disk);
    const base = { engine, codec: testCodec, onError: fail, clock };
    const store = await openStore({ ...base, redo, ...options });
    this.#saved = new Map(this.disk);
    return store;
  }

  /** What is applied until now survives a loss of power, too. */
  async save(store: Store): Promise<void> {
    await store.flush();
    this.#saved = new Map(this.disk);
  }

  /** The store that was open is not touched. */
  kill(): void {
    const from = this.directory;
    this.directory = this.#next();
    for (const file of fs.readdirSync(from)) {
      try {
        fs.copyFileSync(join(from, file), join(this.directory, file));
      } catch (error) {
        // Files that are not needed any more go in the background.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
    this.disk = new Map(this.#saved);
  }

  /** Closes the store. */
  async stop(store: Store): Promise<void> {
    await store.close();
    this.#saved = new Map(this.disk);
  }

  get files(): string[] {
    return fs
      .readdirSync(this.directory)
      .filter((name) => name.startsWith('redo-'))
      .sort((a, b) => Number(a.slice(5)) - Number(b.slice(5)))
      .map((name) => join(this.directory, name));
  }

  get file(): string {
    return this.files.at(-1) ?? fail(new Error('there is no log'));
  }

  dispose(): void {
    fs.rmSync(this.#root, { recursive: true });
  }

  #next(): string {
    const directory = join(this.#root, `state-${this.#lives++}`);
    fs.mkdirSync(directory);
    return directory;
  }
}

const test = plain.extend('life', async ({}, { onCleanup }) => {
  const life = new Life();
  onCleanup(() => life.dispose());
  return life;
});

/** An event with all that readers see of it. */
function seen({ type, resourceVersion, current, previous }: JournalEvent): object {
  const of = (stored: typeof previous): unknown =>
    stored && [pathOf(stored.key), stored.json().toString(), stored.hidden, stored.labels];
  return { type, resourceVersion, current: of(current), previous: of(previous) };
}

function incompressible(length: number): string {
  return randomBytes(length).toString('base64').slice(0, length);
}

/** Takes down every event as it happens. */
function record(store: Store, into: JournalEvent[]): void {
  for (const of of [TEAMS, SECRETS]) store.observe(of, (event) => void into.push(event));
}

/** What watches from a version get of what is there. */
async function eventsSince(store: Store, since: number): Promise<object[]> {
  const found: JournalEvent[] = [];
  for (const collection of [TEAMS, SECRETS]) {
    await using watch = store.watch(collection, since);
    const events = watch.events();
    for (;;) {
      const next = await Promise.race([events.next(), soon()]);
      if (next === undefined || next.done === true) break;
      found.push(next.value);
    }
  }
  return found.sort((a, b) => a.resourceVersion - b.resourceVersion).map(seen);
}

async function soon(): Promise<undefined> {
  for (let i = 0; i < 5; i++) await Promise.resolve();
}

function contentsOf(store: Store): unknown {
  const lists = [TEAMS, SECRETS].map((of) =>
    store.list(of).items.map((one) => [one.json().toString(), one.hidden, one.provenance()]),
  );
  return [store.resourceVersion, lists, [...store.documents('')]];
}

function expectUnreadable(store: Store, versions: readonly number[]): void {
  for (const version of versions) {
    for (const of of [TEAMS, SECRETS]) {
      expect(() => store.watch(of, version), String(version)).toThrow(CompactedError);
      expect(() => store.listAt(of, version), String(version)).toThrow(CompactedError);
    }
  }
}

/** Some of everything that a step can be. */
const STEPS: readonly ((store: Store) => unknown)[] = [
  (store) =>
    store.apply([put('ops'), put('a/1', { v: 1 }, { hash: 'h' }), put('a/2')], { base: { n: 1 } }),
  (store) => store.apply([put('ops', { v: 2 }), put('ops', { v: 3 }), remove('a/2')]),
  (store) => store.apply([], { base: { n: 2 } }, [[keyOf('ops'), { facts: ['f'], text: 't' }]]),
  (store) =>
    store.apply([remove('ops'), put('ops', { v: 4 }), put('a/1', { v: 2 })], { other: { o: 1 } }, [
      [keyOf('a/1'), { facts: { at: 1 } }],
    ]),
  (store) => store.apply([put('b/1', { text: 'ä\n"' })], { base: undefined }),
  (store) => store.apply([remove('a/1')]),
];

describe('a store after a kill', () => {
  test.for([0, 1, 2, 3, 4, 5, 6])(
    'contents, versions and every event are as they were, with %s of the steps in the engine',
    async (saved, { life }) => {
      const store = await life.open();
      const since = store.resourceVersion;
      const events: JournalEvent[] = [];
      record(store, events);
      for (const [at, step] of STEPS.entries()) {
        if (at === saved) await life.save(store);
        step(store);
      }
      if (saved === STEPS.length) await life.save(store);
      const before = contentsOf(store);
      life.kill();

      const next = await life.open();

      expect(contentsOf(next)).toEqual(before);
      expect(events).toHaveLength(11);
      for (const from of [since, ...events.map(({ resourceVersion }) => resourceVersion)]) {
        const later = events.filter(({ resourceVersion }) => resourceVersion > from);
        expect(await eventsSince(next, from)).toEqual(later.map(seen));
      }
      expectUnreadable(next, [since - 1, next.resourceVersion + 1]);
      expect(life.unused).toEqual([]);
      // The engine has it as well from here on.
      await life.stop(next);
      const third = await life.open();
      expect(contentsOf(third)).toEqual(before);
      expect(await eventsSince(third, since)).toEqual(events.map(seen));
    },
  );

  test('the next version is above all that were given out, though the clock went back', async ({
    life,
  }) => {
    const store = await life.open();
    store.apply([put('ops')]);
    const head = store.resourceVersion;
    life.kill();
    life.clock.advance(-3_600_000);

    const next = await life.open();
    await using watch = next.watch(TEAMS, head);
    const [stored] = next.apply([put('ops', { v: 2 })]);

    expect(stored?.resourceVersion).toBeGreaterThan(head + 1);
    expect((await watch.events().next()).value?.resourceVersion).toBe(stored?.resourceVersion);
  });

  test('a store whose first contents are saved goes on with what came after them', async ({
    life,
  }) => {
    const store = await life.open();
    const source = (path: string) => ({ key: keyOf(path) });
    store.fill(
      [source('ops'), source('a/1')],
      {
        make: ({ key }) => ({
          object: { ...objectAt(pathOf(key)) },
          hidden: undefined,
          provenance: undefined,
        }),
        settled: () => undefined,
      },
      { base: {} },
    );
    const since = store.resourceVersion;
    const events: JournalEvent[] = [];
    record(store, events);
    store.apply([put('ops', { v: 2 }), remove('a/1')]);
    await store.filled();
    await life.save(store);
    store.apply([put('ops', { v: 3 })]);
    const before = contentsOf(store);
    life.kill();

    const next = await life.open();

    expect(contentsOf(next)).toEqual(before);
    expect(await eventsSince(next, since)).toEqual(events.map(seen));
  });

  test('a step of many objects is there as a whole, and so are its events', async ({ life }) => {
    const store = await life.open();
    const since = store.resourceVersion;
    const many = Array.from({ length: 300 }, (_, i) =>
      put(`a/${i}`, { data: incompressible(4000) }),
    );
    await store.applyYielding(many, { base: {} }, []);
    const whole = fs.statSync(life.file).size;
    // More than one part.
    expect(whole).toBeGreaterThan(512 * 1024);
    const before = contentsOf(store);
    life.kill();
    const torn = fs.readFileSync(life.file).subarray(0, whole - 1);

    const next = await life.open();
    expect(contentsOf(next)).toEqual(before);
    expect(await eventsSince(next, since)).toHaveLength(300);

    life.kill();
    fs.writeFileSync(life.file, torn);
    // The engine knows better than a log that ends early.
    await life.open();
    expect(life.unused).toHaveLength(1);
  });

  test('steps applied while a large one was sealed come before it', async ({ life }) => {
    const store = await life.open();
    const events: JournalEvent[] = [];
    const since = store.resourceVersion;
    record(store, events);
    const many = Array.from({ length: 2000 }, (_, i) => put(`a/${i}`));
    const applying = store.applyYielding(many, {}, []);
    await new Promise((resolve) => setImmediate(resolve));
    store.apply([], { note: { n: 1 } });
    store.apply([put('ops')]);
    await applying;
    const before = contentsOf(store);
    life.kill();

    const next = await life.open();

    expect(contentsOf(next)).toEqual(before);
    expect(await eventsSince(next, since)).toEqual(events.map(seen));
  });
});

test.for([1, 2, 3])(
  'kills at any time, over and over, lose and double nothing (seed %s)',
  async (seed, { life }) => {
    const random = randomFrom(seed);
    const limits = { bytes: 40_000 };
    const readable = new Map<number, number>();
    const events: JournalEvent[] = [];
    /** Numbers that no store gave out, or that were lost. */
    const gaps: number[] = [];
    let store = await life.open({ limits });
    for (let round = 0; round < 30; round++) {
      record(store, events);
      readable.set(store.resourceVersion, events.length);
      for (let i = random.below(12); i > 0; i--) {
        await randomStep(store, random);
        readable.set(store.resourceVersion, events.length);
        if (random.chance(0.2)) await life.save(store);
      }
      const before = contentsOf(store);
      const { resourceVersion: head } = store;
      const isStop = random.chance(0.2);
      if (isStop) await life.stop(store);
      life.kill();
      life.clock.advance(random.below(3) * 1000);
      store = await life.open({ limits });

      expect(life.unused).toEqual([]);
      expect(contentsOf(store)).toEqual(before);
      for (const [version, count] of readable) {
        const wanted = events.slice(count);
        // Two files are at least so much.
        if (wanted.length > 20 && isCompacted(store, version)) continue;
        expect(await eventsSince(store, version)).toEqual(wanted.map(seen));
      }
      if (!isStop) gaps.push(head + 1);
      expectUnreadable(store, gaps);
      expect(life.files.length).toBeLessThanOrEqual(3);
    }
  },
);

function isCompacted(store: Store, version: number): boolean {
  try {
    store.watch(TEAMS, version).close();
    return false;
  } catch {
    return true;
  }
}

async function randomStep(store: Store, random: Random): Promise<void> {
  const path = (): string => (random.chance(0.3) ? `t${random.below(4)}` : `a/${random.below(6)}`);
  const change = (): Change =>
    random.chance(0.25)
      ? remove(path())
      : put(
          path(),
          { v: random.below(1000) },
          random.chance(0.2) ? { h: random.below(9) } : undefined,
        );
  const changes = Array.from({ length: random.below(5) }, change);
  const notes = random.chance(0.5) ? { [`n${random.below(3)}`]: { v: random.below(99) } } : {};
  const about = keyOf(path());
  const isThere = store.get(about) !== undefined && changes.length === 0;
  const remarks = isThere ? ([[about, { facts: random.below(99) }]] as const) : [];
  const roll = random.below(3);
  if (roll === 0) await store.applyYielding(changes, notes, remarks);
  else if (roll === 1) store.apply(changes, notes, remarks);
  else {
    const apply = store.prepare(changes, notes, remarks);
    apply();
  }
}

function objectAt(path: string) {
  const change = put(path, { first: true });
  if (change.type !== 'put') throw new Error('not a put');
  return change.object;
}

describe('logs that are not believed', () => {
  /** Three versions in the engine, and a fourth step in the log alone. */
  async function killed(life: Life): Promise<{ versions: number[]; lastStep: number }> {
    const store = await life.open();
    const versions = [store.resourceVersion];
    for (let v = 0; v < 3; v++) {
      store.apply([put('ops', { v }), put('a/1', { v })]);
      versions.push(store.resourceVersion);
    }
    await life.save(store);
    const lastStep = fs.statSync(life.file).size;
    store.apply([put('ops', { v: 3 }), put('a/1', { v: 3 })]);
    versions.push(store.resourceVersion);
    life.kill();
    return { versions, lastStep };
  }

  function versionOf(store: Store): unknown {
    return store.get(keyOf('ops'))?.object.spec;
  }

  test('a log of another boot, whatever is in it', async ({ life }) => {
    const { versions } = await killed(life);

    const store = await life.open({ boot: 'boot-2' });

    expect(life.unused).toEqual([{ reason: 'the machine was rebooted', isExpected: true }]);
    expect(versionOf(store)).toEqual({ v: 2 });
    expectUnreadable(store, versions);
    expect(store.resourceVersion).toBeGreaterThan(versions.at(-1) ?? 0);
    // Another log is kept from here on.
    const since = store.resourceVersion;
    store.apply([put('ops', { v: 9 })]);
    life.kill();
    const next = await life.open({ boot: 'boot-2' });
    expect(await eventsSince(next, since)).toHaveLength(1);
  });

  test('a step that was cut off was seen by nobody, and its versions do not come back', async ({
    life,
  }) => {
    const { lastStep } = await killed(life);
    const whole = fs.statSync(life.file).size;
    for (let end = lastStep; end < whole; end += 97) {
      const cut = new Life();
      const { versions } = await killed(cut);
      fs.truncateSync(cut.file, end);

      const store = await cut.open();

      expect(versionOf(store)).toEqual({ v: 2 });
      expect(await eventsSince(store, versions[0] ?? 0)).toHaveLength(6);
      expectUnreadable(store, [Number(versions[3]) + 1, Number(versions[4])]);
      const [stored] = store.apply([put('ops', { v: 4 })]);
      expect(stored?.resourceVersion).toBeGreaterThan(versions.at(-1) ?? 0);
      cut.kill();
      expect(await eventsSince(await cut.open(), versions[0] ?? 0)).toHaveLength(7);
      expect(cut.unused).toEqual([]);
      cut.dispose();
    }
  });

  test('a log that ends before the state', async ({ life }) => {
    const { versions, lastStep } = await killed(life);
    fs.truncateSync(life.file, lastStep - 1);

    const store = await life.open();

    expect(life.unused).toEqual([
      { reason: 'it has steps 0 to 2, and the state 3', isExpected: false },
    ]);
    expect(versionOf(store)).toEqual({ v: 2 });
    expectUnreadable(store, versions);
  });

  test('a byte that is another one, anywhere', async ({ life }) => {
    await killed(life);
    const size = fs.statSync(life.file).size;
    const random = randomFrom(7);
    const outcomes = { unused: 0, shorter: 0 };
    for (let round = 0; round < 24; round++) {
      const hit = new Life();
      const { versions } = await killed(hit);
      const at = round < 12 ? round : random.below(size);
      const bytes = fs.readFileSync(hit.file);
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << random.below(8)), at);
      fs.writeFileSync(hit.file, bytes);

      const store = await hit.open();

      // Either nothing of it is believed, or the last step seems to be cut off: never the wrong thing.
      expect(versionOf(store)).toEqual({ v: 2 });
      expectUnreadable(store, versions.slice(4));
      expect(store.resourceVersion).toBeGreaterThanOrEqual(versions[3] ?? 0);
      if (hit.unused.length > 0) {
        outcomes.unused += 1;
        expectUnreadable(store, versions);
        expect(hit.unused[0]?.isExpected).toBe(false);
      } else {
        outcomes.shorter += 1;
        expect(await eventsSince(store, versions[0] ?? 0)).toHaveLength(6);
      }
      hit.dispose();
    }
    expect(outcomes.unused).toBeGreaterThan(15);
  });

  test('a file of another format', async ({ life }) => {
    const { versions } = await killed(life);
    const [length = Buffer.alloc(0)] = frameOf(fs.readFileSync(life.file));
    expect(length).toHaveLength(4);
    const [first] = fs.readFileSync(life.file).length > 0 ? [headOf(life.file)] : [];
    const head = Buffer.from(JSON.stringify({ ...first, format: REDO_FORMAT + 1 }));
    fs.writeFileSync(life.file, Buffer.concat(frameOf(testCodec.encode(HEAD_SEAL, head, true))));

    const store = await life.open();

    expect(life.unused).toEqual([{ reason: 'redo-1 has another format', isExpected: false }]);
    expectUnreadable(store, versions);
  });

  test('files that are gone', async ({ life }) => {
    const { versions } = await killed(life);
    for (const file of life.files) fs.rmSync(file);

    const store = await life.open();

    expect(life.unused).toEqual([{ reason: 'its files are missing', isExpected: false }]);
    expectUnreadable(store, versions);
  });

  test('the log of a state that went on without it, as under an earlier release', async ({
    life,
  }) => {
    const { versions } = await killed(life);
    const without = await life.open({ redo: undefined } as LifeOptions);
    without.apply([put('ops', { v: 7 })]);
    await life.stop(without);

    const store = await life.open();

    expect(versionOf(store)).toEqual({ v: 7 });
    expectUnreadable(store, versions);
    expect(life.unused).toEqual([]);
  });

  test('a state that was put back to before the log began', async ({ life }) => {
    const before = await life.open();
    const given = [before.resourceVersion];
    await life.save(before);
    const old = new Map(life.disk);
    await life.stop(before);
    const { versions } = await killed(life);
    life.disk = old;

    const store = await life.open();

    expect(store.get(keyOf('ops'))?.object.spec).not.toEqual({ v: 2 });
    expect(store.resourceVersion).toBeGreaterThan(0);
    expect([...given, ...versions].every((version) => version <= store.resourceVersion)).toBe(true);
  });
});

function headOf(file: string): object {
  const bytes = fs.readFileSync(file);
  const end = 4 + bytes.readUInt32BE(0);
  return JSON.parse(testCodec.decode(HEAD_SEAL, bytes.subarray(4, end)).toString());
}

/** Writes the log as format 1 has it: parts are not compressed. */
function downgrade(file: string): void {
  const [head, ...parts] = [...framesIn(fs.readFileSync(file))].map(({ frame }) => frame);
  if (head === undefined) throw new Error('there is no head');
  const { log, ...rest } = JSON.parse(testCodec.decode(HEAD_SEAL, head).toString());
  const old = Buffer.from(JSON.stringify({ log, ...rest, format: 1 }));
  const frames = frameOf(testCodec.encode(HEAD_SEAL, old, true));
  let compressor = new PartCompressor();
  for (const part of parts) {
    const plain = compressor.decompress(testCodec.decode(partSeal(log), part));
    compressor = compressor.after(plain);
    frames.push(...frameOf(testCodec.encode(partSeal(log), plain, true)));
  }
  fs.writeFileSync(file, Buffer.concat(frames));
}

test('a log of format 1 is read, and continued with compressed parts', async ({ life }) => {
  const store = await life.open();
  const since = store.resourceVersion;
  const events: JournalEvent[] = [];
  record(store, events);
  for (const step of STEPS) step(store);
  life.kill();
  downgrade(life.file);

  const second = await life.open();
  expect(await eventsSince(second, since)).toEqual(events.map(seen));
  record(second, events);
  for (const step of STEPS) step(second);
  life.kill();
  const third = await life.open();

  expect(await eventsSince(third, since)).toEqual(events.map(seen));
  expect(life.unused).toEqual([]);
  expect(life.files).toHaveLength(1);
});

describe('the files', () => {
  test('are compressed, each step with the one before as its dictionary', async ({ life }) => {
    const store = await life.open();
    const text = incompressible(1500);
    const sizes = [0, 1, 2].map((v) => {
      const before = fs.statSync(life.file).size;
      store.apply([put(`a/${v}`, { text })]);
      return fs.statSync(life.file).size - before;
    });

    expect(sizes[0]).toBeGreaterThan(1000);
    for (const size of sizes.slice(1)) expect(size).toBeLessThan(300);
  });

  test('hold nothing in plaintext, and are for their owner alone', async ({ life }) => {
    const store = await life.open();
    store.apply([put('a/1', { data: CANARY }, { hash: CANARY }), put('ops', { open: CANARY })], {
      base: { value: CANARY },
    });

    expect(life.files).toHaveLength(1);
    for (const file of life.files) {
      const bytes = fs.readFileSync(file);
      expect(bytes.length).toBeGreaterThan(500);
      expect(bytes.includes(CANARY)).toBe(false);
      expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    }
  });

  test('are two of a limited size, and hold what was in at least one', async ({ life }) => {
    const limits = { bytes: 20_000 };
    const store = await life.open({ limits });
    const events: JournalEvent[] = [];
    record(store, events);
    for (let v = 0; v < 200; v++) store.apply([put('ops', { v, text: incompressible(300) })]);
    await life.save(store);
    await expect.poll(() => life.files.length).toBe(2);
    for (const file of life.files) expect(fs.statSync(file).size).toBeLessThan(22_000);
    life.kill();

    const next = await life.open({ limits });

    const recent = events.slice(-20);
    expect(await eventsSince(next, Number(recent[0]?.resourceVersion) - 1)).toEqual(
      recent.map(seen),
    );
    expect(isCompacted(next, Number(events[0]?.resourceVersion))).toBe(true);
    expect(life.unused).toEqual([]);
  });

  test.skipIf(process.platform !== 'linux')('are closed with the store', async ({ life }) => {
    const store = await life.open();
    const { directory } = life;
    const files = fs.readdirSync(directory).map((name) => fs.statSync(join(directory, name)).ino);
    const open = (): number[] =>
      fs.readdirSync('/proc/self/fd').flatMap((fd) => {
        const found = fs.statSync(join('/proc/self/fd', fd), { throwIfNoEntry: false });
        return found !== undefined && files.includes(found.ino) ? [found.ino] : [];
      });
    expect(open().length).toBeGreaterThan(0);
    await store.close();
    expect(open()).toEqual([]);
  });

  test('are followed by others after the time of the window', async ({ life }) => {
    const store = await life.open();
    const first = store.resourceVersion;
    const given: number[] = [];
    for (let minute = 0; minute < 12; minute++) {
      store.apply([put('ops', { minute })]);
      given.push(store.resourceVersion);
      life.clock.advance(60_000);
    }
    await life.save(store);
    await expect.poll(() => life.files.length).toBe(2);
    life.kill();

    const next = await life.open();

    expectUnreadable(next, [first]);
    expect(await eventsSince(next, Number(given.at(-6)))).toHaveLength(5);
  });

  test.for([
    { name: 'where the boot cannot be told', setup: { boot: '' } },
    { name: 'where others follow the records', setup: { followed: true } },
  ])('are none $name', async ({ setup }, { life }) => {
    const store = await life.open(setup);
    store.apply([put('ops')]);

    expect(life.files).toEqual([]);
    expect(life.lost).toEqual([]);
  });

  test('are given up when they cannot be written, which is reported once, and begun again later', async ({
    life,
  }) => {
    // A file a step.
    const store = await life.open({ limits: { bytes: 1 } });
    fs.rmSync(life.directory, { recursive: true });
    for (let v = 0; v < 5; v++) {
      store.apply([put('ops', { v })]);
      life.clock.advance(60_000);
    }
    expect(life.lost).toEqual([
      expect.stringMatching(
        /^the redo log in .* cannot be written: ENOENT.*; make room on the disk/,
      ),
    ]);
    fs.mkdirSync(life.directory);
    const since = store.resourceVersion;

    store.apply([put('ops', { v: 6 })]);

    await life.save(store);
    life.kill();
    const next = await life.open();
    expect(next.get(keyOf('ops'))?.object.spec).toEqual({ v: 6 });
    expect(await eventsSince(next, since)).toHaveLength(1);
    expect(life.lost).toHaveLength(1);
  });

  test('are not begun where less than the wanted room is free', async ({ life }) => {
    const store = await life.open({ limits: { room: Number.MAX_SAFE_INTEGER } });
    store.apply([put('ops')]);

    expect(life.files).toEqual([]);
    expect(life.lost).toEqual([
      expect.stringMatching(/cannot be written: \d+ bytes are free, and \d+ must be; /),
    ]);
    await store.close();
  });

  test('are gone on from by a store in LMDB as well', async ({ life }) => {
    const directory = life.directory;
    const engine = await openLmdbEngine(directory, { onError: fail });
    const store = await life.open({ engine });
    const since = store.resourceVersion;
    store.apply([put('ops', { v: 1 }), put('a/1')]);
    await store.flush();
    store.apply([put('ops', { v: 2 })]);
    const before = contentsOf(store);
    life.kill();

    const next = await life.open({
      engine: await openLmdbEngine(life.directory, { onError: fail }),
    });

    expect(contentsOf(next)).toEqual(before);
    expect(await eventsSince(next, since)).toHaveLength(3);
    await next.close();
    await store.close();
  });
});
