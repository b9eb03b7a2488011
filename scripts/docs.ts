/**
 * What is written twice because the code says it: tables of fields, options, metrics and layers in
 * the documentation, and the types of the configuration. A table stands between
 * `<!-- generated: <what> <of what> -->` and `<!-- end -->`.
 *
 * `npx tsx scripts/docs.ts` writes them; test/docs/generated.test.ts fails when one is out of date.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMMANDS } from '../src/commands.ts';
import { configTypes, SECTIONS_FOLDER } from './config-types.ts';
import { coverageTable, ruleTable } from './coverage.ts';
import { fieldTable } from './field-table.ts';
import { columnTable, factTable, kindTable } from './kind-tables.ts';
import { layerTable } from './layer-table.ts';
import { table } from './markdown-table.ts';
import { metricTable } from './metric-table.ts';

const ROOT = join(import.meta.dirname, '..');

/** What can stand between the marks, by the first word behind `generated:`. */
const GENERATORS: Readonly<Record<string, (subject: string) => string>> = {
  options: optionTable,
  kinds: kindTable,
  facts: factTable,
  columns: columnTable,
  fields: fieldTable,
  metrics: metricTable,
  layers: layerTable,
  coverage: coverageTable,
  rules: ruleTable,
};

const MARKED = /<!-- generated: (\w+) ?(\S*) -->\n[\s\S]*?<!-- end -->/g;

/** The text of a page with every marked part made anew. Throws for a mark nobody knows. */
export function renderPage(text: string): string {
  return text.replaceAll(MARKED, (_old, what: string, subject: string) => {
    const generate = GENERATORS[what];
    if (generate === undefined) throw new Error(`Nobody generates "${what}"`);
    return `<!-- generated: ${`${what} ${subject}`.trim()} -->\n${generate(subject)}\n<!-- end -->`;
  });
}

/** Every page of the documentation, relative to the root of the repository. */
export function documentationPages(): string[] {
  const top = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const below = ['docs', 'examples'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  );
  return [...top, ...below].sort();
}

function optionTable(command: string): string {
  const rows = (COMMANDS[command]?.options ?? []).map(
    ({ name, value, default: fallback, help }) => [
      `\`--${name}${value === undefined ? '' : ` ${value}`}\``,
      fallback === undefined ? '' : `\`${fallback}\``,
      help,
    ],
  );
  return table(['Option', 'Default', 'What it is'], rows);
}

function main(): void {
  for (const page of documentationPages()) rewrite(page, renderPage(textOf(page)));
  const types = configTypes();
  for (const [file, text] of types) rewrite(file, text);
  for (const name of readdirSync(join(ROOT, SECTIONS_FOLDER))) {
    const file = `${SECTIONS_FOLDER}/${name}`;
    if (!types.has(file)) rmSync(join(ROOT, file));
  }
}

function rewrite(name: string, text: string): void {
  if (text === textOf(name)) return;
  mkdirSync(dirname(join(ROOT, name)), { recursive: true });
  writeFileSync(join(ROOT, name), text);
  process.stdout.write(`${name}\n`);
}

/** Empty where there is no such file. */
function textOf(name: string): string {
  const file = join(ROOT, name);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
