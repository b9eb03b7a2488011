/**
 * Which fields of the configuration (spec sections 2.8.1 to 2.8.12) have a test that fails when the
 * field is ignored. A test says so in a comment above it: `// covers: audit.maxSize audit.path`.
 *
 * `npx tsx scripts/docs.ts` writes docs/config-coverage.md from it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_FIELDS, sectionOf } from '../test/support/config-fields.ts';

const TESTS = join(import.meta.dirname, '../test');

export interface CoveredField {
  readonly path: string;
  readonly type: string;
  readonly section: string;
  /** Files below test/; empty: none covers it. */
  readonly tests: readonly string[];
}

/** Every row of the specification once, in its order. */
export function coveredFields(): CoveredField[] {
  const claims = coverageClaims();
  return [...new Map(CONFIG_FIELDS)].map(([path, type]) => ({
    path,
    type,
    section: sectionOf(path),
    tests: [...(claims.get(path) ?? [])].sort(),
  }));
}

const CLAIM = /^\s*\/\/ covers: (.+)$/gm;

/** The files that claim each field; fields that nobody knows included. */
export function coverageClaims(): Map<string, Set<string>> {
  const claims = new Map<string, Set<string>>();
  const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.test.ts'))) {
    const text = readFileSync(join(TESTS, file), 'utf8');
    for (const [, list = ''] of text.matchAll(CLAIM)) {
      for (const path of list.trim().split(/\s+/).flatMap(expanded)) {
        claims.set(path, (claims.get(path) ?? new Set()).add(file));
      }
    }
  }
  return claims;
}

/** `a.{b,c}.d` is `a.b.d` and `a.c.d`. */
function expanded(pattern: string): string[] {
  const match = /^(.*?)\{([^}]*)\}(.*)$/.exec(pattern);
  if (match === null) return [pattern];
  const [, before = '', choices = '', after = ''] = match;
  return choices.split(',').flatMap((choice) => expanded(before + choice + after));
}

/** Rows of a section in one line: how many there are, and how many a test covers. */
export function coverageTable(): string {
  const fields = coveredFields();
  const sections = [...new Set(fields.map(({ section }) => section))].sort((a, b) =>
    a.localeCompare(b, 'en', { numeric: true }),
  );
  const lines = sections.map((section) => {
    const own = fields.filter((field) => field.section === section);
    const covered = own.filter(({ tests }) => tests.length > 0).length;
    return `| ${section} | ${own.length} | ${covered} |`;
  });
  const all = fields.filter(({ tests }) => tests.length > 0).length;
  const rows = fields.map(({ section, path, type, tests }) => {
    const shown = tests.map((test) => `\`test/${test}\``).join(', ');
    return `| ${section} | \`${path}\` | ${type} | ${shown === '' ? '**none yet**' : shown} |`;
  });
  return [
    '| Section | Rows | With a behaviour test |',
    '| --- | --- | --- |',
    ...lines,
    `| all | ${fields.length} | ${all} |`,
    '',
    '| Section | Field | Type | Behaviour test |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}
