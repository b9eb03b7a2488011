/** Splices of one text: their order, and which of them want the same bytes. */
import { expect, test } from 'vitest';
import type { ParsedNode } from 'yaml';
import { apply, inOrder, OverlapError, type Splice } from '../../src/manifests/edit/splice.ts';

const SOURCE = '0123456789';

function splices(...of: readonly [start: number, end: number, text: string][]): Splice[] {
  const owner = {} as ParsedNode;
  return of.map(([start, end, text]) => ({ start, end, text, owner }));
}

test.each<[string, Splice[], string]>([
  ['any order', splices([5, 6, 'B'], [1, 2, 'A']), '0A234B6789'],
  ['a replacement right behind another', splices([1, 3, 'A'], [3, 4, 'B']), '0AB456789'],
  ['insertions at one place in the order given', splices([2, 2, 'A'], [2, 2, 'B']), '01AB23456789'],
  ['an insertion before what is replaced there', splices([2, 4, 'B'], [2, 2, 'A']), '01AB456789'],
  ['deletions that overlap', splices([1, 5, ''], [3, 7, '']), '0789'],
  ['a deletion within another', splices([1, 8, ''], [3, 5, '']), '089'],
  ['three deletions that overlap', splices([1, 6, ''], [2, 3, ''], [5, 8, '']), '089'],
])('%s', (_title, of, expected) => {
  expect(apply(SOURCE, inOrder(of))).toBe(expected);
});

test.each<[string, Splice[]]>([
  ['two replacements', splices([1, 5, 'A'], [3, 7, 'B'])],
  ['a replacement and a deletion behind its start', splices([1, 5, 'A'], [3, 7, ''])],
  ['a deletion and a replacement behind its start', splices([1, 5, ''], [3, 7, 'B'])],
  ['a deletion and an insertion within it', splices([1, 5, ''], [3, 3, 'B'])],
])('%s want the same bytes', (_title, of) => {
  expect(() => inOrder(of)).toThrow(OverlapError);
});
