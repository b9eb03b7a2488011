/**
 * Fields of the configuration (spec sections 2.8.1 to 2.8.12) and rules of the other sections, with
 * the tests that fail when the field is ignored or the rule does not hold. A comment directly above
 * a test, or above its row in a table of tests, says so, and nothing else does:
 * `// covers: audit.maxSize auth.{oidc,providerA}.clientId errors.generatedNameTaken`.
 *
 * `npx tsx scripts/docs.ts` writes docs/config-coverage/*.md from it, one page per section, so that
 * people who work on different sections do not meet in one file, and docs/spec-coverage.md.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_FIELDS, sectionOf } from '../test/support/config-fields.ts';
import { OPEN_ROWS, SPEC_ROWS, type SpecRow } from '../test/support/spec-rows.ts';
import { table } from './markdown-table.ts';

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

export interface CoveredRow extends SpecRow {
  /** Empty: none covers it. */
  readonly tests: readonly CoveringTest[];
}

/** Every rule once, in the order of the specification; one that repeats a field has its tests. */
export function coveredRows(): CoveredRow[] {
  const claims = grouped(coverageClaims(), ({ path }) => path);
  const fields = new Map(coveredFields().map((field) => [field.path, field.tests]));
  return SPEC_ROWS.map((row) => {
    const tests = row.field === undefined ? claims.get(row.id) : fields.get(row.field);
    return { ...row, tests: distinct(tests ?? []) };
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

/** Tables of cases that one test file runs, with a claim of its own above a case. */
const CASES = 'conformance/api/cases/';

/** Claims of the tests, unknown names included. Throws for a claim above nothing. */
export function coverageClaims(): CoverageClaim[] {
  const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' });
  return files
    .filter((name) => name.endsWith('.test.ts') || name.startsWith(CASES))
    .flatMap((file) => claimsOf(file, readFileSync(join(TESTS, file), 'utf8')));
}

function claimsOf(file: string, text: string): CoverageClaim[] {
  return [...text.matchAll(CLAIMS)].flatMap((match) => {
    const title = titleOf(text.slice(match.index + match[0].length));
    if (title === undefined) {
      const line = text.slice(0, match.index).split('\n').length;
      throw new Error(`test/${file}:${line} claims to cover something, and no test follows`);
    }
    const paths = match[0].replaceAll(/^[ \t]*\/\/ covers: /gm, '').split(/\s+/);
    return paths
      .filter((path) => path !== '')
      .flatMap(expanded)
      .map((path) => ({ path, file, title }));
  });
}

/** A row of a table of tests, by its title: `['…', …]`, `{ name: '…', … }`, `sequence('…', '…', …)`. */
const ROW = /^(?:\s*\/\/[^\n]*\n)*\s*(?:\[|\{\s*name:|sequence\('[^'\n]*',)/;
const HEAD = /^(?:\s*\/\/[^\n]*\n)*\s*(?:test|it|describe)\b((?:\.\w+)*)/;
const TEXT = /\s*(?:'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|`([^`]*)`)/.source;

/** The title of the test or row that a text begins with; of `test.each(table)(title)` the second call's. */
function titleOf(text: string): string | undefined {
  const head = HEAD.exec(text);
  const start = head ?? ROW.exec(text);
  if (start === null) return undefined;
  const isTable = /\.(each|for|skipIf|runIf)\b/.test(head?.[1] ?? '');
  const before = head === null ? '^' : isTable ? '\\)\\(' : '^\\(';
  const title = new RegExp(before + TEXT).exec(text.slice(start[0].length));
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

/** The rules of a section, or those without a test, as a table. */
export function ruleTable(section: string): string {
  if (section === 'open') return openTable();
  const rows = coveredRows()
    .filter((row) => row.section === section)
    .map((row) => [
      `\`${row.id}\``,
      row.rule,
      row.field === undefined ? shown(row.tests) : asField(row.field),
    ]);
  return table(['Rule', 'What holds', 'Tests that fail when it does not'], rows);
}

function asField(path: string): string {
  return `those of [\`${path}\`](config-coverage/${sectionOf(path)}.md)`;
}

function openTable(): string {
  const open = Object.entries(OPEN_ROWS).map(([id, reason]) => [`\`${id}\``, reason]);
  const count = `${SPEC_ROWS.length - open.length} of ${SPEC_ROWS.length} rules have a test.`;
  if (open.length === 0) return count;
  return `${count} These have none:\n\n${table(['Rule', 'Reason'], open)}`;
}
