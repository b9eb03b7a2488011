/** Texts to read: some plain, some nearly plain, some not YAML at all. */
import fc from 'fast-check';
import { TYPICAL } from './plain-yaml-samples.ts';

/** A tree together with the way it is written. */
type Node =
  | { kind: 'inline'; source: string }
  | { kind: 'block'; header: string; lines: string[] }
  | { kind: 'map'; step: number; entries: [string, Node][] }
  | { kind: 'seq'; step: number; gap: number; items: Node[] };

/** The lines of a node whose first line begins at a column. */
function print(node: Node, column: number): string[] {
  const pad = ' '.repeat(column);
  switch (node.kind) {
    case 'inline':
      return [pad + node.source];
    case 'block':
      return [pad + node.header, ...node.lines.map((line) => line && `${pad}  ${line}`)];
    case 'map':
      return node.entries.flatMap(([key, value]) => printEntry(`${pad}${key}:`, value, node.step));
    case 'seq':
      return node.items.flatMap((item) => {
        const [first = '', ...rest] = print(item, column + 1 + node.gap);
        const dash = `${pad}-${' '.repeat(node.gap)}`;
        return [dash + first.slice(dash.length), ...rest];
      });
  }
}

function printEntry(key: string, value: Node, step: number): string[] {
  const column = key.length - key.trimStart().length;
  if (value.kind === 'map') return [key, ...print(value, column + step)];
  if (value.kind === 'seq') return [key, ...print(value, column + value.step)];
  const [first = '', ...rest] = print(value, column);
  return [`${key} ${first.trimStart()}`, ...rest];
}

const words = fc.stringMatching(/^[a-zA-Z][\w./@ -]{0,12}[\w/]$/);
const nasty = fc.string({
  unit: fc.constantFrom(...' -:#\'"|>{}[],&*!%@`\n\t?~.=<+_/\\019aynoetx\u00e9\u2603'),
  maxLength: 8,
});
const numbers = fc.oneof(
  { weight: 4, arbitrary: fc.integer().map(String) },
  fc.float({ min: 0, max: 1000 }).map((value) => value.toFixed(3)),
  fc.double().map(String),
  fc.maxSafeInteger().map(String),
  fc.stringMatching(/^[-+]?[\d._:eExo-]{1,8}$/),
);
const flowItems = fc.array(fc.oneof({ weight: 5, arbitrary: words }, numbers), { maxLength: 3 });
const inlineSources = fc.oneof(
  { weight: 20, arbitrary: words },
  { weight: 4, arbitrary: numbers },
  { weight: 4, arbitrary: fc.constantFrom('true', 'false', 'null', '', '[]', '{}', '{ }', '--a') },
  { weight: 4, arbitrary: words.map((value) => JSON.stringify(value)) },
  { weight: 2, arbitrary: nasty.map((value) => JSON.stringify(value)) },
  { weight: 2, arbitrary: nasty.map((value) => `'${value.replaceAll("'", "''")}'`) },
  flowItems.map((items) => `[${items.join(', ')}]`),
  flowItems.map((items) => `{${items.map((key) => `${key}: ${key}`).join(', ')}}`),
  nasty,
);
const inline = inlineSources.map((source): Node => ({ kind: 'inline', source }));
const blockLine = fc.oneof(
  { weight: 12, arbitrary: words },
  { weight: 4, arbitrary: fc.constantFrom('', '# x', '- y: z', '---') },
  fc.constantFrom('  x', ' ', '    '),
);
const block = fc.record({
  kind: fc.constant('block' as const),
  header: fc.constantFrom('|', '|', '|', '|-', '|+', '>', '>-', '>+', '| # x', '|2'),
  lines: fc.array(blockLine, { minLength: 1, maxLength: 5 }),
});
const keys = fc.oneof(
  { weight: 30, arbitrary: words },
  { weight: 5, arbitrary: fc.constantFrom('a', 'b', 'gitplane.dev/foo', '"a"', "'q: r'", '"1"') },
  fc.constantFrom('y', '1', '__proto__', 'toString'),
  nasty,
);
const step = fc.constantFrom(2, 2, 2, 1, 4);
const { map, seq } = fc.letrec<{ node: Node; map: Node; seq: Node }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    { weight: 4, arbitrary: inline },
    block,
    { weight: 2, arbitrary: tie('map') },
    tie('seq'),
  ),
  map: fc.record({
    kind: fc.constant('map' as const),
    step,
    entries: fc.uniqueArray(fc.tuple(keys, tie('node')), {
      minLength: 1,
      maxLength: 4,
      selector: ([key]) => key,
    }),
  }),
  seq: fc.record({
    kind: fc.constant('seq' as const),
    step: fc.constantFrom(0, 0, 2, 4),
    gap: fc.constantFrom(1, 1, 1, 3),
    items: fc.array(tie('node'), { minLength: 1, maxLength: 4 }),
  }),
}));

/** Lines that may appear between others, with or without a change of meaning. */
const noise = fc.constantFrom(
  '',
  '  ',
  '# note',
  '   # note',
  '---',
  '--- # next',
  '-',
  ' -',
  'z:',
);
export const documents = fc
  .tuple(
    fc.oneof(map, seq),
    fc.array(fc.tuple(fc.nat(), noise), { maxLength: 2 }),
    fc.constantFrom('', '\n'),
  )
  .map(([tree, insertions, end]) => {
    const lines = print(tree, 0);
    for (const [at, line] of insertions) lines.splice(at % (lines.length + 1), 0, line);
    return lines.join('\n') + end;
  });

type Mutation = (text: string) => string;

const NASTY = [
  ...' -:#\'"|>{}[],&*!%@`\n\t?~.',
  '\n  ',
  ' #',
  ': ',
  '- ',
  '\n---\n',
  '0',
  'a',
  '\\',
];

const mutations: fc.Arbitrary<Mutation> = fc.oneof(
  fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom(...NASTY)).map(
    ([at, removed, added]): Mutation =>
      (text) => {
        const from = at % (text.length + 1);
        return text.slice(0, from) + added + text.slice(from + removed);
      },
  ),
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 4 })).map(
    ([at, removed]): Mutation =>
      (text) => {
        const from = at % (text.length + 1);
        return text.slice(0, from) + text.slice(from + removed);
      },
  ),
  fc.tuple(fc.nat(), fc.integer({ min: -4, max: 4 })).map(
    ([at, change]): Mutation =>
      (text) =>
        onLine(text, at, (line) => [
          change > 0 ? ' '.repeat(change) + line : line.replace(new RegExp(`^ {0,${-change}}`), ''),
        ]),
  ),
  fc.nat().map(
    (at): Mutation =>
      (text) =>
        onLine(text, at, (line) => [line, line]),
  ),
  fc.nat().map(
    (at): Mutation =>
      (text) =>
        onLine(text, at, () => []),
  ),
);

function onLine(text: string, at: number, change: (line: string) => string[]): string {
  const lines = text.split('\n');
  const index = at % lines.length;
  lines.splice(index, 1, ...change(lines[index] ?? ''));
  return lines.join('\n');
}

function indentOf(line = ''): number {
  return line.length - line.trimStart().length;
}

/** Some lines of a manifest that people could write, changed in a few places. */
export const mutants = fc
  .tuple(
    fc.constantFrom(...TYPICAL),
    fc.tuple(fc.nat(), fc.integer({ min: 3, max: 16 })),
    fc.array(mutations, { minLength: 1, maxLength: 4 }),
  )
  .map(([manifest, [from, count], changes]) => {
    const lines = manifest.split('\n');
    const rest = lines.slice(from % lines.length);
    const column = indentOf(rest[0]);
    const end = rest.findIndex((line, i) => i === count || (line && indentOf(line) < column));
    const excerpt = rest.slice(0, end === -1 ? undefined : end).join('\n');
    return changes.reduce((text, change) => change(text), excerpt);
  });

const soupLines = fc.constantFrom(
  ...['K:', 'K:', 'K: 1', 'K: x y', 'K: "q"', "K: 'q' # z", 'K: |', 'K: |+', 'K: >-', 'K: # z'],
  ...['K: []', 'K: {i: j}', '"K":', '- a', '- K: 1', '- K:', '-', '- - c', '- |', '- >', "- 'x'"],
  ...['-   K: 1', '- {}', '- "K": 1', '- - K: 1', '- K: |-', '', '  ', '# note', 'plain', '---'],
);

/** Lines that are right one by one, mostly but not always at a column that fits. */
export const lineSoup = fc
  .array(fc.tuple(fc.constantFrom(0, 0, 0, 0, 0, 0, -2, -2, -4, 1, 2, -1), soupLines), {
    minLength: 2,
    maxLength: 9,
    size: 'max',
  })
  .map((lines) => {
    let column = 0;
    const placed = lines.map(([step, line], i) => {
      column = Math.max(0, column + step);
      const text = ' '.repeat(column) + line.replace('K', `k${i}`);
      if (/[-:|>+]$/.test(line)) column += 2;
      return text;
    });
    return placed.join('\n');
  });

/** Valid and invalid text inside a quoted scalar or a flow collection. */
const insides = fc.string({
  unit: fc.constantFrom(...'  ,,::ab1-"\'[]{}\\#n?&*!\n'),
  maxLength: 10,
});

export const inlineSoup = fc.oneof(
  insides.map((inside) => `a: [${inside}]\n`),
  insides.map((inside) => `- {${inside}}`),
  insides.map((inside) => `- "${inside}"`),
  insides.map((inside) => `'${inside}': a`),
  fc.tuple(insides, insides).map(([key, value]) => `${key}: ${value}`),
);

/** Scalars that may be numbers, booleans, dates or null somewhere. */
export const scalarSoup = fc
  .string({
    unit: fc.constantFrom(...'012789012789._-+_-+:eExXoObBTZfFnNaAiIyYlu~<= /'),
    maxLength: 7,
  })
  .map((scalar) => `a: ${scalar}`);

export const strings = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(...' \n-:#\'"|>{}[],&*!%@`\t?~.ab1'),
    minLength: 2,
    maxLength: 14,
  }),
);
