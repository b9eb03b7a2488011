/**
 * `npm run house`: figures about the source that a newcomer meets, one per line, beside the aim of each.
 * The figures come from the text of the files, as `biome` formats it. `npm run house -- files` lists the
 * files of `src/` for the room test (docs/room-test.md).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const ROOT = join(import.meta.dirname, '..', 'src');
const TESTS = join(import.meta.dirname, '..', 'test');
const PATCH_HANDLER = 'server/handlers/patch.ts';
const SHORT_LINES = 5;
const QUESTION = /^(?:What|Who(?:m|se|ever)?|Where|Whether|How|Why|When)\b/;

interface Export {
  readonly name: string;
  readonly isType: boolean;
  /** Of a function. */
  readonly lines: number | undefined;
  /** It uses a declaration that its file does not export. */
  readonly usesPrivate: boolean;
}

interface Import {
  readonly from: string;
  readonly names: readonly string[];
  /** An import of types alone is gone at run time. */
  readonly isType: boolean;
}

interface SourceFile {
  readonly text: string;
  readonly imports: readonly Import[];
  readonly exports: readonly Export[];
}

const files = new Map(
  readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [name, readSource(name)]),
);

if (process.argv[2] === 'files') {
  const names = [...files.keys()].filter((name) => !name.endsWith('index.ts')).sort();
  process.stdout.write(`${names.join('\n')}\n`);
  process.exit();
}

function readSource(name: string): SourceFile {
  const text = readFileSync(join(ROOT, name), 'utf8');
  const clauses = text.matchAll(
    /^(?:import|export)\s+(type\s+)?([^;]*?)\s*from '(\.[^']+)';|import\('(\.[^']+)'\)/gm,
  );
  const imports = [...clauses].flatMap(([, type, clause = '', path, late]): Import[] => {
    const from = normalize(join(dirname(name), path ?? late ?? ''));
    const names = [...clause.matchAll(/(type\s+)?(\w+)(?:\s+as\s+\w+)?/g)].map(
      ([, own, one = '']) => ({ name: one, isType: (type ?? own) !== undefined }),
    );
    if (names.length === 0) return [{ from, names: [], isType: false }];
    return [true, false].flatMap((isType) => {
      const some = names.filter((one) => one.isType === isType).map((one) => one.name);
      return some.length === 0 ? [] : [{ from, names: some, isType }];
    });
  });
  return { text, imports, exports: exportsOf(text) };
}

function exportsOf(text: string): Export[] {
  const lines = text.split('\n');
  const own = lines.flatMap((line) => {
    const found = /^(?:async )?(?:function\*?|class|const|let|interface|type) (\w+)/.exec(line);
    return found?.[1] ?? [];
  });
  const usesOwn = own.length === 0 ? undefined : new RegExp(`\\b(?:${own.join('|')})\\b`);
  return lines.flatMap((line, at) => {
    const found =
      /^export (?:async )?(function\*?|class|abstract class|const|interface|type) (\w+)/.exec(line);
    if (found === null) return [];
    const [, kind = '', name = ''] = found;
    const isFunction = kind.startsWith('function');
    const isType = kind === 'interface' || kind === 'type';
    const end = lines.findIndex((other, i) => i >= at && /^\}/.test(other));
    const usesPrivate = usesOwn?.test(lines.slice(at, end + 1).join('\n')) === true;
    const length = isFunction && end >= at ? end - at + 1 : undefined;
    return [{ name, isType, lines: length, usesPrivate }];
  });
}

const isDoor = (file: string): boolean => /^[^/]+\/index\.ts$/.test(file);

/** Files that declare what an import names: a door is followed to them, as `link-doors.mjs` does. */
function declaring({ from, names }: Import): { from: string; names: readonly string[] }[] {
  if (!isDoor(from)) return [{ from, names }];
  return (files.get(from)?.imports ?? [])
    .map((one) => ({ from: one.from, names: one.names.filter((name) => names.includes(name)) }))
    .filter((one) => one.names.length > 0);
}

const importsOf = (file: string, types: boolean): string[] =>
  (files.get(file)?.imports ?? [])
    .filter(({ isType }) => types || !isType)
    .flatMap((one) => declaring(one).map(({ from }) => from));

/** Other files that import an export, by `file#name`. */
function users(): Map<string, Set<string>> {
  const used = new Map<string, Set<string>>();
  for (const [file, { imports }] of files) {
    if (isDoor(file)) continue;
    for (const { from, names } of imports.flatMap(declaring)) {
      for (const name of names) {
        const id = `${from}#${name}`;
        used.set(id, (used.get(id) ?? new Set()).add(file));
      }
    }
  }
  return used;
}

/** Names that tests import from `src/`, by `file#name`. */
function namesInTests(): Set<string> {
  const found = new Set<string>();
  for (const name of readdirSync(TESTS, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue;
    const text = readFileSync(join(TESTS, name), 'utf8');
    for (const [, clause = '', file] of text.matchAll(
      /^import\s+([^;]*?)\s*from '[./]*\/src\/([^']+)';/gm,
    )) {
      for (const [one] of clause.matchAll(/\w+/g)) found.add(`${file}#${one}`);
    }
  }
  return found;
}

/** Files on the longest chain of imports. The graph has no cycle: an architecture test sees to that. */
function longestChain(types: boolean): number {
  const known = new Map<string, number>();
  const depth = (file: string): number => {
    const found = known.get(file);
    if (found !== undefined) return found;
    known.set(file, 0);
    const next = importsOf(file, types).map(depth);
    const own = 1 + Math.max(0, ...next);
    known.set(file, own);
    return own;
  };
  return Math.max(...[...files.keys()].map(depth));
}

function reachable(from: string, types: boolean): number {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file) || !files.has(file)) return;
    seen.add(file);
    importsOf(file, types).forEach(visit);
  };
  visit(from);
  return seen.size;
}

function foldersWithoutDoor(): string[] {
  const found = new Map<string, Set<string>>();
  for (const [file, { imports }] of files) {
    if (!file.includes('/')) continue;
    for (const { from, names } of imports) {
      const [folder = ''] = from.split('/');
      if (names.length === 0 || file.startsWith(`${folder}/`)) continue;
      found.set(folder, (found.get(folder) ?? new Set()).add(from));
    }
  }
  return [...found].filter(([, doors]) => doors.size > 1).map(([folder]) => folder);
}

function comments(): { all: number; questions: number } {
  const all = [...files.values()].flatMap(({ text }) =>
    [...text.matchAll(/\/\*\*[\s*]*([^\n*]+)|^\s*\/\/ (.+)/gm)].map(([, doc, line]) => doc ?? line),
  );
  return { all: all.length, questions: all.filter((text) => QUESTION.test(text ?? '')).length };
}

/** Lines without comments and blank ones. */
const code = [...files.values()].flatMap(({ text }) =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .split('\n')
    .filter((line) => !/^\s*(?:\/\/|$)/.test(line)),
);

/** In expressions alone: a text such as 'the value as text', and a name in an import, is no cast. */
function casts(pattern: RegExp): number {
  const clauses = /^(?:import|export) (?:type )?[*{][^;]*?from '[^']+';/gm;
  const texts = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\$]|\\.|\$\{[^{}`]*\})*`/g;
  const lines = code.join('\n').replace(clauses, '').split('\n');
  return lines.flatMap((line) => [...line.replace(texts, "''").matchAll(pattern)]).length;
}

const used = users();
const inTests = namesInTests();
const exported = [...files].flatMap(([file, { exports }]) =>
  exports.map((one) => ({ ...one, file, users: used.get(`${file}#${one.name}`)?.size ?? 0 })),
);
const single = exported.filter((one) => one.users === 1);
const isSingleValue = ({ file, isType }: { file: string; isType: boolean }): boolean =>
  !isType && files.get(file)?.exports.filter((one) => !one.isType).length === 1;
/**
 * A test is a second user. The only value of a file is its idea, as a kind, a command or a class is:
 * to fold it is to merge two files.
 */
const besides = single.filter(
  (one) => !inTests.has(`${one.file}#${one.name}`) && !isSingleValue(one),
);
const short = single.filter(({ lines = Infinity }) => lines <= SHORT_LINES);
/**
 * Nothing speaks for the export: no test, no second use in its file, and no private declaration of
 * the file, which would have to be exported in its place.
 */
const movable = short.filter(
  (one) =>
    besides.includes(one) &&
    !one.usesPrivate &&
    [...(files.get(one.file)?.text ?? '').matchAll(new RegExp(`\\b${one.name}\\b`, 'g'))].length ===
      1,
);
const { all, questions } = comments();
const percent = (part: number, whole: number): string =>
  `${((100 * part) / whole).toFixed(1)} % of ${whole}`;
const rows: readonly [string, string | number, string][] = [
  ['files', files.size, ''],
  ['lines of code', code.length, 'fewer'],
  ['exports that one other file uses', percent(single.length, exported.length), '< 30 %'],
  [
    'of these, without a test and not the only value of their file',
    percent(besides.length, exported.length),
    '< 30 %',
  ],
  [`exported functions of at most ${SHORT_LINES} lines with one user`, short.length, '< 40'],
  [
    'of these, free to move: no test, no use or private helper in their file',
    movable.length,
    '< 40',
  ],
  ['longest chain of imports at run time', longestChain(false), '< 25'],
  ['the same with imports of types', longestChain(true), ''],
  [`files that ${PATCH_HANDLER} reaches at run time`, reachable(PATCH_HANDLER, false), '< 200'],
  ['the same with imports of types', reachable(PATCH_HANDLER, true), ''],
  ['folders with more than one file that others import', foldersWithoutDoor().join(', '), 'none'],
  ['comments that open with a question word', percent(questions, all), '< 2 %'],
  ['casts with `as`', casts(/[\w)\]}'>] as (?!const\b)[\w{([]/g), '< 200'],
  ['`as unknown as`', casts(/ as unknown as /g), '< 10'],
];
const width = Math.max(...rows.map(([name]) => name.length));
for (const [name, value, aim] of rows) {
  process.stdout.write(`${name.padEnd(width)}  ${String(value).padEnd(18)} ${aim}\n`);
}
