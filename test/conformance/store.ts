/**
 * What every state store must do, whatever it is kept in. An implementation runs all of it by one
 * call; `test/state/store-laws.test.ts` adds the laws that need a model.
 */
import { describe } from 'vitest';
import { testBatches } from './store/batches.ts';
import { testContents } from './store/contents.ts';
import { testDocuments } from './store/documents.ts';
import type { MakeHarness } from './store/fixture.ts';
import { testListeners } from './store/listeners.ts';
import { testLists } from './store/lists.ts';
import { testObjects } from './store/objects.ts';
import { testPastLists } from './store/past-lists.ts';
import { testRestarts } from './store/restarts.ts';
import { testSlowReaders } from './store/slow-readers.ts';
import { testWatches } from './store/watches.ts';

export function testStore(name: string, make: MakeHarness): void {
  describe(`${name} as a store`, () => {
    describe('objects', () => testObjects(make));
    describe('batches', () => testBatches(make));
    describe('documents', () => testDocuments(make));
    describe('lists', () => testLists(make));
    describe('lists of the past', () => testPastLists(make));
    describe('watches', () => testWatches(make));
    describe('slow readers', () => testSlowReaders(make));
    describe('listeners', () => testListeners(make));
    describe('first contents, provenance and packs', () => testContents(make));
    describe('restarts', () => testRestarts(make));
  });
}
