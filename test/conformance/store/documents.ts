/** What is kept beside the objects. */
import { expect, test } from 'vitest';
import { put } from '../../state/builders.ts';
import { type MakeHarness, useStore } from './fixture.ts';

export function testDocuments(make: MakeHarness): void {
  const fixture = useStore(make);

  test('notes are kept, replaced and removed by name', () => {
    const { store } = fixture;

    store.apply([], { 'base/a': { n: 1 }, 'base/b': { n: 2 }, head: { revision: 'x' } });
    store.apply([], { 'base/a': { n: 3 }, 'base/b': undefined, never: undefined });

    expect(store.document('base/a')).toEqual({ n: 3 });
    expect(store.document('base/b')).toBeUndefined();
    expect(store.document('head')).toEqual({ revision: 'x' });
  });

  test('notes come by prefix, in order of their names', () => {
    const { store } = fixture;

    store.apply([], { 'b/2': { n: 2 }, 'b/10': { n: 10 }, a: { n: 0 }, 'b/1': { n: 1 } });

    expect([...store.documents('b/')]).toEqual([
      ['b/1', { n: 1 }],
      ['b/10', { n: 10 }],
      ['b/2', { n: 2 }],
    ]);
    expect([...store.documents('')].map(([name]) => name)).toEqual(['a', 'b/1', 'b/10', 'b/2']);
  });

  test('a note that is changed in place and kept again is kept as changed', async () => {
    const note = { seen: ['a'] };
    fixture.store.apply([], { base: note });
    note.seen.push('b');
    expect(fixture.store.document('base')).toEqual({ seen: ['a'] });

    fixture.store.apply([], { base: note });
    await fixture.restart();

    expect(fixture.store.document('base')).toEqual({ seen: ['a', 'b'] });
  });

  test('a note is not a change of any object: the version stays', () => {
    const { store } = fixture;
    const { resourceVersion } = store;

    store.apply([], { head: { revision: 'x' } });

    expect(store.resourceVersion).toBe(resourceVersion);
  });

  test('notes come back after a restart, together with the objects of their batch', async () => {
    fixture.store.apply([put('ops')], { head: { revision: 'x' }, gone: { n: 1 } });
    fixture.store.apply([], { gone: undefined, [`long${'g'.repeat(3000)}`]: { n: 2 } });

    await fixture.restart();

    expect([...fixture.store.documents('')]).toEqual([
      ['head', { revision: 'x' }],
      [`long${'g'.repeat(3000)}`, { n: 2 }],
    ]);
  });
}
