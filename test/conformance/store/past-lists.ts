/** Lists of what was there, and how far back they reach. */
import { expect, test } from 'vitest';
import { CompactedError } from '../../../src/state/store.ts';
import { paths, put, remove, SECRETS, secretsIn, TEAMS } from '../../state/builders.ts';
import { type MakeHarness, useStore } from './fixture.ts';

export function testPastLists(make: MakeHarness): void {
  const fixture = useStore(make, { keepEvents: 5, keepMs: 300_000, maxEvents: 50 });

  test('every version of the window can be listed, and shows what was there', () => {
    const { store } = fixture;
    const history = [store.list(SECRETS)];
    for (const change of [
      put('a/1'),
      put('b/1', { v: 1 }),
      put('b/1', { v: 2 }),
      put('ops'),
      remove('a/1'),
      put('a/1', { v: 3 }),
      remove('b/1'),
    ]) {
      store.apply([change]);
      history.push(store.list(SECRETS));
    }

    for (const { resourceVersion, items } of history) {
      const past = store.listAt(SECRETS, resourceVersion);
      expect(past).toEqual({ resourceVersion, items });
      const inB = items.filter(({ key }) => key.namespace === 'b');
      expect(store.listAt(secretsIn('b'), resourceVersion).items).toEqual(inB);
    }
  });

  test('pages of one version agree while the store moves on', () => {
    const { store } = fixture;
    store.apply(['a/1', 'a/3', 'a/5', 'a/7'].map((name) => put(name)));
    const first = store.list(SECRETS);
    const page = first.items.slice(0, 2);

    store.apply([put('a/2'), remove('a/5'), put('a/7', { v: 2 }), put('a/9')]);

    const rest = store.listAt(SECRETS, first.resourceVersion).items.slice(2);
    expect([...page, ...rest]).toEqual(first.items);
  });

  test('a version ahead of the store cannot be listed', () => {
    const { store } = fixture;

    expect(() => store.listAt(TEAMS, store.resourceVersion + 1)).toThrow(RangeError);
  });

  test('a version below the window is refused with the oldest that is left', () => {
    const { store } = fixture;
    const start = store.resourceVersion;
    for (let i = 1; i <= 60; i++) store.apply([put('ops', { i })]);

    const error = thrownBy(() => store.listAt(TEAMS, start + 9));

    expect(error).toBeInstanceOf(CompactedError);
    expect(error).toMatchObject({ wanted: start + 9, oldest: start + 10 });
    expect(store.listAt(TEAMS, start + 10).items[0]?.object.spec).toEqual({ i: 10 });
    expect(() => store.watch(TEAMS, start + 9)).toThrow(CompactedError);
    store.watch(TEAMS, start + 10).close();
  });

  test('events are kept for the time of the window, and a few for ever', () => {
    const { store, clock } = fixture;
    const start = store.resourceVersion;
    for (let i = 1; i <= 20; i++) store.apply([put('ops', { i })]);
    clock.advance(300_000);
    store.apply([put('ops', { i: 21 })]);
    expect(store.listAt(TEAMS, start).items).toEqual([]);

    clock.advance(1);
    store.apply([put('ops', { i: 22 })]);
    // Of 22 events 17 are beyond the newest five.
    expect(() => store.listAt(TEAMS, start + 16)).toThrow(CompactedError);
    expect(store.listAt(TEAMS, start + 17).items[0]?.object.spec).toEqual({ i: 17 });
  });

  test('a clock that goes back loses no event', () => {
    const { store, clock } = fixture;
    const start = store.resourceVersion;
    store.apply([put('ops', { i: 1 })]);
    clock.advance(-3_600_000);
    for (let i = 2; i <= 20; i++) store.apply([put('ops', { i })]);

    expect(store.listAt(TEAMS, start).items).toEqual([]);
  });

  test('a collection where nothing happens stays readable however busy the others are', () => {
    const { store } = fixture;
    store.apply([put('ops'), put('a/1')]);
    const { resourceVersion } = store;

    for (let i = 1; i <= 100; i++) store.apply([put('b/1', { i })]);

    expect(paths(store.listAt(TEAMS, resourceVersion))).toEqual(['ops']);
    store.watch(TEAMS, resourceVersion).close();
    expect(() => store.listAt(SECRETS, resourceVersion)).toThrow(CompactedError);
  });

  test('the memory of large objects bounds the window too', async () => {
    await fixture.store.close();
    const { harness, clock } = fixture;
    const store = await harness.open({ clock, window: { maxBytes: 100_000 } });
    const start = store.resourceVersion;
    for (let i = 1; i <= 20; i++) store.apply([put('ops', { i, filler: 'x'.repeat(10_000) })]);

    expect(() => store.listAt(TEAMS, start + 8)).toThrow(CompactedError);
    expect(store.listAt(TEAMS, start + 12).items[0]?.object.spec?.['i']).toBe(12);
    await store.close();
  });
}

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
