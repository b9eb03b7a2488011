/** An object, from put to removal. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import { keyOf, objectOf, paths, put, remove, TEAMS, take } from '../../state/builders.ts';
import { type MakeHarness, useStore } from './fixture.ts';

export function testObjects(make: MakeHarness): void {
  const fixture = useStore(make);

  test('a new store is empty and has a version above 0', () => {
    expect(fixture.store.list(TEAMS).items).toEqual([]);
    expect(fixture.store.get(keyOf('ops'))).toBeUndefined();
    expect(fixture.store.resourceVersion).toBeGreaterThan(0);
  });

  test('an object is served with its resourceVersion and is otherwise as it was put', () => {
    const { store } = fixture;

    const [stored] = store.apply([put('payments/registry', { a: 1 })]);

    expect(store.get(keyOf('payments/registry'))).toBe(stored);
    expect(stored?.key).toEqual(keyOf('payments/registry'));
    expect(stored?.resourceVersion).toBe(store.resourceVersion);
    expect(stored?.object).toEqual({
      ...objectOf('payments/registry', { a: 1 }),
      metadata: {
        name: 'registry',
        namespace: 'payments',
        resourceVersion: String(store.resourceVersion),
      },
    });
  });

  test('the input is neither changed nor frozen', () => {
    const object = objectOf('ops', { a: 1 });
    const key = { ...keyOf('ops') };

    fixture.store.apply([{ type: 'put', key, object }]);
    key.name = 'other';
    object.metadata.labels = { added: 'later' };

    expect(fixture.store.get(keyOf('ops'))?.key.name).toBe('ops');
    expect(fixture.store.get(keyOf('ops'))?.object.metadata.labels).toBeUndefined();
    expect(object.metadata.resourceVersion).toBeUndefined();
  });

  test('a resourceVersion in the input is replaced', () => {
    const object: KubeObject = {
      ...objectOf('ops'),
      metadata: { name: 'ops', resourceVersion: '7' },
    };

    const [stored] = fixture.store.apply([{ type: 'put', key: keyOf('ops'), object }]);

    expect(stored?.object.metadata.resourceVersion).toBe(String(stored?.resourceVersion));
  });

  test('every change takes the next version, across kinds', () => {
    const { store } = fixture;
    const before = store.resourceVersion;

    const stored = store.apply([put('ops'), put('payments/registry'), put('ops', { a: 1 })]);

    const versions = stored.map((each) => each?.resourceVersion);
    const [first = 0] = versions;
    expect(first).toBeGreaterThan(before);
    expect(versions).toEqual([first, first + 1, first + 2]);
    expect(store.resourceVersion).toBe(first + 2);
  });

  test.each([
    { name: 'the same value', object: objectOf('ops', { a: { b: [1, 2] }, c: 'x' }) },
    { name: 'keys in another order', object: objectOf('ops', { c: 'x', a: { b: [1, 2] } }) },
    {
      name: 'with the resourceVersion of some version',
      object: {
        ...objectOf('ops', { a: { b: [1, 2] }, c: 'x' }),
        metadata: { name: 'ops', resourceVersion: '12345' },
      },
    },
  ])('a put that equals what is stored changes nothing: $name', ({ object }) => {
    const { store } = fixture;
    const [stored] = store.apply([put('ops', { a: { b: [1, 2] }, c: 'x' }, { hash: 'h' })]);
    const { resourceVersion } = store;

    const again = store.apply([{ type: 'put', key: keyOf('ops'), object, hidden: { hash: 'h' } }]);

    expect(again[0]).toBe(stored);
    expect(store.resourceVersion).toBe(resourceVersion);
  });

  test.each([
    { name: 'another value', change: put('ops', { a: 2 }, { hash: 'h' }) },
    { name: 'another order of a list', change: put('ops', { a: [2, 1] }, { hash: 'h' }) },
    { name: 'other hidden data', change: put('ops', { a: 1 }, { hash: 'i' }) },
    { name: 'no hidden data', change: put('ops', { a: 1 }) },
  ])('a put that differs is a change: $name', ({ change }) => {
    const { store } = fixture;
    store.apply([put('ops', { a: 1 }, { hash: 'h' })]);
    const { resourceVersion } = store;

    store.apply([change]);

    expect(store.resourceVersion).toBe(resourceVersion + 1);
  });

  test('hidden data is kept beside the object and never in its JSON', () => {
    const [stored] = fixture.store.apply([put('ops', {}, { hash: 'canary' })]);

    expect(stored?.hidden).toEqual({ hash: 'canary' });
    expect(stored?.json().toString()).not.toContain('canary');
  });

  test('a version is encoded once: every reader gets the same bytes', async () => {
    const { store } = fixture;
    const since = store.resourceVersion;
    const [stored] = store.apply([put('ops', { a: 'ä' })]);
    await using watch = store.watch(TEAMS, since);

    const bytes = stored?.json();
    const [event] = await take(watch.events(), 1);

    expect(JSON.parse(bytes?.toString() ?? '')).toEqual(stored?.object);
    expect(store.get(keyOf('ops'))?.json()).toBe(bytes);
    expect(store.list(TEAMS).items[0]?.json()).toBe(bytes);
    expect(event?.current.json()).toBe(bytes);
  });

  test('an object and its metadata cannot be changed by a reader', () => {
    const [stored] = fixture.store.apply([put('ops')]);

    expect(() => Object.assign(stored?.object ?? {}, { kind: 'Other' })).toThrow(TypeError);
    expect(() => Object.assign(stored?.object.metadata ?? {}, { name: 'x' })).toThrow(TypeError);
  });

  test('a removed object is gone; removing it again changes nothing', () => {
    const { store } = fixture;
    store.apply([put('ops')]);

    expect(store.apply([remove('ops')])).toEqual([undefined]);
    const { resourceVersion } = store;
    expect(store.apply([remove('ops'), remove('never')])).toEqual([undefined, undefined]);

    expect(store.get(keyOf('ops'))).toBeUndefined();
    expect(store.resourceVersion).toBe(resourceVersion);
  });

  test('the same name in another kind, namespace or group is another object', () => {
    const { store } = fixture;
    const other = { ...keyOf('ops'), group: 'rbac.authorization.k8s.io' };

    store.apply([put('ops'), put('a/ops'), put('b/ops')]);
    store.apply([{ type: 'put', key: other, object: objectOf('ops', { other: true }) }]);
    store.apply([remove('a/ops')]);

    expect(store.get(keyOf('ops'))?.object.spec).toEqual({});
    expect(store.get(other)?.object.spec).toEqual({ other: true });
    expect(store.get(keyOf('b/ops'))).toBeDefined();
    expect(store.get(keyOf('a/ops'))).toBeUndefined();
    expect(paths(store.list(TEAMS))).toEqual(['ops']);
  });

  test('a name too long for a key of the engine is kept like any other', async () => {
    const long = 'n'.repeat(5000);
    fixture.store.apply([put(`a/${long}1`, { a: 1 }), put(`a/${long}2`, { a: 2 })]);

    await fixture.restart();

    expect(fixture.store.get(keyOf(`a/${long}1`))?.object.spec).toEqual({ a: 1 });
    expect(fixture.store.get(keyOf(`a/${long}2`))?.object.spec).toEqual({ a: 2 });
  });
}
