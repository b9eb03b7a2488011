/** Options of `npm run bench`; its operands are names of rows. */
import { mkdirSync } from 'node:fs';
import type { OptionSpec } from '../../src/options/option-spec.ts';
import { type ParsedOptions, UsageError } from '../../src/options/parse-options.ts';
import { readChoice, readNumber, readPath } from '../../src/options/values.ts';
import { ROWS } from './rows.ts';

export const BENCH_OPTIONS: readonly OptionSpec[] = [
  { name: 'manifests', value: 'N', default: '10000', help: 'manifests in the repository' },
  { name: 'rows', value: 'LIST', default: 'all', help: 'rows to measure, as in start,push' },
  { name: 'repetitions', value: 'N', default: '3', help: 'how often what varies is measured' },
  { name: 'format', value: 'FORMAT', default: 'text', help: 'text or json' },
  { name: 'profile', value: 'DIR', help: 'write CPU profiles of the daemons to this folder' },
];

export interface BenchOptions {
  readonly manifests: number;
  readonly repetitions: number;
  readonly rows: readonly string[];
  readonly format: 'text' | 'json';
  readonly profile: string | undefined;
}

/** Throws UsageError. */
export function readBenchOptions(options: ParsedOptions): BenchOptions {
  const profile = readPath(options, 'profile');
  if (profile !== undefined) mkdirSync(profile, { recursive: true });
  return {
    manifests: readNumber(options, 'manifests', { least: 100, most: 100_000 }),
    repetitions: readNumber(options, 'repetitions', { least: 1, most: 99 }),
    rows: readRows(options),
    format: readChoice(options, 'format', ['text', 'json']),
    profile,
  };
}

/** Rows are operands, or the value of `--rows`. */
function readRows(options: ParsedOptions): string[] {
  const { operands } = options;
  const text = options.required('rows');
  if (operands.length > 0 && text !== 'all') {
    throw new UsageError('Name the rows once: as operands, or with --rows');
  }
  if (operands.length === 0 && text === 'all') return [...ROWS.keys()];
  const names = operands.length > 0 ? [...operands] : text.split(',');
  const unknown = names.find((name) => !ROWS.has(name));
  if (unknown === undefined) return names;
  const known = [...ROWS.keys()].join(', ');
  throw new UsageError(`Unknown row "${unknown}": use all, or some of ${known}`);
}
