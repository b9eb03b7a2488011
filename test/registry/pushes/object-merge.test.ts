/** The law of merges: disjoint changes are both there, to the byte, in whichever order they came. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runAtOnce } from '../../../src/apimachinery/yield.ts';
import { fileReader } from '../../../src/catalog/file-reader.ts';
import { objectId } from '../../../src/git/objects/object-id.ts';
import { mergeObjects, type ReadEntry } from '../../../src/registry/pushes/merge/object-merge.ts';
import { kinds } from '../../support/platform.ts';

const PATH = 'teams.yaml';
const reader = fileReader(kinds, '');

const read: ReadEntry = (path, text) => {
  const content = Buffer.from(text);
  return reader.read(path, objectId('blob', content), content);
};

function version(text: string): string | undefined {
  return text === '' ? undefined : text;
}

/** Side that changes a field: neither, the tip, or the push. */
const owner = fc.constantFrom('none', 'tip', 'pushed');
const word = fc.constantFrom('"a"', "'b'", 'c # comment', '|-\n    d\n    e', '>-\n    f');

interface Field {
  readonly owner: string;
  readonly before: string;
  readonly after: string;
}

const field: fc.Arbitrary<Field> = fc.record({ owner, before: word, after: word });
const document = fc.record({
  comment: fc.constantFrom('', '# a comment\n', '\n'),
  displayName: field,
  description: field,
  /** Side that removes it, if the other side changes nothing in it. */
  removedBy: fc.option(fc.constantFrom('tip', 'pushed'), { freq: 4, nil: undefined }),
});
type Document = typeof document extends fc.Arbitrary<infer T> ? T : never;

function textOf(name: string, of: Document, sides: readonly string[]): string {
  const fields = [of.displayName, of.description];
  const canRemove = fields.every(({ owner: by }) => by === 'none' || by === of.removedBy);
  if (of.removedBy !== undefined && canRemove && sides.includes(of.removedBy)) return '';
  const value = ({ owner: by, before, after }: Field): string =>
    sides.includes(by) ? after : before;
  const head = `---\n${of.comment}apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: ${name}\n`;
  return `${head}spec:\n  displayName: ${value(of.displayName)}\n  description: ${value(of.description)}\n`;
}

const file = fc.record({
  documents: fc.array(document, { minLength: 1, maxLength: 4 }),
  added: fc.subarray(['tip', 'pushed']),
  eol: fc.constantFrom('\n', '\r\n'),
});

function streamOf(
  { documents, added, eol }: typeof file extends fc.Arbitrary<infer T> ? T : never,
  sides: readonly string[],
  order: readonly string[] = ['pushed', 'tip'],
): string {
  const texts = documents.map((one, i) => textOf(`t${i}`, one, sides));
  const news = order.filter((side) => sides.includes(side) && added.includes(side));
  const ends = news.map(
    (side) =>
      `---\napiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: ${side}\nspec: {}\n`,
  );
  return [...texts, ...ends].join('').replaceAll('\n', eol);
}

test('disjoint changes are both in the result, byte by byte, in either order', () => {
  fc.assert(
    fc.property(file, (given) => {
      const base = version(streamOf(given, []));
      const [tip, pushed] = ['tip', 'pushed'].map((side) => version(streamOf(given, [side])));
      // Additions of both sides to the end of a file may come in either order.
      const orders = [
        ['pushed', 'tip'],
        ['tip', 'pushed'],
      ];
      const wanted = orders.map((order) => streamOf(given, ['tip', 'pushed'], order));
      const merged = runAtOnce(mergeObjects(new Map([[PATH, { base, tip, pushed }]]), read));
      const turned = runAtOnce(
        mergeObjects(new Map([[PATH, { base, tip: pushed, pushed: tip }]]), read),
      );

      expect(merged.conflicts).toEqual([]);
      expect(wanted).toContain(merged.files.get(PATH) ?? '');
      expect(turned.files.get(PATH)).toBe(merged.files.get(PATH));
    }),
    { numRuns: 500 },
  );
});
