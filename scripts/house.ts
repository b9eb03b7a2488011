/**
 * `npm run house`: figures about the source that a newcomer meets, one per line, beside the aim of each.
 * The figures come from the text of the files, as `biome` formats it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const ROOT = join(import.meta.dirname, '..', 'src');
const PATCH_HANDLER = 'server/handlers/patch.ts';
const SHORT_LINES = 5;
const QUESTION = /^(?:What|Who|Whom|Whose|Whoever|Where|Whether|How|Why|When)\b/;
const DOORS = ['git', 'state', 'manifests'];

interface Export {
  readonly name: string;
  readonly lines: number | undefined;
}

interface SourceFile {
  readonly text: string;
  readonly imports: readonly { readonly from: string; readonly names: readonly string[] }[];
  readonly exports: readonly Export[];
}

const files = new Map(
  readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [name, readSource(name)]),
);

function readSource(name: string): SourceFile {
  const text = readFileSync(join(ROOT, name), 'utf8');
  const clauses = text.matchAll(
    /^(?:import|export)\s+(?:type\s+)?([^;]*?)\s*from '(\.[^']+)';|import\('(\.[^']+)'\)/gm,
  );
  const imports = [...clauses].map(([, clause = '', path, late]) => ({
    from: normalize(join(dirname(name), path ?? late ?? '')),
    names: [...clause.matchAll(/(?:type\s+)?(\w+)(?:\s+as\s+\w+)?/g)].map(([, one = '']) => one),
  }));
  return { text, imports, exports: exportsOf(text) };
}

function exportsOf(text: string): Export[] {
  const lines = text.split('\n');
  return lines.flatMap((line, at) => {
    const found =
      /^export (?:async )?(function\*?|class|abstract class|const|interface|type) (\w+)/.exec(line);
    if (found === null) return [];
    const [, kind = '', name = ''] = found;
    const isFunction = kind.startsWith('function');
    const end = lines.findIndex((other, i) => i >= at && /^\}/.test(other));
    return [{ name, lines: isFunction && end >= at ? end - at + 1 : undefined }];
  });
}

/** Other files that import an export, by `file#name`. */
function users(): Map<string, Set<string>> {
  const used = new Map<string, Set<string>>();
  for (const [file, { imports }] of files) {
    for (const { from, names } of imports) {
      for (const name of names) {
        const id = `${from}#${name}`;
        used.set(id, (used.get(id) ?? new Set()).add(file));
      }
    }
  }
  return used;
}

/** Files on the longest chain of imports. The graph has no cycle: an architecture test sees to that. */
function longestChain(): number {
  const known = new Map<string, number>();
  const depth = (file: string): number => {
    const found = known.get(file);
    if (found !== undefined) return found;
    known.set(file, 0);
    const next = (files.get(file)?.imports ?? []).map(({ from }) => depth(from));
    const own = 1 + Math.max(0, ...next);
    known.set(file, own);
    return own;
  };
  return Math.max(...[...files.keys()].map(depth));
}

function reachable(from: string): number {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file) || !files.has(file)) return;
    seen.add(file);
    for (const next of files.get(file)?.imports ?? []) visit(next.from);
  };
  visit(from);
  return seen.size;
}

function importedFromOutside(folder: string): number {
  const found = new Set<string>();
  for (const [file, { imports }] of files) {
    if (file.startsWith(`${folder}/`)) continue;
    for (const { from } of imports) if (from.startsWith(`${folder}/`)) found.add(from);
  }
  return found.size;
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

function casts(pattern: RegExp): number {
  const clauses = /^(?:import|export) (?:type )?[*{][^;]*?from '[^']+';/gm;
  const text = code.join('\n').replace(clauses, '');
  return [...text.matchAll(pattern)].length;
}

const used = users();
const exported = [...files].flatMap(([file, { exports }]) =>
  exports.map((one) => ({ ...one, users: used.get(`${file}#${one.name}`)?.size ?? 0 })),
);
const single = exported.filter((one) => one.users === 1);
const short = single.filter(({ lines = Infinity }) => lines <= SHORT_LINES);
const { all, questions } = comments();
const percent = (part: number, whole: number): string =>
  `${((100 * part) / whole).toFixed(1)} % of ${whole}`;
const rows: readonly [string, string | number, string][] = [
  ['files', files.size, ''],
  ['lines of code', code.length, 'fewer'],
  ['exports that one other file uses', percent(single.length, exported.length), '< 30 %'],
  [`exported functions of at most ${SHORT_LINES} lines with one user`, short.length, '< 40'],
  ['longest chain of imports', longestChain(), '< 25'],
  [`files that ${PATCH_HANDLER} reaches`, reachable(PATCH_HANDLER), '< 200'],
  ...DOORS.map((folder): [string, number, string] => [
    `files of ${folder}/ that others import`,
    importedFromOutside(folder),
    '1',
  ]),
  ['comments that open with a question word', percent(questions, all), '< 2 %'],
  ['casts with `as`', casts(/[\w)\]}'>] as (?!const\b)[\w{([]/g), '< 200'],
  ['`as unknown as`', casts(/ as unknown as /g), '< 10'],
];
const width = Math.max(...rows.map(([name]) => name.length));
for (const [name, value, aim] of rows) {
  process.stdout.write(`${name.padEnd(width)}  ${String(value).padEnd(18)} ${aim}\n`);
}
