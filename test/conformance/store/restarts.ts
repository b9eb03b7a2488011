/** What a restart and a crash leave, and which versions stay readable. */
import { expect, test } from 'vitest';
import { CompactedError, type Store } from '../../../src/state/store.ts';
import {
  describeEvent,
  keyOf,
  paths,
  put,
  remove,
  SECRETS,
  TEAMS,
  take,
} from '../../state/builders.ts';
import { type MakeHarness, useStore } from './fixture.ts';

export function testRestarts(make: MakeHarness): void {
  const fixture = useStore(make);

  test('objects, versions and hidden data come back as they were', async () => {
    fixture.store.apply([put('ops', { a: 'ä\n"' }, { hash: 'h' }), put('a/1'), put('a/2')]);
    fixture.store.apply([put('a/1', { v: 2 }), remove('a/2')]);
    const before = [TEAMS, SECRETS].map((collection) => fixture.store.list(collection));

    await fixture.restart();

    const after = [TEAMS, SECRETS].map((collection) => fixture.store.list(collection));
    expect(after.map(seen)).toEqual(before.map(seen));
    expect(fixture.store.get(keyOf('ops'))?.hidden).toEqual({ hash: 'h' });
  });

  test('a put that equals what was stored before a restart changes nothing', async () => {
    fixture.store.apply([put('ops', { a: 1 }, { hash: 'h' })]);
    await fixture.restart();
    const { resourceVersion } = fixture.store;

    fixture.store.apply([put('ops', { a: 1 }, { hash: 'h' })]);

    expect(fixture.store.resourceVersion).toBe(resourceVersion);
  });

  test('a watch resumes from the last version after a clean restart', async () => {
    fixture.store.apply([put('ops', { v: 1 })]);
    const last = fixture.store.resourceVersion;
    fixture.clock.advance(60_000);

    await fixture.restart();

    const { store } = fixture;
    expect(store.resourceVersion).toBe(last);
    await using watch = store.watch(TEAMS, last);
    const [stored] = store.apply([put('ops', { v: 2 })]);
    expect(stored?.resourceVersion).toBeGreaterThanOrEqual(fixture.clock.now() * 1000);
    expect((await take(watch.events(), 1)).map(describeEvent)).toEqual(['MODIFIED ops']);
    expect(store.listAt(TEAMS, last).items[0]?.object.spec).toEqual({ v: 1 });
  });

  test('a watch cannot resume from an older version or a gap after a clean restart', async () => {
    fixture.store.apply([put('ops', { v: 1 }), put('ops', { v: 2 })]);
    const last = fixture.store.resourceVersion;
    fixture.clock.advance(60_000);
    await fixture.restart();
    const { store } = fixture;
    const gap = [last - 1, last + 1, last + 1000, fixture.clock.now() * 1000 - 1];

    for (const version of gap) {
      expect(() => store.watch(TEAMS, version)).toThrow(CompactedError);
      expect(() => store.listAt(TEAMS, version)).toThrow(CompactedError);
    }
    store.apply([put('ops', { v: 3 })]);
    for (const version of gap) {
      expect(() => store.watch(TEAMS, version)).toThrow(CompactedError);
      expect(() => store.listAt(TEAMS, version)).toThrow(CompactedError);
    }
    store.watch(TEAMS, last).close();
    store.watch(TEAMS, store.resourceVersion).close();
  });

  test('a watch cannot resume from any earlier version after a crash', async () => {
    fixture.store.apply([put('ops', { v: 1 })]);
    await fixture.store.flush();
    const durable = fixture.store.resourceVersion;
    fixture.store.apply([put('ops', { v: 2 }), put('late')]);
    const served = fixture.store.resourceVersion;
    fixture.harness.crash();

    const store = await fixture.harness.open({ clock: fixture.clock });

    expect(paths(store.list(TEAMS))).toEqual(['ops']);
    expect(store.get(keyOf('ops'))?.object.spec).toEqual({ v: 1 });
    expect(store.resourceVersion).toBeGreaterThan(served);
    for (let version = durable - 1; version <= served; version++) {
      expect(() => store.watch(TEAMS, version)).toThrow(CompactedError);
      expect(() => store.listAt(TEAMS, version)).toThrow(CompactedError);
    }
    store.watch(TEAMS, store.list(TEAMS).resourceVersion).close();
    await store.close();
  });

  test('a crash of a store that only opened counts as a crash', async () => {
    fixture.store.apply([put('ops')]);
    await fixture.restart();
    const { resourceVersion } = fixture.store;
    fixture.harness.crash();

    const store = await fixture.harness.open({ clock: fixture.clock });

    expect(store.resourceVersion).toBeGreaterThan(resourceVersion);
    expect(() => store.watch(TEAMS, resourceVersion)).toThrow(CompactedError);
    await store.close();
  });

  test.each([
    { name: 'by an hour', back: 3_600_000 },
    { name: 'to 1970', back: Date.UTC(2026, 0, 1) },
  ])('no number comes twice though the clock goes back $name between crashes', async ({ back }) => {
    const served = new Set<number>();
    let store = fixture.store;
    for (let round = 0; round < 5; round++) {
      served.add(store.resourceVersion);
      store.apply([put('ops', { round })]);
      served.add(store.resourceVersion);
      await store.flush();
      // These are served and lost.
      for (let i = 0; i < 100; i++) {
        store.apply([put('ops', { round, i })]);
        served.add(store.resourceVersion);
      }
      const newest = store.resourceVersion;
      fixture.harness.crash();
      fixture.clock.advance(round === 0 ? -back : -1);
      store = await fixture.harness.open({ clock: fixture.clock });
      expect(store.resourceVersion).toBeGreaterThan(newest);
      expect(store.get(keyOf('ops'))?.object.spec).toEqual({ round });
    }
    expect(served.size).toBe(5 * 102);
    await store.close();
  });

  test('a number given out after a clean restart and lost is not given out again', async () => {
    fixture.store.apply([put('ops')]);
    fixture.clock.advance(60_000);
    await fixture.restart();
    const [lost] = fixture.store.apply([put('ops', { v: 2 })]);
    fixture.harness.crash();

    const store = await fixture.harness.open({ clock: fixture.clock });

    expect(store.get(keyOf('ops'))?.object.spec).toEqual({});
    expect(store.resourceVersion).toBeGreaterThan(lost?.resourceVersion ?? 0);
    await store.close();
  });

  test('clean restarts without changes leave the version where it is', async () => {
    fixture.store.apply([put('ops')]);
    const { resourceVersion } = fixture.store;

    for (let i = 0; i < 3; i++) await fixture.restart();

    expect(fixture.store.resourceVersion).toBe(resourceVersion);
  });

  test('a clock that went back over a clean restart does not take numbers back', async () => {
    fixture.store.apply([put('ops')]);
    const last = fixture.store.resourceVersion;
    fixture.clock.advance(-3_600_000);
    await fixture.restart();

    const [stored] = fixture.store.apply([put('ops', { v: 2 })]);

    expect(stored?.resourceVersion).toBe(last + 1);
    fixture.store.watch(TEAMS, last).close();
  });

  test('flushed objects are there after a crash, with their documents', async () => {
    fixture.store.apply([put('a/1'), put('a/2')], { head: { revision: 'one' } });
    fixture.store.apply([remove('a/1'), put('a/3')], { head: { revision: 'two' } });
    await fixture.store.flush();
    fixture.harness.crash();

    const store = await fixture.harness.open({ clock: fixture.clock });

    expect(paths(store.list(SECRETS))).toEqual(['a/2', 'a/3']);
    expect(store.document('head')).toEqual({ revision: 'two' });
    await store.close();
  });

  test('closing makes everything durable, and closing again does nothing', async () => {
    fixture.store.apply([put('ops')]);
    await fixture.store.close();
    await fixture.store.close();
    fixture.harness.crash();

    const store = await fixture.harness.open();

    expect(paths(store.list(TEAMS))).toEqual(['ops']);
    await store.close();
  });
}

/** What a list looks like from outside. */
function seen(list: ReturnType<Store['list']>): unknown {
  return {
    resourceVersion: list.resourceVersion,
    items: list.items.map((item) => ({
      key: item.key,
      resourceVersion: item.resourceVersion,
      hidden: item.hidden,
      json: item.json().toString(),
    })),
  };
}
