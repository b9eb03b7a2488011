/** The seam between running patches and whatever runs JavaScript. */
import type { JsonValue } from '../apimachinery/object.ts';
import type { Direction, FailureReason, PatchFailure } from './report.ts';

/** One expression on all the values that its path matched. */
export interface Evaluation {
  readonly patch: number;
  readonly direction: Direction;
  readonly values: readonly JsonValue[];
  /** `context.path` of each value. */
  readonly paths: readonly string[];
}

export interface Evaluator {
  /** A result for each value; undefined deletes. Throws EvaluationError. */
  evaluate(evaluation: Evaluation): readonly (JsonValue | undefined)[];
  /** Spent since the object began. */
  readonly fuel: number;
}

export class EvaluationError extends Error {
  readonly reason: FailureReason;
  readonly place: Pick<PatchFailure, 'path' | 'line' | 'col'>;

  constructor(
    reason: FailureReason,
    message: string,
    place: Pick<PatchFailure, 'path' | 'line' | 'col'> = {},
  ) {
    super(message);
    this.reason = reason;
    this.place = place;
  }
}
