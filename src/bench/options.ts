/** What `gitplane bench` was told, checked. */
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { type ParsedOptions, UsageError } from '../options.ts';
import { ROWS } from './rows.ts';

export interface BenchOptions {
  readonly manifests: number;
  readonly repetitions: number;
  readonly rows: readonly string[];
  readonly format: 'text' | 'json';
  readonly profile: string | undefined;
}

/** Throws UsageError. */
export function readBenchOptions(options: ParsedOptions): BenchOptions {
  const format = options.required('format');
  if (format !== 'text' && format !== 'json') {
    throw new UsageError(`Cannot use --format "${format}": use text or json`);
  }
  const profile = options.text('profile');
  if (profile !== undefined) mkdirSync(profile, { recursive: true });
  return {
    manifests: count(options, 'manifests', { least: 100, most: 100_000 }),
    repetitions: count(options, 'repetitions', { least: 1, most: 99 }),
    rows: readRows(options.required('rows')),
    format,
    profile: profile === undefined ? undefined : resolve(profile),
  };
}

function count(
  options: ParsedOptions,
  name: string,
  { least, most }: { least: number; most: number },
): number {
  const text = options.required(name);
  const number = Number(text);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  throw new UsageError(`Cannot use --${name} "${text}": use a number from ${least} to ${most}`);
}

function readRows(text: string): string[] {
  if (text === 'all') return [...ROWS.keys()];
  const names = text.split(',');
  const unknown = names.find((name) => !ROWS.has(name));
  if (unknown === undefined) return names;
  const known = [...ROWS.keys()].join(', ');
  throw new UsageError(`Unknown row "${unknown}": use all, or some of ${known}`);
}
