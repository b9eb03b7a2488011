/** Runs the patches of a tenant on one object, in list order: each sees what the last one left. */
import {
  isRecord,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  valueAt,
} from '../apimachinery/index.ts';
import { sortedCopy } from './canonical.ts';
import { EvaluationError, type Evaluator } from './evaluator.ts';
import { labelsToHost, labelsToTenant } from './labels.ts';
import { formatPlace } from './paths/format.ts';
import { type Matches, matchPath, TooManyMatchesError } from './paths/match.ts';
import type { Place } from './paths/path.ts';
import { type Replacement, writePlaces } from './paths/write.ts';
import type { CompiledPatch, PatchProgram } from './program.ts';
import { type KnownObject, referenceToHost, referenceToTenant } from './references.ts';
import type {
  Direction,
  PatchFailure,
  PatchMatch,
  PatchOutcome,
  PatchRun,
  SkipReason,
} from './report.ts';

export interface ApplyRequest {
  /** Object to patch. It is not changed. */
  readonly object: JsonObject;
  readonly direction: Direction;
  /** For `context.virtualObject` and `context.hostObject`: both ends as they are now. */
  readonly virtualObject?: JsonObject | null;
  readonly hostObject?: JsonObject | null;
  /** Tenant objects that references may lead back to; only the way back asks for them. */
  readonly known?: readonly KnownObject[];
  /** True if the report includes the values before and after. Default true. */
  readonly values?: boolean;
  /** Characters of JSON that the matches in the report may take together. Default 1 MiB. */
  readonly reportRoom?: number;
}

/** A preview shows no more. */
export const REPORT_ROOM = 1024 * 1024;

export function runPatches(
  program: PatchProgram,
  request: ApplyRequest,
  evaluator: Evaluator,
): PatchOutcome {
  const run = new Run(program, request, evaluator);
  return run.outcome();
}

class Run {
  readonly #program: PatchProgram;
  readonly #request: ApplyRequest;
  readonly #evaluator: Evaluator;
  readonly #identity: readonly JsonValue[];
  /** Characters that are left for matches in the report. */
  #room: number;
  /** The object as the patches so far have left it; once it is copied, with sorted keys. */
  #object: JsonObject;
  /** The request's object is its owner's; it is copied when the first patch matches. */
  #copied = false;

  constructor(program: PatchProgram, request: ApplyRequest, evaluator: Evaluator) {
    this.#program = program;
    this.#request = request;
    this.#evaluator = evaluator;
    this.#room = request.reportRoom ?? REPORT_ROOM;
    this.#object = request.object;
    this.#identity = identityOf(request.object);
  }

  outcome(): PatchOutcome {
    const start = performance.now();
    const { direction } = this.#request;
    const runs: PatchRun[] = [];
    let failure: PatchFailure | undefined;
    for (const patch of this.#program.patches) {
      const run =
        failure === undefined
          ? this.#timed(patch)
          : skipped(patch, 'earlier-patch-failed', { missed: 0, start: performance.now() });
      failure ??= run.failure;
      runs.push(run);
    }
    const report = {
      direction,
      patches: runs,
      durationMs: performance.now() - start,
      fuel: this.#evaluator.fuel,
      ...(failure === undefined ? {} : { failure }),
    };
    return { object: failure === undefined ? this.#object : undefined, report };
  }

  #timed(patch: CompiledPatch): PatchRun {
    const start = performance.now();
    const reason = this.#reasonToSkip(patch);
    if (reason !== undefined) return skipped(patch, reason, { missed: 0, start });
    const before = this.#evaluator.fuel;
    const run = this.#guarded(patch, start);
    if (run.status === 'skipped') return run;
    const fuel = this.#evaluator.fuel - before;
    return { ...run, durationMs: performance.now() - start, ...(fuel > 0 ? { fuel } : {}) };
  }

  #guarded(patch: CompiledPatch, start: number): PatchRun {
    let missed = 0;
    try {
      const matches = matchPath(this.#object, patch.path);
      missed = matches.missed;
      this.#evaluator.spend?.(matches.visited + matches.places.length * this.#costOf(patch));
      if (matches.places.length === 0) return skipped(patch, 'no-match', { missed, start });
      return this.#apply(patch, matches);
    } catch (error) {
      const failure = { ...failureOf(error), patch: patch.index };
      const { index, text, mode } = patch;
      const run = { patch: index, path: text, mode, status: 'failed' as const, matches: [] };
      return { ...run, missed, durationMs: 0, failure };
    }
  }

  #reasonToSkip(patch: CompiledPatch): SkipReason | undefined {
    const { direction } = this.#request;
    if (patch.mode !== 'expression' || patch.expressions[direction] !== undefined) return undefined;
    return direction === 'forward' ? 'no-expression' : 'no-reverse-expression';
  }

  #apply(patch: CompiledPatch, { places, missed }: Matches): PatchRun {
    if (patch.mode === 'expression') this.#evaluator.ready?.();
    if (!this.#copied) this.#object = sortedCopy(this.#object);
    this.#copied = true;
    const before = places.map((place) => valueAt(this.#object, place) ?? null);
    const results = this.#results(patch, places, before);
    const { matches, unlisted, changed } = this.#report(places, before, results);
    this.#write(places.map((place, i) => ({ place, value: results[i]?.value })));
    return {
      patch: patch.index,
      path: patch.text,
      mode: patch.mode,
      status: changed ? 'applied' : 'unchanged',
      matches,
      ...(unlisted > 0 ? { unlisted } : {}),
      missed,
      durationMs: 0,
    };
  }

  #results(
    patch: CompiledPatch,
    places: readonly Place[],
    before: readonly JsonValue[],
  ): readonly Result[] {
    if (patch.mode === 'reference') return before.map((value) => this.#reference(patch, value));
    if (patch.mode === 'labels') return before.map((value) => this.#labels(value));
    const { direction } = this.#request;
    const paths = places.map(formatPlace);
    const evaluation = { patch: patch.index, direction, values: before, paths };
    const results = this.#evaluator.evaluate(evaluation);
    return results.map((value) => ({ value: sortedOrNothing(value) }));
  }

  #reference(patch: CompiledPatch, value: JsonValue): Result {
    const { direction, known = [] } = this.#request;
    const { tenant } = this.#program;
    const context = { tenant, namespace: this.#namespace(), known };
    if (patch.reference === undefined) return { value };
    const rewrite = direction === 'forward' ? referenceToHost : referenceToTenant;
    return rewrite(sortedCopy(value), patch.reference, context);
  }

  #labels(value: JsonValue): Result {
    const owner = { tenant: this.#program.tenant.name, namespace: this.#namespace() };
    const forward = this.#request.direction === 'forward';
    const labels = forward ? labelsToHost(value, owner) : labelsToTenant(value, owner);
    return labels === undefined
      ? { value, skipped: 'neither a map of labels nor a selector' }
      : { value: sortedCopy(labels) };
  }

  /** Of the object in the tenant cluster; what is patched may have that of the other end already. */
  #namespace(): string {
    const { virtualObject, object } = this.#request;
    const namespace = valueAt(virtualObject ?? object, ['metadata', 'namespace']);
    return typeof namespace === 'string' ? namespace : 'default';
  }

  /** Work at one match, as a multiple of a step to a value. */
  #costOf({ mode }: CompiledPatch): number {
    const { direction, known = [] } = this.#request;
    if (mode === 'reference') return MATCH_COST * (direction === 'reverse' ? known.length + 1 : 1);
    return mode === 'labels' ? MATCH_COST : 1;
  }

  /** The matches that the report has room for. */
  #report(
    places: readonly Place[],
    before: readonly JsonValue[],
    results: readonly Result[],
  ): { matches: PatchMatch[]; unlisted: number; changed: boolean } {
    const matches: PatchMatch[] = [];
    let changed = false;
    for (const [i, value] of before.entries()) {
      const change = changeOf(value, results[i]?.value);
      changed ||= change !== 'unchanged';
      if (this.#room <= 0) continue;
      const match = this.#matchOf(formatPlace(places[i] ?? []), { value, change }, results[i]);
      if (this.#fits(match)) matches.push(match);
    }
    return { matches, unlisted: before.length - matches.length, changed };
  }

  #fits(match: PatchMatch): boolean {
    this.#room -= JSON.stringify(match).length;
    return this.#room >= 0;
  }

  #matchOf(
    path: string,
    { value: before, change }: { value: JsonValue; change: PatchMatch['change'] },
    result: Result | undefined,
  ): PatchMatch {
    const after = result?.value;
    const note = result?.skipped === undefined ? {} : { note: result.skipped };
    if (this.#request.values === false) return { path, change, ...note };
    // Copies, since later patches may change what this one leaves in place.
    const left = after === undefined ? {} : { after: sortedCopy(after) };
    return { path, change, before: sortedCopy(before), ...left, ...note };
  }

  #write(replacements: readonly Replacement[]): void {
    const [first] = replacements;
    if (first?.place.length === 0) this.#object = wholeObject(first.value);
    else writePlaces(this.#object, replacements);
    const now = identityOf(this.#object);
    const broken = IDENTITY.findIndex((_path, i) => !jsonEqual(now[i], this.#identity[i]));
    if (broken < 0) return;
    throw new EvaluationError(`${IDENTITY[broken]?.join('.')} may not change`, {
      reason: 'result',
    });
  }
}

/** A match of these modes copies and hashes. */
const MATCH_COST = 10;

function changeOf(before: JsonValue, after: JsonValue | undefined): PatchMatch['change'] {
  if (after === undefined) return 'deleted';
  return jsonEqual(before, after) ? 'unchanged' : 'changed';
}

interface Result {
  readonly value: JsonValue | undefined;
  readonly skipped?: string;
}

/** Null deletes as undefined does. Sorted, as is everything that the object holds. */
function sortedOrNothing(value: JsonValue | undefined): JsonValue | undefined {
  return value === undefined || value === null ? undefined : sortedCopy(value);
}

/** Fields that identify the object; patches cannot change them. */
const IDENTITY = [['apiVersion'], ['kind'], ['metadata', 'name'], ['metadata', 'namespace']];

function identityOf(object: JsonObject): readonly JsonValue[] {
  return IDENTITY.map((path) => valueAt(object, path) ?? null);
}

function wholeObject(value: JsonValue | undefined): JsonObject {
  if (isRecord(value)) return value;
  throw new EvaluationError('the whole object can only become an object', { reason: 'result' });
}

/**
 * Report of a patch without effect. It is the most frequent result, so one object literal creates
 * it.
 */
function skipped(
  patch: CompiledPatch,
  reason: SkipReason,
  { missed, start }: { missed: number; start: number },
): PatchRun {
  return {
    patch: patch.index,
    path: patch.text,
    mode: patch.mode,
    status: 'skipped',
    skipped: reason,
    matches: [],
    missed,
    durationMs: performance.now() - start,
  };
}

function failureOf(error: unknown): PatchFailure {
  if (error instanceof EvaluationError) return error.failure;
  if (error instanceof TooManyMatchesError) return { reason: 'matches', message: error.message };
  throw error;
}
