/**
 * Syntax check of a text as one JavaScript expression, without running it. V8's parser does it on
 * each push: it needs no preparation and takes linear time. The sandbox compiles the text again
 * before it runs.
 */
import { Script } from 'node:vm';

export interface ExpressionProblem {
  readonly message: string;
  /** Inside the expression, both from 1; columns count characters. */
  readonly line: number;
  readonly col: number;
}

/** An expression is looked at whole, on every push: more than this is a program. */
export const LONGEST_EXPRESSION = 32_768;

/**
 * Head of the function whose body is the expression. The lines of the expression begin on line 2.
 */
export const HEAD = '(value, valueExists, context) => (\n';
export const TAIL = '\n)';

/** `value;` is meant as `value`: semicolons at the end do no harm. */
export function expressionBody(text: string): string {
  return text.replace(/[\s;]+$/, '');
}

/** Undefined when there is nothing wrong. */
export function expressionProblem(text: string): ExpressionProblem | undefined {
  if (text.length > LONGEST_EXPRESSION) {
    const message = `an expression may not be longer than ${LONGEST_EXPRESSION} characters`;
    return { message, line: 1, col: 1 };
  }
  const body = expressionBody(text);
  if (body === '') return { message: 'the expression is empty', line: 1, col: 1 };
  // Only what stands in parentheses and in brackets is one expression: `a) + (b` is not. What is
  // wrong at the end of the one, as a bracket that closes too much, is at its place in the other.
  const problem = problemIn(HEAD, body, TAIL);
  if (problem !== undefined && problem.message !== TOO_SHORT) return problem;
  return problemIn('() => [\n', body, '\n]') ?? problem;
}

const TOO_SHORT = 'unexpected end of the expression';

function problemIn(head: string, body: string, tail: string): ExpressionProblem | undefined {
  try {
    new Script(`${head}${body}${tail}`, { filename: 'expression' });
    return undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return locate(error, body);
  }
}

/** V8 shows the place: the line number, the line, and a line with carets below it. */
function locate(error: SyntaxError, body: string): ExpressionProblem {
  const [where = '', , carets = ''] = (error.stack ?? '').split('\n');
  const line = Number(/:(\d+)$/.exec(where)?.[1] ?? 2) - 1;
  const source = body.split('\n')[line - 1];
  if (source === undefined) return { message: TOO_SHORT, ...endOf(body) };
  const before = source.slice(0, Math.max(0, carets.indexOf('^')));
  return { message: error.message, line, col: [...before].length + 1 };
}

function endOf(body: string): { line: number; col: number } {
  const lines = body.split('\n');
  return { line: lines.length, col: [...(lines.at(-1) ?? '')].length + 1 };
}
