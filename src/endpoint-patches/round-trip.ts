/**
 * Check that the reverse patches undo the forward patches. Two clusters with a pair that does not
 * would exchange values for ever, and neither expression alone shows that.
 */
import { type JsonValue, jsonEqual, valueAt } from '../apimachinery/index.ts';
import { sortedCopy } from './canonical.ts';
import type { PatchEngine } from './engine.ts';
import { formatPlace } from './paths/format.ts';
import { matchPath } from './paths/match.ts';
import { compilePatches, type PatchProgram } from './program.ts';
import type { PatchFailure } from './report.ts';
import { type ApplyRequest, REPORT_ROOM } from './run.ts';

export interface RoundTripDifference {
  /** Position in the list of patches, from 0. */
  readonly patch: number;
  /** The place whose value did not come back. */
  readonly path: string;
  readonly before: JsonValue;
  /** Absent where the value was deleted. */
  readonly there?: JsonValue;
  readonly back?: JsonValue;
  /** Set when the way back failed. */
  readonly failure?: PatchFailure;
}

/**
 * Tries each pair of expressions by itself, there and back, on one object of the tenant. One pair at a
 * time: a hostile one takes its full time limit. After `end` (of the monotonic clock) no pair begins.
 * Differences beyond `reportRoom` are left out.
 */
export async function roundTrip(
  engine: Pick<PatchEngine, 'apply'>,
  program: PatchProgram,
  request: Omit<ApplyRequest, 'direction'>,
  end = Number.POSITIVE_INFINITY,
): Promise<RoundTripDifference[]> {
  const pairs = program.source.patches
    .map((patch, index) => ({ patch, index }))
    .filter(({ patch }) => patch.expression !== undefined && patch.reverseExpression !== undefined);
  if (pairs.length === 0) return [];
  const object = sortedCopy(request.object);
  const differences: RoundTripDifference[] = [];
  let room = request.reportRoom ?? REPORT_ROOM;
  for (const { patch, index } of pairs) {
    if (performance.now() > end) break;
    const pair = compilePatches({ tenant: program.tenant, patches: [patch] });
    const of = { ...request, object, values: false };
    for (const one of await differencesOf(engine, { pair, index }, of)) {
      room -= JSON.stringify(one).length;
      if (room < 0) return differences;
      differences.push(one);
    }
  }
  return differences;
}

async function differencesOf(
  engine: Pick<PatchEngine, 'apply'>,
  { pair, index }: { pair: PatchProgram; index: number },
  request: Omit<ApplyRequest, 'direction'>,
): Promise<RoundTripDifference[]> {
  const { object } = request;
  const there = await engine.apply(pair, { ...request, object, direction: 'forward' });
  // The run itself reports a failure of the forward direction.
  if (there.object === undefined) return [];
  const way = { ...request, object: there.object, direction: 'reverse' as const };
  const back = await engine.apply(pair, way);
  const path = pair.patches[0]?.path ?? [];
  return matchPath(object, path).places.flatMap((place) => {
    const before = valueAt(object, place) ?? null;
    const values = {
      there: valueAt(there.object, place),
      back: valueAt(back.object, place),
    };
    if (back.object !== undefined && jsonEqual(before, values.back)) return [];
    const { failure } = back.report;
    const known = Object.fromEntries(
      Object.entries(values).filter(([, value]) => value !== undefined),
    );
    const why = failure === undefined ? {} : { failure: { ...failure, patch: index } };
    return [{ patch: index, path: formatPlace(place), before, ...known, ...why }];
  });
}
