/** The law of lists: an item carries its own comments wherever it goes. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import { editDocument } from '../../src/manifests/edit.ts';
import { parseManifests } from '../../src/manifests/parse.ts';
import { formatManifest } from '../../src/manifests/write.ts';
import { callsOf } from '../support/calls.ts';
import { runs } from '../support/properties.ts';

interface Item {
  readonly id: string;
  readonly above: boolean;
  readonly behind: boolean;
  readonly below: boolean;
}

type Form = 'scalars' | 'maps' | 'nested';

function itemValue(form: Form, id: string, extra = 0): unknown {
  if (form === 'scalars') return id;
  return { name: id, verbs: ['get', `v${extra}`], ...(form === 'nested' ? { users: [id] } : {}) };
}

/** Each comment names its item. */
function textOf(form: Form, items: readonly Item[]): string {
  const lines = items.flatMap(({ id, above, behind, below }) => {
    const comment = behind ? ` # behind ${id}` : '';
    const head = form === 'scalars' ? `  - ${id}${comment}` : `  - name: ${id}${comment}`;
    const rest = form === 'scalars' ? [] : ['    verbs: [get, v0]'];
    const inner =
      form === 'nested' ? [`    # above the users of ${id}`, '    users:', `      - ${id}`] : [];
    return [
      ...(above ? [`  # above ${id}`] : []),
      head,
      ...rest,
      ...inner,
      ...(below ? [`    # below ${id}`] : []),
    ];
  });
  return ['# of the file', 'list:', ...lines, 'after: 1 # end', ''].join('\n');
}

/** The comments of each item of the text, as `above`, `behind`, `below` and `users` with the id they name. */
function commentsBy(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  let above: string[] = [];
  let current: string[] = [];
  for (const line of text.split('\n').slice(2)) {
    const item = /^ {2}- (?:name: )?(\w+)(?: # behind (\w+))?$/.exec(line);
    const comment = /# (above|below|above the users of|behind) (\w+)$/.exec(line);
    if (item?.[1] !== undefined) {
      current = [...above, ...(item[2] === undefined ? [] : [`behind ${item[2]}`])];
      above = [];
      found.set(item[1], current);
    } else if (comment?.[1] === 'above') above.push(`above ${comment[2]}`);
    else if (comment !== null) current.push(`${comment[1]} ${comment[2]}`);
  }
  found.set('', above);
  return found;
}

const item = fc.record({
  id: fc.constantFrom(...'abcdefghijklmnop').map((letter) => `i${letter}`),
  above: fc.boolean(),
  behind: fc.boolean(),
  below: fc.boolean(),
});
const items = fc.uniqueArray(item, { minLength: 1, maxLength: 9, selector: ({ id }) => id });

describe.each<Form>(['scalars', 'maps', 'nested'])('a list of %s', (form) => {
  test('keeps the comments of every item that stays, whatever comes, goes and moves', () => {
    const rewrite = fc.record({
      before: items,
      seed: fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
      removed: fc.array(fc.nat(8), { maxLength: 4 }),
      added: fc.uniqueArray(fc.constantFrom('iq', 'ir', 'is', 'it'), { maxLength: 3 }),
      changed: fc.array(fc.nat(8), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(rewrite, ({ before, seed, removed, added, changed }) => {
        const kept = before.filter((_, i) => !removed.includes(i));
        // A list without any of its items is written anew.
        fc.pre(kept.length > 0);
        const after = [...kept.map(({ id }) => id), ...added]
          .map((id, i) => ({ id, rank: seed[i] ?? 0 }))
          .sort((a, b) => a.rank - b.rank)
          .map(({ id }) => id);
        const list = after.map((id) => {
          const isChanged = changed.some((i) => before[i]?.id === id);
          return itemValue(form, id, isChanged ? 1 : 0);
        });
        const text = textOf(form, before);
        const edited = editDocument(text, 0, { list, after: 1 } as JsonObject);
        expect(parseManifests(edited).documents[0]?.value).toEqual({ list, after: 1 });
        const [was, is] = [commentsBy(text), commentsBy(edited)];
        for (const { id } of kept) expect(is.get(id), edited).toEqual(was.get(id));
        // A new item may stand for one that went: that is a rename. No comment is left alone.
        expect(is.get(''), edited).toEqual([]);
        expect(edited.startsWith('# of the file\nlist:\n')).toBe(true);
        expect(edited.endsWith('after: 1 # end\n')).toBe(true);
      }),
      { numRuns: runs(150) },
    );
  });
});

test('a large document with lists in lists is read again a bounded number of times', () => {
  const chain = (depth: number, isTurned: boolean): unknown => {
    const items = [{ name: 'a', l: depth === 0 ? [] : chain(depth - 1, isTurned) }, { name: 'b' }];
    return isTurned ? items.reverse() : items;
  };
  const padding = Array.from({ length: 5000 }, (_, i) => `a long text to read ${i}`);
  const document = (depth: number, isTurned: boolean) =>
    ({ padding, list: chain(depth, isTurned) }) as JsonObject;
  const readsOf = (depth: number): number => {
    const text = formatManifest(document(depth, false));
    let edited = '';
    const reads = callsOf('compose', () => {
      edited = editDocument(text, 0, document(depth, true));
    });
    expect(parseManifests(edited).documents[0]?.value).toEqual(document(depth, true));
    return reads;
  };
  const reads = readsOf(1);
  expect(reads).toBeGreaterThan(0);
  expect(readsOf(20)).toBeLessThanOrEqual(reads + 1);
});
