/**
 * Generator of documentation that follows from code: tables of fields, options, metrics and layers,
 * and the types of the configuration. A table stands between `<!-- generated: <generator> <subject> -->`
 * and `<!-- end -->`.
 *
 * `npx tsx scripts/docs.ts` writes them; test/docs/generated.test.ts fails when one is out of date.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMMAND_TABLE, isCommandName } from '../src/options/command-table.ts';
import { describeOption, type OptionSpec } from '../src/options/option-spec.ts';
import { API_TYPES_FILE, apiTypes } from './api-types.ts';
import { cliReference } from './cli-reference.ts';
import { configTypes, SECTIONS_FOLDER } from './config-types.ts';
import { coverageTable, ruleTable } from './coverage.ts';
import { equivalentMutantTable } from './equivalent-mutants.ts';
import { fieldTable } from './field-table.ts';
import { columnTable, factTable, kindTable } from './kind-tables.ts';
import { layerTable } from './layer-table.ts';
import { table } from './markdown-table.ts';
import { metricTable } from './metric-table.ts';

const ROOT = join(import.meta.dirname, '..');

/** Generators by the first word behind `generated:`. */
const GENERATORS: Readonly<Record<string, (subject: string) => string>> = {
  options: optionTable,
  commands: commandList,
  cli: cliReference,
  kinds: kindTable,
  facts: factTable,
  columns: columnTable,
  fields: fieldTable,
  metrics: metricTable,
  layers: layerTable,
  coverage: coverageTable,
  rules: ruleTable,
  mutants: equivalentMutantTable,
};

const MARKED = /<!-- generated: (\w+) ?(\S*) -->\n[\s\S]*?<!-- end -->/g;

/** The text of a page with every marked part generated. Throws for an unknown generator. */
export function renderPage(text: string): string {
  return text.replaceAll(MARKED, (_old, what: string, subject: string) => {
    const generate = GENERATORS[what];
    if (generate === undefined) throw new Error(`No generator "${what}"`);
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

/** Options of a command; `serve:repo,branch` shows these alone. */
function optionTable(subject: string): string {
  const [command = '', chosen] = subject.split(':');
  const names = chosen?.split(',');
  const rows = optionsNamed(command)
    .filter(({ name }) => names?.includes(name) ?? true)
    .map(({ default: fallback, ...spec }) => [
      `\`${flagsOf(spec)}\``,
      fallback === undefined ? '' : `\`${fallback}\``,
      describeOption(spec),
    ]);
  if (names !== undefined && rows.length !== names.length) {
    throw new Error(`${command} has not all of ${chosen}`);
  }
  return table(['Option', 'Default', 'Meaning'], rows);
}

function optionsNamed(command: string): readonly OptionSpec[] {
  return isCommandName(command) ? COMMAND_TABLE[command].options : [];
}

function flagsOf({ name, short, value }: OptionSpec): string {
  const flag = `--${name}${value === undefined ? '' : ` ${value}`}`;
  return short === undefined ? flag : `-${short}, ${flag}`;
}

/** Every command with its options. */
function commandList(): string {
  return Object.entries(COMMAND_TABLE)
    .map(([name, { summary, options }]) =>
      [`## gitplane ${name}`, sentence(summary), options.length > 0 ? optionTable(name) : '']
        .filter((part) => part !== '')
        .join('\n\n'),
    )
    .join('\n\n');
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function main(): void {
  for (const page of documentationPages()) rewrite(page, renderPage(textOf(page)));
  const types = configTypes();
  for (const [file, text] of types) rewrite(file, text);
  rewrite(API_TYPES_FILE, apiTypes());
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
