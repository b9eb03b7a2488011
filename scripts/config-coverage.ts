/**
 * Which fields of the configuration (spec sections 2.8.1 to 2.8.12) have a test that fails when the
 * field is ignored. A test says so in a comment directly above it, and nowhere else is it said:
 * `// covers: audit.maxSize auth.{oidc,providerA}.clientId`.
 *
 * `npx tsx scripts/docs.ts` writes docs/config-coverage/*.md from it, one page a section, so that
 * people who work on different sections do not meet in one file.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_FIELDS, sectionOf } from '../test/support/config-fields.ts';

const TESTS = join(import.meta.dirname, '../test');

export interface CoveringTest {
  /** Below test/. */
  readonly file: string;
  readonly title: string;
}

export interface CoveredField {
  readonly path: string;
  readonly type: string;
  readonly section: string;
  /** Empty: none covers it. */
  readonly tests: readonly CoveringTest[];
}

/**
 * Every row of the specification once, in its order. An object acts through its fields: it is
 * covered where all of them are.
 */
export function coveredFields(): CoveredField[] {
  const claims = grouped(coverageClaims(), ({ path }) => path);
  const paths = [...new Map(CONFIG_FIELDS)];
  const testsOf = (path: string): readonly CoveringTest[] => claims.get(path) ?? [];
  return paths.map(([path, type]) => {
    const below = paths.map(([other]) => other).filter((other) => other.startsWith(`${path}.`));
    const isWhole = type === 'object' && below.length > 0;
    const isOpen = isWhole && below.some((field) => testsOf(field).length === 0);
    const tests = isWhole ? [path, ...below].flatMap(testsOf) : testsOf(path);
    return { path, type, section: sectionOf(path), tests: isOpen ? [] : distinct(tests) };
  });
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

function distinct(tests: readonly CoveringTest[]): CoveringTest[] {
  const byName = new Map(tests.map((test) => [`${test.file} ${test.title}`, test]));
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, test]) => test);
}

export interface CoverageClaim extends CoveringTest {
  readonly path: string;
}

const CLAIMS = /(?:^[ \t]*\/\/ covers: .+\n)+/gm;

/** What tests say that they cover, fields that nobody knows included. Throws for a claim above nothing. */
export function coverageClaims(): CoverageClaim[] {
  const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' });
  return files
    .filter((name) => name.endsWith('.test.ts'))
    .flatMap((file) => claimsOf(file, readFileSync(join(TESTS, file), 'utf8')));
}

function claimsOf(file: string, text: string): CoverageClaim[] {
  return [...text.matchAll(CLAIMS)].flatMap((match) => {
    const title = titleOf(text.slice(match.index + match[0].length));
    if (title === undefined) {
      const line = text.slice(0, match.index).split('\n').length;
      throw new Error(`test/${file}:${line} claims to cover fields, and no test follows`);
    }
    const paths = match[0].replaceAll(/^[ \t]*\/\/ covers: /gm, '').split(/\s+/);
    return paths
      .filter((path) => path !== '')
      .flatMap(expanded)
      .map((path) => ({ path, file, title }));
  });
}

const HEAD = /^(?:\s*\/\/[^\n]*\n)*\s*(?:test|it|describe)\b((?:\.\w+)*)/;
const TITLE = /\(\s*(?:'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|`([^`]*)`)/.source;

/** The title of the test that a text begins with; of `test.each(table)(title)` the second call's. */
function titleOf(text: string): string | undefined {
  const head = HEAD.exec(text);
  if (head === null) return undefined;
  const isTable = /\.(each|for|skipIf|runIf)\b/.test(head[1] ?? '');
  const title = new RegExp(isTable ? `\\)${TITLE}` : `^${TITLE}`).exec(text.slice(head[0].length));
  return (title?.[1] ?? title?.[2] ?? title?.[3])?.replaceAll(/\\(['"])/g, '$1');
}

/** `a.{b,c}.d` is `a.b.d` and `a.c.d`. */
function expanded(pattern: string): string[] {
  const match = /^(.*?)\{([^}]*)\}(.*)$/.exec(pattern);
  if (match === null) return [pattern];
  const [, before = '', choices = '', after = ''] = match;
  return choices.split(',').flatMap((choice) => expanded(before + choice + after));
}

/** The rows of a section, as a table. */
export function coverageTable(section: string): string {
  const rows = coveredFields()
    .filter((field) => field.section === section)
    .map(({ path, type, tests }) => `| \`${path}\` | ${type} | ${shown(tests)} |`);
  return ['| Field | Type | Tests of what it does |', '| --- | --- | --- |', ...rows].join('\n');
}

function shown(tests: readonly CoveringTest[]): string {
  if (tests.length === 0) return '**none yet**';
  const byFile = grouped(tests, ({ file }) => file);
  return [...byFile]
    .map(([file, own]) => {
      const titles = own.map(({ title }) => title.replaceAll('|', '\\|')).join('; ');
      return `\`test/${file}\`: ${titles}`;
    })
    .join('<br>');
}
