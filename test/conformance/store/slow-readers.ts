/** Watches that do not keep up. */
import { expect, test } from 'vitest';
import { CompactedError } from '../../../src/state/store.ts';
import {
  describeEvent,
  put,
  remove,
  SECRETS,
  secretsIn,
  TEAMS,
  take,
} from '../../state/builders.ts';
import { type MakeHarness, useStore } from './fixture.ts';

export function testSlowReaders(make: MakeHarness): void {
  const fixture = useStore(make, { keepEvents: 10, maxEvents: 10 });

  test('a reader that the window has passed is dropped while others go on', async () => {
    const { store } = fixture;
    const since = store.resourceVersion;
    await using slow = store.watch(TEAMS, since);
    await using quick = store.watch(TEAMS, since);
    const seen: number[] = [];

    for (let i = 1; i <= 30; i++) {
      store.apply([put('ops', { i })]);
      const [event] = await take(quick.events(), 1);
      seen.push(event?.current.object.spec?.['i'] as number);
    }

    expect(seen).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
    expect(quick.dropped).toBe(false);
    expect(slow.dropped).toBe(true);
    expect(await slow.events().next()).toEqual({ value: undefined, done: true });
  });

  test('a reader gets all of the window, then is told that it was dropped', async () => {
    const { store } = fixture;
    await using watch = store.watch(TEAMS, store.resourceVersion);
    for (let i = 1; i <= 10; i++) store.apply([put('ops', { i })]);
    const three = await take(watch.events(), 3);

    for (let i = 11; i <= 20; i++) store.apply([put('ops', { i })]);

    expect(three.map(({ current }) => current.object.spec)).toEqual([{ i: 1 }, { i: 2 }, { i: 3 }]);
    expect((await watch.events().next()).done).toBe(true);
    expect(watch.dropped).toBe(true);
  });

  test('a batch larger than the window drops the readers of its collection alone', async () => {
    const { store } = fixture;
    await using secrets = store.watch(SECRETS, store.resourceVersion);
    await using teams = store.watch(TEAMS, store.resourceVersion);
    const reads = [secrets.events().next(), teams.events().next()];

    store.apply(Array.from({ length: 11 }, (_, i) => put(`a/${i}`)));
    store.apply([put('ops')]);

    expect((await reads[0])?.done).toBe(true);
    expect(secrets.dropped).toBe(true);
    expect(describeEvent((await reads[1])?.value)).toBe('ADDED ops');
    expect(teams.dropped).toBe(false);
  });

  test('a reader that waits for a version ahead is not dropped by what comes before it', async () => {
    const { store } = fixture;
    const ahead = store.resourceVersion + 25;
    await using watch = store.watch(TEAMS, ahead);
    for (let i = 1; i <= 24; i++) store.apply([put('ops', { i })]);
    expect(watch.dropped).toBe(false);

    for (let i = 25; i <= 27; i++) store.apply([put('ops', { i })]);

    const events = await take(watch.events(), 2);
    expect(events.map(({ current }) => current.object.spec)).toEqual([{ i: 26 }, { i: 27 }]);
  });

  test('readers of quiet namespaces are not dropped, and namespaces may come and go', async () => {
    const { store } = fixture;
    const since = store.resourceVersion;
    await using quiet = store.watch(secretsIn('quiet'), since);
    for (let i = 1; i <= 40; i++) store.apply([put(`n${i}/x`), remove(`n${i}/x`)]);

    expect(quiet.dropped).toBe(false);
    store.apply([put('quiet/x')]);

    expect((await take(quiet.events(), 1)).map(describeEvent)).toEqual(['ADDED quiet/x']);
    expect(() => store.watch(secretsIn('n1'), since)).toThrow(CompactedError);
  });
}
