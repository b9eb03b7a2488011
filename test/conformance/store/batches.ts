/** Changes that are applied together. */
import { expect, test, vi } from 'vitest';
import type { JsonObject } from '../../../src/apimachinery/object.ts';
import {
  describeEvent,
  keyOf,
  objectOf,
  paths,
  put,
  remove,
  TEAMS,
  take,
} from '../../state/builders.ts';
import { type MakeHarness, useStore } from './fixture.ts';

export function testBatches(make: MakeHarness): void {
  const fixture = useStore(make);

  test('changes to one object within a batch follow each other', async () => {
    const { store } = fixture;
    const since = store.resourceVersion;
    await using watch = store.watch(TEAMS, since);

    const results = store.apply([
      put('ops', { a: 1 }),
      put('ops', { a: 2 }),
      remove('ops'),
      put('ops', { a: 3 }),
      put('ops', { a: 3 }),
    ]);

    const events = await take(watch.events(), 4);
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED', 'ADDED']);
    expect(results.map((each) => each?.object.spec)).toEqual([
      { a: 1 },
      { a: 2 },
      undefined,
      { a: 3 },
      { a: 3 },
    ]);
    expect(store.get(keyOf('ops'))).toBe(results[4]);
  });

  test('a put after a removal of a stored object is DELETED, then ADDED', async () => {
    const { store } = fixture;
    store.apply([put('ops', { a: 1 })]);
    await using watch = store.watch(TEAMS, store.resourceVersion);

    store.apply([remove('ops'), put('ops', { a: 1 })]);

    const events = await take(watch.events(), 2);
    expect(events.map(describeEvent)).toEqual(['DELETED ops', 'ADDED ops']);
    expect(events[1]?.previous).toBeUndefined();
  });

  test('a large batch with yields is seen all at once', async () => {
    const { store } = fixture;
    const names = Array.from({ length: 300 }, (_, i) => `t${String(i).padStart(3, '0')}`);
    store.apply(names.map((name) => put(name, { a: 1 })));
    const since = store.resourceVersion;
    const seen = new Set<number>();
    const reading = setInterval(() => {
      const { items } = store.list(TEAMS);
      seen.add(items.filter(({ object }) => object.spec?.['a'] === 2).length);
    });

    const changes = names.map((name) => put(name, { a: 2 }));
    await store.applyYielding(changes, { head: { revision: 'two' } }, []);
    clearInterval(reading);

    expect([...seen].every((count) => count === 0 || count === 300)).toBe(true);
    expect(store.resourceVersion).toBe(since + 300);
    expect(store.document('head')).toEqual({ revision: 'two' });
    await fixture.restart();
    expect(fixture.store.get(keyOf('t299'))?.object.spec).toEqual({ a: 2 });
  });

  test('a step applied during a yielding one is not lost, and comes first', async () => {
    const { store } = fixture;
    await using watch = store.watch(TEAMS, store.resourceVersion);

    const slow = store.applyYielding([put('slow', { a: 1 }), put('slower', { a: 1 })], {}, []);
    store.apply([put('quick', { a: 1 })]);
    await slow;

    const events = await take(watch.events(), 3);
    const versions = events.map(({ resourceVersion }) => resourceVersion);
    expect(new Set(versions).size).toBe(3);
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    expect(events.map(describeEvent)).toEqual(['ADDED quick', 'ADDED slow', 'ADDED slower']);
    expect(paths(store.list(TEAMS))).toEqual(['quick', 'slow', 'slower']);
  });

  test('listeners get many changes in parts, and all of them before anything newer', async () => {
    const { store } = fixture;
    const heard: string[] = [];
    const stop = store.observe(TEAMS, ({ current, resourceVersion }) => {
      heard.push(`${current.key.name} ${resourceVersion}`);
      // Longer than a slice, so that others get the processor in between.
      for (const until = performance.now() + 1; performance.now() < until; );
    });
    const names = Array.from({ length: 40 }, (_, i) => `t${String(i).padStart(3, '0')}`);
    const since = store.resourceVersion;

    const slow = store.applyYielding(
      names.map((name) => put(name, { a: 1 })),
      {},
      [],
    );
    await vi.waitUntil(() => heard.length > 0, { timeout: 20_000, interval: 1 });
    store.apply([put('newer', { a: 1 })]);
    const atOnce = heard.length;
    const late: string[] = [];
    const stopLate = store.observe(TEAMS, ({ current }) => late.push(current.key.name));
    await slow;
    store.apply([put('newest', { a: 1 })]);
    stop();
    stopLate();

    expect(atOnce).toBe(41);
    const all = [...names, 'newer', 'newest'];
    expect(heard).toEqual(all.map((name, i) => `${name} ${since + 1 + i}`));
    expect(late).toEqual(['newest']);
  });

  test('an object changed again during a large write is saved in its last version', async () => {
    const { store } = fixture;
    const names = Array.from({ length: 1_500 }, (_, i) => `t${String(i).padStart(4, '0')}`);
    const [first = '', second = '', ...others] = names;
    store.apply(names.map((name) => put(name, { a: 1 })));
    await fixture.restart();
    const again = fixture.store;
    const sees = (name: string): unknown => again.get(keyOf(name))?.object.spec?.['a'];

    const slow = again.applyYielding(
      names.map((name) => put(name, { a: 2 })),
      {},
      [],
    );
    await vi.waitUntil(() => sees(first) === 2, { timeout: 20_000, interval: 0 });
    again.apply([put(first, { a: 3 }), remove(second)]);
    await fixture.restart();
    await slow.catch(() => undefined);

    const found = fixture.store.list(TEAMS).items.map(({ key, object }) => [key.name, object.spec]);
    expect(found).toEqual([[first, { a: 3 }], ...others.map((name) => [name, { a: 2 }])]);
  });

  test('a prepared step is visible when it is applied, and not when the store has moved on', async () => {
    const { store } = fixture;
    store.apply([put('ops', { a: 1 })], { head: { revision: 'one' } });
    const first = store.prepare([put('ops', { a: 2 })], { head: { revision: 'two' } }, []);
    const second = store.prepare([put('ops', { a: 3 })], { head: { revision: 'three' } }, []);
    expect(store.get(keyOf('ops'))?.object.spec).toEqual({ a: 1 });
    store.apply([], { head: { revision: 'kept by somebody else' } });

    first();
    expect(store.document('head')).toEqual({ revision: 'two' });
    expect(() => second()).toThrow('out of date');

    expect(store.get(keyOf('ops'))?.object.spec).toEqual({ a: 2 });
    await fixture.restart();
    expect(fixture.store.get(keyOf('ops'))?.object.spec).toEqual({ a: 2 });
    expect(fixture.store.document('head')).toEqual({ revision: 'two' });
  });

  test('a prepared step is not applied to a closed store', async () => {
    const { store } = fixture;
    const step = store.prepare([put('ops', { a: 1 })], {}, []);
    await fixture.restart();
    expect(() => step()).toThrow('is closed');
    expect(fixture.store.get(keyOf('ops'))).toBeUndefined();
  });

  test('a batch that cannot be encoded changes nothing at all', async () => {
    const { store } = fixture;
    store.apply([put('ops', { a: 1 })], { head: { revision: 'one' } });
    const { resourceVersion } = store;
    const cyclic: JsonObject = {};
    cyclic['self'] = cyclic;
    const bad = { ...objectOf('bad'), extra: cyclic };

    expect(() =>
      store.apply([put('ops', { a: 2 }), { type: 'put', key: keyOf('bad'), object: bad }], {
        head: { revision: 'two' },
      }),
    ).toThrow(TypeError);

    expect(store.resourceVersion).toBe(resourceVersion);
    expect(store.get(keyOf('ops'))?.object.spec).toEqual({ a: 1 });
    expect(store.document('head')).toEqual({ revision: 'one' });
    expect(paths(store.list(TEAMS))).toEqual(['ops']);
    await using watch = store.watch(TEAMS, resourceVersion);
    store.apply([put('after')]);
    expect((await take(watch.events(), 1)).map(describeEvent)).toEqual(['ADDED after']);
  });

  test('a reader never sees half of a batch', () => {
    const { store } = fixture;
    const seen: string[][] = [];
    store.observe(TEAMS, () => seen.push(paths(store.list(TEAMS))));

    store.apply([put('a'), put('b'), put('c')]);

    expect(seen).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ]);
  });

  test('a closed store refuses changes and watches', async () => {
    const { store } = fixture;
    const steps = [store.prepare([put('a')], {}, []), store.prepare([], {}, [])];
    await store.close();

    expect(() => store.apply([put('ops')])).toThrow('is closed');
    expect(() => store.apply([])).toThrow('is closed');
    expect(() => store.prepare([], {}, [])).toThrow('is closed');
    for (const step of steps) expect(step).toThrow('is closed');
    await expect(store.applyYielding([], {}, [])).rejects.toThrow('is closed');
    expect([store.get(keyOf('ops')), store.get(keyOf('a'))]).toEqual([undefined, undefined]);
    expect(() => store.watch(TEAMS, store.resourceVersion)).toThrow('is closed');
  });
}
