/** First contents, what is kept beside objects, and how objects are kept when there are many. */
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  CompactedError,
  type ObjectFactory,
  type Source,
  type Store,
} from '../../../src/state/store.ts';
import {
  describeEvent,
  keyOf,
  objectOf,
  paths,
  put,
  remove,
  SECRETS,
  TEAMS,
  take,
} from '../../state/builders.ts';
import { type MakeHarness, useStore } from './fixture.ts';

interface Team extends Source {
  readonly n: number;
}

/** Enough for several packs. */
const MANY = 700;

function teams(count: number): Team[] {
  return Array.from({ length: count }, (_, n) => ({ key: keyOf(`team-${n}`), n }));
}

/** Counts what was made, and keeps what was settled. */
function fillingOf(made: string[] = [], settled: string[] = []): ObjectFactory<Team> {
  return {
    make: ({ key, n }) => {
      made.push(key.name);
      return {
        object: objectOf(key.name, { n, text: 'ä'.repeat(50) }),
        hidden: n % 3 === 0 ? { secret: n } : undefined,
        provenance: { facts: [n, key.name], text: n % 2 === 0 ? `text ${n}` : undefined },
      };
    },
    settled: ({ key }) => void settled.push(key.name),
  };
}

function picture(store: Store): unknown {
  return [TEAMS, SECRETS].map((collection) =>
    store.list(collection).items.map((stored) => ({
      key: stored.key,
      version: stored.resourceVersion,
      json: stored.json().toString(),
      hidden: stored.hidden,
      remark: stored.provenance(),
      terminating: stored.terminating,
    })),
  );
}

async function untilSettled(settled: readonly string[], count: number): Promise<void> {
  while (settled.length < count) await setImmediate();
}

export function testContents(make: MakeHarness): void {
  const fixture = useStore(make);

  test('the first contents are served before they are made', () => {
    const made: string[] = [];
    const { store } = fixture;

    store.fill(teams(MANY), fillingOf(made), { head: { revision: 'x' } });

    expect(made).toEqual([]);
    expect(store.list(TEAMS).items).toHaveLength(MANY);
    expect(store.get(keyOf('team-7'))?.object.spec).toMatchObject({ n: 7 });
    expect(new Set(made)).toEqual(new Set(['team-7']));
    expect(store.document('head')).toEqual({ revision: 'x' });
  });

  test('loaded contents get versions of their own, and older versions cannot be read on from', async () => {
    const { store } = fixture;
    const before = store.resourceVersion;

    store.fill(teams(3), fillingOf(), {});

    const versions = store.list(TEAMS).items.map((stored) => stored.resourceVersion);
    expect(new Set(versions).size).toBe(3);
    expect(Math.min(...versions)).toBeGreaterThan(before);
    expect(store.resourceVersion).toBe(Math.max(...versions));
    for (const { object, resourceVersion } of store.list(TEAMS).items) {
      expect(object.metadata.resourceVersion).toBe(String(resourceVersion));
    }
    for (const version of [before, versions[0] ?? 0]) {
      expect(() => store.watch(TEAMS, version)).toThrow(CompactedError);
      expect(() => store.listAt(TEAMS, version)).toThrow(CompactedError);
    }
    await using watch = store.watch(TEAMS, store.resourceVersion);
    store.apply([put('team-1', { v: 2 })]);
    expect((await take(watch.events(), 1)).map(describeEvent)).toEqual(['MODIFIED team-1']);
  });

  test('a store in use cannot be filled', () => {
    fixture.store.apply([put('ops')]);
    expect(fixture.store.pristine).toBe(false);
    expect(() => fixture.store.fill(teams(1), fillingOf(), {})).toThrow('in use');
  });

  test('closing saves them, and a restart finds them as they were', async () => {
    fixture.store.fill(teams(MANY), fillingOf(), { head: { revision: 'x' } });
    fixture.store.apply([put('team-5', { v: 2 }), remove('team-6'), put('a/1', { s: 'S' })]);
    const before = picture(fixture.store);

    await fixture.restart();

    expect(picture(fixture.store)).toEqual(before);
    expect(fixture.store.document('head')).toEqual({ revision: 'x' });
    expect(fixture.store.pristine).toBe(false);
  });

  test('loaded contents survive a crash after the background save', async () => {
    const settled: string[] = [];
    const { store, harness } = fixture;
    store.fill(teams(MANY), fillingOf([], settled), { head: { revision: 'x' } });
    store.apply([remove('team-3'), put('team-4', { v: 2 })]);
    await untilSettled(settled, MANY - 2);
    await store.flush();
    const before = picture(store);
    harness.crash();

    const after = await harness.open({ clock: fixture.clock });

    expect(picture(after)).toEqual(before);
    expect(after.document('head')).toEqual({ revision: 'x' });
    await after.close();
  });

  test('a crash before anything else happens gives no version twice', async () => {
    const { store, harness } = fixture;
    store.fill(teams(MANY), fillingOf(), { head: { revision: 'x' } });
    await store.flush();
    harness.crash();

    const after = await harness.open({ clock: fixture.clock });

    expect(after.document('head')).toBeUndefined();
    expect(after.resourceVersion).toBeGreaterThan(store.resourceVersion);
    await after.close();
  });

  test('the store is filled when all of them are saved, and at once where there are none', async () => {
    const { store, harness } = fixture;
    await store.filled();
    const settled: string[] = [];
    store.fill(teams(MANY), fillingOf([], settled), { head: { revision: 'x' } });
    await store.filled();
    expect(settled.length).toBe(MANY);
    await store.flush();
    harness.crash();
    const after = await harness.open({ clock: fixture.clock });
    expect(paths(after.list(TEAMS)).length).toBe(MANY);
    await after.close();
  });

  test('objects that change during the save are saved in their last version', async () => {
    const settled: string[] = [];
    const { store, harness } = fixture;
    store.fill(teams(MANY), fillingOf([], settled), { head: { revision: 'x' } });
    const changed = new Set<string>();
    for (let i = 0; i < MANY; i += 5) {
      await setImmediate();
      const name = `team-${(i * 7) % MANY}`;
      if (changed.has(name)) continue;
      store.apply([i % 2 === 0 ? put(name, { v: 2 }) : remove(name)]);
      changed.add(name);
    }
    while (new Set([...settled, ...changed]).size < MANY) await setImmediate();
    await store.flush();
    const before = picture(store);
    harness.crash();

    const after = await harness.open({ clock: fixture.clock });

    expect(picture(after)).toEqual(before);
    expect(after.document('head')).toEqual({ revision: 'x' });
    await after.close();
  });

  test('a crash before they are saved leaves a state that opens, without their notes', async () => {
    const { store, harness } = fixture;
    store.apply([], { own: { n: 1 } });
    store.fill(teams(MANY), fillingOf(), { head: { revision: 'x' } });
    store.apply([put('team-4', { v: 2 })]);
    await store.flush();
    harness.crash();

    const after = await harness.open({ clock: fixture.clock });

    expect(after.document('head')).toBeUndefined();
    expect(after.document('own')).toEqual({ n: 1 });
    expect(after.resourceVersion).toBeGreaterThan(store.resourceVersion);
    expect(paths(after.list(TEAMS))).toEqual(['team-4']);
    await after.close();
    const again = await harness.open({ clock: fixture.clock });
    expect(again.document('head')).toBeUndefined();
    await again.close();
  });

  test('provenance comes back, stays with a change that brings none, and goes with the object', async () => {
    const { store } = fixture;
    const remark = { facts: ['path', 1], text: 'manifest' };
    store.apply([put('ops'), put('gone')], {}, [
      [keyOf('ops'), remark],
      [keyOf('gone'), { facts: 1 }],
      [keyOf('never'), { facts: 1 }],
    ]);
    const { resourceVersion } = store;
    store.apply([put('ops', { v: 2 }), remove('gone')]);
    expect(store.get(keyOf('ops'))?.provenance()).toEqual(remark);
    store.apply([put('gone')]);

    await fixture.restart();

    expect(fixture.store.get(keyOf('ops'))?.provenance()).toEqual(remark);
    expect(fixture.store.get(keyOf('gone'))?.provenance()).toBeUndefined();
    const all = [...fixture.store.provenanceFacts()].map(([{ key }, facts]) => [key.name, facts]);
    expect(all).toEqual([['ops', ['path', 1]]]);
    expect(fixture.store.resourceVersion).toBeGreaterThan(resourceVersion);
  });

  test('new provenance alone does not change the object', async () => {
    const { store } = fixture;
    store.apply([put('ops')], {}, [[keyOf('ops'), { facts: 1 }]]);
    const before = store.get(keyOf('ops'));

    store.apply([], {}, [[keyOf('ops'), { facts: 2 }]]);

    expect(store.get(keyOf('ops'))?.resourceVersion).toBe(before?.resourceVersion);
    await fixture.restart();
    expect(fixture.store.get(keyOf('ops'))?.provenance()?.facts).toBe(2);
    expect(fixture.store.get(keyOf('ops'))?.json()).toEqual(before?.json());
  });

  test('packed objects change, go and come back, over restarts and crashes', async () => {
    const { harness } = fixture;
    let { store } = fixture;
    for (let round = 0; round < 4; round++) {
      // More than make packing worth while.
      for (let lot = 0; lot < 3; lot++) {
        const changes = teams(MANY).map(({ key, n }) =>
          (n + round) % 5 === 0 ? remove(key.name) : put(key.name, { n, round, lot }),
        );
        store.apply(
          changes,
          {},
          changes.map(({ key }) => [key, { facts: [key.name, round] }]),
        );
        await setImmediate();
      }
      await setImmediate();
      await store.flush();
      const before = picture(store);
      if (round % 2 === 0) harness.crash();
      else await store.close();
      const after = await harness.open({ clock: fixture.clock });
      if (round % 2 === 0) await store.close();
      expect(picture(after)).toEqual(before);
      expect(paths(after.list(TEAMS))).not.toContain(`team-${(5 - round) % 5}`);
      store = after;
    }
    await store.close();
  });
}
