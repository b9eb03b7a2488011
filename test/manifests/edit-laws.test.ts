/** Laws of editing, on random documents in mixed styles and random changes of their values. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isScalar, isMap as isYamlMap } from 'yaml';
import { type JsonObject, jsonEqual } from '../../src/apimachinery/object.ts';
import { nodeAt, readTree } from '../../src/manifests/edit/tree.ts';
import { appendDocument, describeEdit, removeDocument } from '../../src/manifests/edit.ts';
import { parseManifests } from '../../src/manifests/parse.ts';
import { splitStream } from '../../src/manifests/stream.ts';
import { runs } from '../support/properties.ts';
import { at, type Change, change, type Path, touchedEntry } from './random-edit.ts';
import { Random, type RandomDocument, randomDocument } from './random-yaml.ts';

/** Raise for a long run: `FUZZ_RUNS=20000 npx vitest run test/manifests`. */
const RUNS = runs(200);

interface Sample {
  readonly document: RandomDocument;
  readonly random: Random;
}

function forAll(
  options: { aliases: boolean; frame?: boolean },
  law: (sample: Sample) => void,
): void {
  const seed = fc.integer({ min: 0, max: 2 ** 31 - 1 });
  fc.assert(
    fc.property(seed, fc.integer({ min: 1, max: 30 }), (start, size) => {
      const document = randomDocument({ seed: start, size, ...options });
      law({ document, random: new Random(start ^ 0x5bd1e995) });
    }),
    { numRuns: RUNS },
  );
}

function valueIn(text: string, index = 0): unknown {
  return parseManifests(text).documents.find((document) => document.index === index)?.value;
}

test('a random document reads as the value it was written for', () => {
  forAll({ aliases: true, frame: true }, ({ document }) => {
    const [read] = parseManifests(document.text).documents;
    expect(read?.problems).toEqual([]);
    expect(jsonEqual(read?.value, document.value)).toBe(true);
  });
});

test.each([false, true])('any edit reads back as asked for (aliases: %s)', (aliases) => {
  const strategies = { unchanged: 0, splice: 0, node: 0, document: 0 };
  forAll({ aliases, frame: true }, ({ document, random }) => {
    const desired = structuredClone(document.value);
    for (let i = 0; i <= random.below(4); i++) change(desired, random);
    const { text, strategy } = describeEdit(document.text, 0, desired);
    strategies[strategy]++;
    expect(jsonEqual(valueIn(text), desired)).toBe(true);
  });
  expect(strategies.document).toBe(0);
  expect(strategies.node).toBeLessThanOrEqual(Math.ceil(RUNS / 100));
});

test('an edit leaves the other documents of a stream as they are', () => {
  forAll({ aliases: true }, ({ document, random }) => {
    const before = 'a: "1"\n# end of a\n';
    const behind = '--- # next\nz:   {q: 1} # z\n---\n';
    const own = /^---/m.test(document.text) ? document.text : `---\n${document.text}`;
    if (!own.endsWith('\n') || own.includes('\r')) return;
    const desired = structuredClone(document.value);
    change(desired, random);
    const { text } = describeEdit(before + own + behind, 1, desired);
    expect(text.startsWith(before)).toBe(true);
    expect(text.endsWith(behind)).toBe(true);
    expect(splitStream(text)).toHaveLength(4);
    expect(jsonEqual(valueIn(text, 1), desired)).toBe(true);
  });
});

test('byte order mark, directive, end marker and what is behind it stay', () => {
  forAll({ aliases: true, frame: true }, ({ document, random }) => {
    const desired = structuredClone(document.value);
    change(desired, random);
    const { text } = describeEdit(document.text, 0, desired);
    expect(text.startsWith(document.frame.head)).toBe(true);
    expect(text.endsWith(document.frame.tail)).toBe(true);
  });
});

test('a text of one kind of line ends has no other after an edit', () => {
  forAll({ aliases: true, frame: true }, ({ document, random }) => {
    const desired = structuredClone(document.value);
    change(desired, random);
    const { text } = describeEdit(document.text, 0, desired);
    const ends = (of: string): Set<string> => new Set(of.match(/\r?\n/g));
    expect(ends(document.text).size === 1 ? [...ends(document.text)] : ['\n', '\r\n']).toEqual(
      expect.arrayContaining([...ends(text)]),
    );
  });
});

test.each([false, true])(
  'a key at the top whose value stays keeps its text and its place (aliases: %s)',
  (aliases) => {
    forAll({ aliases, frame: true }, ({ document, random }) => {
      const desired = structuredClone(document.value);
      change(desired, random);
      if (document.isJson) return;
      const { text } = describeEdit(document.text, 0, desired);
      const kept = Object.keys(desired).filter(
        (key) => Object.hasOwn(document.value, key) && jsonEqual(document.value[key], desired[key]),
      );
      // A value that shares nodes with the changed one may have to be separated from it.
      const before = sourcesOf(document.text, kept);
      const own = kept.filter((key) => before.has(key) && !/[&*]/.test(before.get(key) ?? ''));
      const after = sourcesOf(text, own);
      expect([...after]).toEqual([...before].filter(([key]) => own.includes(key)));
    });
  },
);

/** The lines of the entries at the top that have one of the keys, in the order of the text. */
function sourcesOf(text: string, keys: readonly string[]): Map<string, string> {
  const [slice] = splitStream(text);
  const tree = readTree(text.slice(slice?.start, slice?.end));
  const sources = new Map<string, string>();
  if (!isYamlMap(tree.root.node) || tree.root.node.flow === true) return sources;
  for (const key of Object.keys(tree.value as JsonObject).filter((one) => keys.includes(one))) {
    const entry = touchedEntry(tree, { operation: 'scalar', path: [key] });
    if (entry !== undefined) sources.set(key, tree.source.slice(entry.start, entry.end));
  }
  return sources;
}

test('an edit of one scalar on one line changes that line and no other', () => {
  forAll({ aliases: false }, ({ document, random }) => {
    const desired = structuredClone(document.value);
    const { path, operation } = change(desired, random);
    const next = operation === 'scalar' ? at(desired, path) : '\n';
    if (typeof next === 'string' && /\n/.test(next)) return;
    const tree = readTree(document.text);
    const node = nodeAt(tree.root.node, path);
    if (!isScalar(node) || node.type?.startsWith('BLOCK') === true) return;
    if (tree.source.slice(node.range[0], node.range[1]).includes('\n')) return;
    // In a list, equal items around it may as well have come and gone.
    if (path.some((step) => typeof step === 'number')) return;
    const before = document.text.split('\n');
    const after = describeEdit(document.text, 0, desired).text.split('\n');
    expect(after).toHaveLength(before.length);
    expect(before.filter((line, index) => line !== after[index]).length).toBeLessThanOrEqual(1);
  });
});

test('all lines before and behind the entry that is changed stay', () => {
  forAll({ aliases: false }, ({ document, random }) => {
    const desired = structuredClone(document.value);
    const made = change(desired, random);
    const { text } = describeEdit(document.text, 0, desired);
    const tree = readTree(document.text);
    const entry = touchedEntry(tree, made);
    if (entry === undefined) return;
    const above = document.text.slice(0, document.text.lastIndexOf('\n', entry.start - 1) + 1);
    const own =
      made.operation === 'remove' ? above.replace(/(?:[ \t]*(?:#.*)?\r?\n)+$/, '') : above;
    expect(text.startsWith(own.trimEnd())).toBe(true);
    expect(text.trimEnd().endsWith(document.text.slice(entry.tail).trim())).toBe(true);
  });
});

test('an added or removed entry preserves the differing line ends of other lines', () => {
  forAll({ aliases: false }, ({ random }) => {
    const names = ['a', 'b', 'c', 'd'].slice(0, 2 + random.below(3));
    const lines = names.map((name) => `${name}: 1${random.pick(['\n', '\r\n'])}`);
    const desired: JsonObject = Object.fromEntries(names.map((name) => [name, 1]));
    const gone = random.chance(50) ? names[random.below(names.length)] : undefined;
    if (gone === undefined) desired['z'] = 2;
    else delete desired[gone];

    const { text } = describeEdit(lines.join(''), 0, desired);

    const kept = lines.filter((line) => !line.startsWith(`${gone}:`));
    expect(gone === undefined ? text.replace(/z: 2\r?\n$/, '') : text).toBe(kept.join(''));
  });
});

test('comments stay, but for those of what is removed or replaced', () => {
  forAll({ aliases: false }, ({ document, random }) => {
    const desired = structuredClone(document.value);
    const made = change(desired, random);
    const { text } = describeEdit(document.text, 0, desired);
    for (const comment of document.comments) {
      if (!document.text.includes(comment.text)) continue;
      if (mayGo(document.value, made, comment.path)) continue;
      expect(text, comment.text).toContain(comment.text);
    }
  });
});

function mayGo(value: JsonObject, { operation, path }: Change, comment: Path): boolean {
  const list = path.findIndex((step) => typeof step === 'number');
  const changed = list === -1 ? path : path.slice(0, list);
  if (list !== -1 || Array.isArray(at(value, path))) return isWithin(comment, changed);
  if (operation === 'scalar' || operation === 'add') return false;
  return isWithin(comment, path);
}

function isWithin(inner: Path, outer: Path): boolean {
  return outer.every((step, index) => inner[index] === step);
}

test('a document that is appended and removed again leaves no trace', () => {
  forAll({ aliases: true }, ({ document }) => {
    const object = { kind: 'T', note: 'x\ny\n' };
    const text = appendDocument(document.text, object);
    expect(parseManifests(text).documents.map(({ value }) => value)).toEqual([
      document.value,
      object,
    ]);
    const ended = document.text.endsWith('\n');
    const ends = ended ? [''] : ['\n', '\r\n'].filter((eol) => text.includes(eol));
    expect(ends.map((end) => document.text + end)).toContain(removeDocument(text, 1));
  });
});

test('a document that is removed leaves the others as they are', () => {
  forAll({ aliases: true }, ({ document, random }) => {
    const parts = ['a: 1\n# end\n', `---\n${document.text}`, '---\nb: 2\n', '--- # d\nd: 4\n'];
    if (/^---/m.test(document.text) || !document.text.endsWith('\n')) return;
    const index = random.below(parts.length);
    const before = parseManifests(parts.join('')).documents.map(({ value }) => value);
    const text = removeDocument(parts.join(''), index);
    const after = parseManifests(text).documents;
    expect(after.flatMap(({ problems }) => problems)).toEqual([]);
    expect(after.map(({ value }) => value)).toEqual(before.toSpliced(index, 1));
    for (const [i, part] of parts.entries()) if (i !== index) expect(text).toContain(part);
  });
});

test('a document that is removed and returns keeps its own text', () => {
  forAll({ aliases: true }, ({ document, random }) => {
    if (/^---/m.test(document.text) || !document.text.endsWith('\n')) return;
    const isFirst = random.chance(50);
    const index = isFirst ? 0 : 1;
    const others = ['---\nb: 2\n', '--- # c\nc: 3\n'];
    const parts = isFirst
      ? [document.text, ...others]
      : ['a: 1\n# end\n', `---\n${document.text}`, ...others];
    const text = parts.join('');
    const rest = removeDocument(text, index);
    const back = appendDocument(rest, document.value, { text, index });
    expect(back.startsWith(rest)).toBe(true);
    const [own, ...none] = parseManifests(back).documents.slice(
      parseManifests(rest).documents.length,
    );
    expect(none).toEqual([]);
    expect(own?.value).toEqual(document.value);
    for (const { text: comment, path } of document.comments) {
      if (path.length > 0 && document.text.includes(comment)) expect(back).toContain(comment);
    }
  });
});
