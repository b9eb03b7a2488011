/** Lists of what is there now. */
import { expect, test } from 'vitest';
import { GROUP, paths, put, remove, SECRETS, secretsIn, TEAMS } from '../../state/builders.ts';
import { type MakeHarness, useStore } from './fixture.ts';

export function testLists(make: MakeHarness): void {
  const fixture = useStore(make);

  test('a list is in bytewise order of namespace, then name', () => {
    const { store } = fixture;
    const names = [
      'b/a',
      'a/b',
      'a-b/x',
      'a/a-b',
      'a/a.b',
      'a/a',
      'a/ab',
      'a/é',
      'a/\u{1f600}',
      'a/\uffee',
    ];

    store.apply(names.map((name) => put(name)));

    expect(paths(store.list(SECRETS))).toEqual([
      'a/a',
      'a/a-b',
      'a/a.b',
      'a/ab',
      'a/b',
      'a/é',
      'a/\uffee',
      'a/\u{1f600}',
      'a-b/x',
      'b/a',
    ]);
  });

  test('a list holds its kind, and its namespace if one is named', () => {
    const { store } = fixture;

    store.apply([put('ops'), put('a/x'), put('b/x'), put('b/y')]);

    expect(paths(store.list(TEAMS))).toEqual(['ops']);
    expect(paths(store.list(SECRETS))).toEqual(['a/x', 'b/x', 'b/y']);
    expect(paths(store.list(secretsIn('b')))).toEqual(['b/x', 'b/y']);
    expect(paths(store.list(secretsIn('none')))).toEqual([]);
    expect(paths(store.list(secretsIn('')))).toEqual([]);
    expect(paths(store.list({ group: GROUP, kind: 'User' }))).toEqual([]);
  });

  test('a list carries the version of the store', () => {
    const { store } = fixture;
    store.apply([put('ops'), put('a/x')]);

    expect(store.list(TEAMS).resourceVersion).toBe(store.resourceVersion);
  });

  test('a list that was handed out never changes', () => {
    const { store } = fixture;
    store.apply([put('a/1'), put('a/2', { v: 1 }), put('a/3')]);
    const before = store.list(SECRETS);
    const inNamespace = store.list(secretsIn('a'));
    const items = [...before.items];

    store.apply([put('a/0'), put('a/2', { v: 2 }), remove('a/3')]);
    store.apply([put('a/4')]);

    expect(before.items).toEqual(items);
    expect(inNamespace.items).toEqual(items);
    expect(paths(store.list(SECRETS))).toEqual(['a/0', 'a/1', 'a/2', 'a/4']);
    expect(paths(store.list(secretsIn('a')))).toEqual(['a/0', 'a/1', 'a/2', 'a/4']);
  });

  test('a list is the same array until its collection changes', () => {
    const { store } = fixture;
    store.apply([put('a/1'), put('b/1'), put('ops')]);
    const all = store.list(SECRETS).items;
    const inA = store.list(secretsIn('a')).items;

    store.apply([put('ops', { a: 1 }), put('a/1')]);
    expect(store.list(SECRETS).items).toBe(all);
    store.apply([put('b/2')]);
    expect(store.list(secretsIn('a')).items).toBe(inA);
    expect(store.list(SECRETS).items).not.toBe(all);
  });

  test('large and small batches in any mix leave a sorted list without repeats', () => {
    const { store } = fixture;
    const names = Array.from({ length: 3000 }, (_, i) => `a/n${(i * 7919) % 3000}`);

    store.apply(names.map((name) => put(name)));
    for (const name of names.slice(0, 50)) store.apply([remove(name)]);
    store.apply(names.slice(50, 1500).map((name) => remove(name)));
    store.apply(names.slice(1000, 1600).map((name) => put(name, { again: true })));

    const expected = names.slice(1000).sort();
    expect(paths(store.list(SECRETS))).toEqual(expected);
    expect(paths(store.list(secretsIn('a')))).toEqual(expected);
  });
}
