/** The seam between running patches and whatever runs JavaScript. */
import type { JsonValue } from '../apimachinery/index.ts';
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
  /** Asked before anything is prepared for an expression; may throw. */
  ready?(): void;
  /** Called with the steps to values that a patch takes, before it is applied; may throw. */
  spend?(steps: number): void;
  /** A result for each value; null and undefined delete. Throws EvaluationError. */
  evaluate(evaluation: Evaluation): readonly (JsonValue | undefined)[];
  /** Spent since the object began. */
  readonly fuel: number;
}

export interface EvaluationErrorDetails extends Pick<PatchFailure, 'path' | 'line' | 'col'> {
  readonly reason: FailureReason;
  readonly cause?: unknown;
}

export class EvaluationError extends Error {
  readonly failure: PatchFailure;

  constructor(message: string, { cause, ...where }: EvaluationErrorDetails) {
    super(message, cause === undefined ? {} : { cause });
    this.failure = { message, ...where };
  }
}
