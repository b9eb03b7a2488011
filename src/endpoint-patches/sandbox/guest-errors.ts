/** Errors of the engine, translated to words and places that the author of an expression knows. */
import { EvaluationError } from '../evaluator.ts';
import type { FailureReason, PatchFailure } from '../report.ts';

/** Messages of the engine at a limit, with their reason and their meaning. */
const LIMITS: readonly (readonly [RegExp, FailureReason, string])[] = [
  [/: out of memory$/, 'memory', 'the expression needs more memory than it may use'],
  [
    /: (stack overflow|Maximum call stack size exceeded)$/,
    'stack',
    'the expression calls itself too deeply',
  ],
];
const NO_RESULT = /which is no JSON$|^TypeError: (the result is a promise|circular reference)/;

/** An error as the engine reports it. */
export interface GuestError {
  readonly message: string;
  readonly stack: string;
  /** The script that threw. */
  readonly file: string;
  readonly body: string;
  /** The place whose value was being evaluated. */
  readonly path?: string | undefined;
}

/** `otherwise`: the reason when it is neither a limit nor the result. */
export function failureOf(error: GuestError, otherwise: FailureReason): EvaluationError {
  const { message, path } = error;
  const limit = LIMITS.find(([words]) => words.test(message));
  const reason = NO_RESULT.test(message) ? 'result' : otherwise;
  const place = path === undefined ? placeOf(error) : { path, ...placeOf(error) };
  return new EvaluationError(limit?.[2] ?? message, { reason: limit?.[1] ?? reason, ...place });
}

/** The first frame inside of the expression; its lines begin below the line that is put before it. */
function placeOf({ stack, file, body }: GuestError): Pick<PatchFailure, 'line' | 'col'> {
  for (const frame of stack.split('\n')) {
    const match = /\(?([^\s(]+):(\d+):(\d+)\)?$/.exec(frame);
    if (match?.[1] !== file) continue;
    const line = Number(match[2]) - 1;
    const lines = body.split('\n');
    if (line > lines.length) return { line: lines.length, col: (lines.at(-1) ?? '').length + 1 };
    return { line, col: Number(match[3]) };
  }
  return {};
}
