/**
 * Report of a run of patches: for each patch its matches, the values before and after, or the
 * reason why nothing happened. Plain data, the same in the API, on the command line and in
 * previews.
 */
import type { JsonObject, JsonValue } from '../apimachinery/index.ts';

/** Forward: from the tenant cluster to the control-plane cluster. */
export type Direction = 'forward' | 'reverse';

export interface PatchOutcome {
  /** The patched object, keys sorted. Undefined: a patch failed, so nothing may be written. */
  readonly object: JsonObject | undefined;
  readonly report: PatchReport;
}

export interface PatchReport {
  readonly direction: Direction;
  /** One for each patch, in the order in which they ran. */
  readonly patches: readonly PatchRun[];
  readonly durationMs: number;
  /** Of the budget of the object: see `Limits.fuel`. The same in every run. */
  readonly fuel: number;
  /** Reason for a missing object: the failure of one patch, or of the whole run. */
  readonly failure?: PatchFailure;
}

export interface PatchRun {
  /** Position in the list of patches, from 0. */
  readonly patch: number;
  /** As it is written. */
  readonly path: string;
  readonly mode: 'expression' | 'reference' | 'labels';
  readonly status: 'applied' | 'unchanged' | 'skipped' | 'failed';
  /** Set when it was skipped: why. */
  readonly skipped?: SkipReason;
  readonly matches: readonly PatchMatch[];
  /** Number of further matches, for which the report has no room. Absent: none. */
  readonly unlisted?: number;
  /** Branches that ended before the path did. */
  readonly missed: number;
  readonly durationMs: number;
  /** Part of the budget that its expression took. Absent: none. */
  readonly fuel?: number;
  readonly failure?: PatchFailure;
}

export type SkipReason =
  | 'no-match'
  | 'no-expression'
  | 'no-reverse-expression'
  | 'earlier-patch-failed';

export interface PatchMatch {
  /** The place that matched, as `context.path` has it. Empty: the whole object. */
  readonly path: string;
  readonly change: 'changed' | 'unchanged' | 'deleted';
  /** Both absent where the request asked for no values; `after` also where it was deleted. */
  readonly before?: JsonValue;
  readonly after?: JsonValue;
  /** Reason why a matched value was not changed. */
  readonly note?: string;
}

export type FailureReason =
  /** The expression threw. */
  | 'exception'
  /** It does not compile. */
  | 'syntax'
  /** The expression returned a value that is not JSON, or that the object may not hold there. */
  | 'result'
  /** A limit was reached. */
  | 'fuel'
  | 'time'
  | 'memory'
  | 'stack'
  | 'output'
  | 'matches'
  /** The sandbox broke; it was replaced. */
  | 'crash';

export interface PatchFailure {
  readonly reason: FailureReason;
  readonly message: string;
  /** Position in the list of patches; absent when it is not known which of them ran. */
  readonly patch?: number;
  /** The place whose value was being evaluated. */
  readonly path?: string;
  /** Inside the expression, both from 1. */
  readonly line?: number;
  readonly col?: number;
}

/** One line for events, conditions and logs: holds no value of the object. */
export function describeFailure({ message, patch, path, line, col }: PatchFailure): string {
  const where = patch === undefined ? 'patches' : `patches[${patch}]`;
  const place = line === undefined ? where : `${where}:${line}:${col ?? 1}`;
  const at = path === undefined || path === '' ? '' : ` (at ${path})`;
  return `${place}: ${message}${at}`;
}
