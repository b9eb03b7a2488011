/** Report of patches on an object as text: each step, then the diff of the whole object. */

import type { JsonObject } from '../apimachinery/index.ts';
import type {
  PatchFailure,
  PatchMatch,
  PatchOutcome,
  PatchRun,
  RoundTripDifference,
  SkipReason,
} from '../endpoint-patches/index.ts';
import { yamlDiff } from './yaml-diff.ts';

/** One object that was tried. */
export interface Trial {
  /** As in `Endpoints shop/web`. */
  readonly name: string;
  readonly before: JsonObject;
  readonly outcome: PatchOutcome;
  readonly differences: readonly RoundTripDifference[];
}

const LONGEST_VALUE = 120;
/** Matches of one patch that are shown one by one. */
const MOST_SHOWN = 20;

const SKIPPED: Readonly<Record<SkipReason, string>> = {
  'no-match': 'skipped, the path leads nowhere in this object',
  'no-expression': 'skipped, it has no expression for this direction',
  'no-reverse-expression': 'skipped, it has no reverseExpression',
  'earlier-patch-failed': 'not run, an earlier patch failed',
};

/** Without a newline at its end. */
export function formatTrial(trial: Trial): string {
  const { name, before, outcome, differences } = trial;
  const { report, object } = outcome;
  return [
    `${name}, ${report.direction === 'forward' ? 'to the control plane' : 'back to the tenant'}`,
    ...report.patches.flatMap(runLines),
    ...(report.failure === undefined ? [] : [`failed: ${failureText(report.failure)}`]),
    ...differences.map(differenceLine),
    ...(object === undefined ? ['nothing would be written'] : diffLines(before, object)),
  ].join('\n');
}

function diffLines(before: unknown, after: unknown): string[] {
  const lines = yamlDiff(before, after);
  return lines.length === 0 ? ['nothing changes'] : ['', ...lines];
}

function runLines(run: PatchRun): string[] {
  const shown = run.matches.slice(0, MOST_SHOWN).map((match) => `    ${matchLine(match)}`);
  const more = run.matches.length + (run.unlisted ?? 0) - shown.length;
  return [
    `  patches[${run.patch}] ${JSON.stringify(run.path)} (${run.mode}): ${statusText(run)}`,
    ...shown,
    ...(more > 0 ? [`    … and ${more} more`] : []),
  ];
}

function statusText(run: PatchRun): string {
  const { status, skipped, matches, missed, failure, unlisted = 0 } = run;
  if (skipped !== undefined) return SKIPPED[skipped];
  if (failure !== undefined) return `failed, ${failure.reason}`;
  const count = matches.length + unlisted;
  const places = `${count} ${count === 1 ? 'match' : 'matches'}`;
  const misses = missed === 0 ? '' : `, ${missed} without the field`;
  return `${status}, ${places}${misses}`;
}

function matchLine({ path, change, before, after, note }: PatchMatch): string {
  const place = path === '' ? 'the whole object' : path;
  const why = note === undefined ? '' : ` (${note})`;
  if (change === 'unchanged') return `${place}: stays ${valueText(before)}${why}`;
  if (change === 'deleted') return `${place}: ${valueText(before)} is deleted`;
  return `${place}: ${valueText(before)} → ${valueText(after)}`;
}

function differenceLine({
  patch,
  path,
  before,
  there,
  back,
  failure,
}: RoundTripDifference): string {
  const end = failure === undefined ? valueText(back) : `failed, ${failureText(failure)}`;
  const way = `${valueText(before)} → ${valueText(there)} → ${end}`;
  return `warning: patches[${patch}] does not come back: ${path}: ${way}`;
}

function failureText({ message, patch, path, line, col }: PatchFailure): string {
  const where = line === undefined ? '' : `, line ${line}, column ${col ?? 1} of the expression`;
  const which = patch === undefined ? '' : `patches[${patch}]${where}: `;
  return `${which}${message}${path === undefined || path === '' ? '' : ` (at ${path})`}`;
}

function valueText(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
