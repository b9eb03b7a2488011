/** Watches that keep up. */
import { expect, test } from 'vitest';
import type { JournalEvent } from '../../../src/state/store.ts';
import {
  describeEvent,
  objectOf,
  put,
  remove,
  SECRETS,
  secretsIn,
  TEAMS,
  take,
} from '../../state/builders.ts';
import { type MakeHarness, useStore } from './fixture.ts';

export function testWatches(make: MakeHarness): void {
  const fixture = useStore(make);

  test('a watch delivers what was before it was read and what comes later, in order', async () => {
    const { store } = fixture;
    const since = store.resourceVersion;
    store.apply([put('ops'), put('a/1')]);
    await using watch = store.watch(SECRETS, since);
    store.apply([put('a/1', { v: 2 })]);

    const taking = take(watch.events(), 4);
    store.apply([put('other'), remove('a/1')]);
    await Promise.resolve();
    store.apply([put('b/1')]);

    const events = await taking;
    expect(events.map(describeEvent)).toEqual([
      'ADDED a/1',
      'MODIFIED a/1',
      'DELETED a/1',
      'ADDED b/1',
    ]);
    const versions = events.map(({ resourceVersion }) => resourceVersion);
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
  });

  test('an event carries the object after the change and before it', async () => {
    const { store } = fixture;
    await using watch = store.watch(TEAMS, store.resourceVersion);
    const [one] = store.apply([put('ops', { v: 1 })]);
    const [two] = store.apply([put('ops', { v: 2 })]);

    const [added, modified] = await take(watch.events(), 2);

    expect(added).toMatchObject({ type: 'ADDED', resourceVersion: one?.resourceVersion });
    expect(added?.current).toBe(one);
    expect(added?.previous).toBeUndefined();
    expect(modified?.current).toBe(two);
    expect(modified?.previous).toBe(one);
  });

  test('DELETED carries the last state with the version of the deletion', async () => {
    const { store } = fixture;
    const [stored] = store.apply([put('ops', { v: 1 }, { hash: 'h' })]);
    await using watch = store.watch(TEAMS, store.resourceVersion);

    store.apply([remove('ops')]);

    const [event] = await take(watch.events(), 1);
    expect(event?.resourceVersion).toBe(store.resourceVersion);
    expect(event?.current.resourceVersion).toBe(store.resourceVersion);
    expect(event?.current.hidden).toEqual({ hash: 'h' });
    expect(JSON.parse(event?.current.json().toString() ?? '')).toEqual({
      ...objectOf('ops', { v: 1 }),
      metadata: { name: 'ops', resourceVersion: String(store.resourceVersion) },
    });
    expect(event?.previous).toBe(stored);
    expect(stored?.object.metadata.resourceVersion).toBe(String(stored?.resourceVersion));
  });

  test('a watch of a namespace hears nothing of the others', async () => {
    const { store } = fixture;
    await using watch = store.watch(secretsIn('b'), store.resourceVersion);

    store.apply([put('a/1'), put('b/1'), put('c/1'), put('b'), remove('a/1'), remove('b/1')]);

    const events = await take(watch.events(), 2);
    expect(events.map(describeEvent)).toEqual(['ADDED b/1', 'DELETED b/1']);
  });

  test('a change that changes nothing is not an event', async () => {
    const { store } = fixture;
    store.apply([put('ops', { a: 1 })]);
    await using watch = store.watch(TEAMS, store.resourceVersion);

    store.apply([put('ops', { a: 1 }), remove('none')]);
    store.apply([put('ops', { a: 2 })]);

    const [event] = await take(watch.events(), 1);
    expect(event?.current.object.spec).toEqual({ a: 2 });
  });

  test('a watch from a version ahead of the store waits for it', async () => {
    const { store } = fixture;
    const ahead = store.resourceVersion + 3;
    await using watch = store.watch(TEAMS, ahead);

    for (let i = 1; i <= 5; i++) store.apply([put('ops', { i })]);

    const events = await take(watch.events(), 2);
    expect(events.map(({ resourceVersion }) => resourceVersion)).toEqual([ahead + 1, ahead + 2]);
  });

  test('no wake-up is lost between reading the last event and waiting', async () => {
    const { store } = fixture;
    await using watch = store.watch(TEAMS, store.resourceVersion);
    const events = watch.events();
    const seen: number[] = [];
    const reading = (async () => {
      for await (const event of events) {
        seen.push(event.current.object.spec?.['i'] as number);
        if (seen.length === 300) return;
      }
    })();

    for (let i = 0; i < 300; i++) {
      store.apply([put('ops', { i })]);
      for (let turn = 0; turn < i % 5; turn++) await Promise.resolve();
    }
    await reading;

    expect(seen).toEqual(Array.from({ length: 300 }, (_, i) => i));
  });

  test('several reads at once are answered in order', async () => {
    const { store } = fixture;
    await using watch = store.watch(TEAMS, store.resourceVersion);
    const events = watch.events();
    const reads = [events.next(), events.next(), events.next()];

    store.apply([put('a')]);
    store.apply([put('b'), put('c')]);

    const results = await Promise.all(reads);
    expect(results.map(({ value }) => describeEvent(value))).toEqual([
      'ADDED a',
      'ADDED b',
      'ADDED c',
    ]);
  });

  test('closing ends a read that waits, and closing again does nothing', async () => {
    const watch = fixture.store.watch(TEAMS, fixture.store.resourceVersion);
    const reading = watch.events().next();

    watch.close();
    watch.close();

    expect(await reading).toEqual({ value: undefined, done: true });
    expect(await watch.events().next()).toEqual({ value: undefined, done: true });
    expect(watch.dropped).toBe(false);
  });

  test('leaving a loop closes the watch', async () => {
    const { store } = fixture;
    const watch = store.watch(TEAMS, store.resourceVersion);
    store.apply([put('a'), put('b')]);

    for await (const event of watch.events()) {
      expect(describeEvent(event)).toBe('ADDED a');
      break;
    }

    expect((await watch.events().next()).done).toBe(true);
  });

  test('await using closes the watch', async () => {
    const { store } = fixture;
    let outer: AsyncIterator<JournalEvent>;
    {
      await using watch = store.watch(TEAMS, store.resourceVersion);
      outer = watch.events();
    }

    expect((await outer.next()).done).toBe(true);
  });

  test('closing the store ends every watch, none of them as dropped', async () => {
    const { store } = fixture;
    const watches = [TEAMS, SECRETS, secretsIn('a')].map((collection) =>
      store.watch(collection, store.resourceVersion),
    );
    const reads = watches.map((watch) => watch.events().next());

    await store.close();

    for (const read of reads) expect((await read).done).toBe(true);
    expect(watches.map(({ dropped }) => dropped)).toEqual([false, false, false]);
  });

  test('ten thousand open watches each get a change of their collection', async () => {
    const { store } = fixture;
    const since = store.resourceVersion;
    const watches = Array.from({ length: 10_000 }, (_, i) =>
      store.watch(i % 2 === 0 ? SECRETS : secretsIn(`n${i}`), since),
    );
    let answered = 0;
    const reads = watches.map(async (watch) => {
      const { value } = await watch.events().next();
      answered++;
      return value;
    });

    store.apply([put('ops')]);
    await new Promise(setImmediate);
    expect(answered).toBe(0);
    store.apply([put('n1/x')]);
    await new Promise(setImmediate);
    expect(answered).toBe(5001);
    for (const watch of watches) watch.close();

    const values = await Promise.all(reads);
    const told = values.filter((value) => value !== undefined);
    expect(told).toHaveLength(5001);
    expect(new Set(told.map(({ current }) => current.json())).size).toBe(1);
  });
}
