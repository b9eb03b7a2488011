/**
 * Classes of differences of the fuzz, by the heading of docs/api-differences.md that gives the reason.
 * A class takes its own difference out of both answers. A pair is explained once nothing is left.
 */
import type { Verdict } from '../api/verdict.ts';
import { ANSWER_CLASSES } from './answer-classes.ts';
import { type Class, isSame, type Pair } from './class.ts';
import { REQUEST_CLASSES } from './request-classes.ts';

export const CLASSES: readonly Class[] = [...REQUEST_CLASSES, ...ANSWER_CLASSES];

export interface Explained {
  readonly headings: readonly string[];
  /** Undefined: nothing is left. */
  readonly rest: Pair | undefined;
}

export function explain(pair: Pair): Explained {
  let rest = pair;
  const headings: string[] = [];
  for (const { heading, settle } of CLASSES) {
    if (isSame(rest)) break;
    const settled = settle(rest);
    if (!sameAs(settled, rest)) headings.push(heading);
    rest = settled;
  }
  return { headings: [...new Set(headings)], rest: isSame(rest) ? undefined : rest };
}

function sameAs(one: Pair, other: Pair): boolean {
  const text = ({ theirs, ours }: Pair): string =>
    JSON.stringify([theirs, ours] satisfies Verdict[]);
  return text(one) === text(other);
}
