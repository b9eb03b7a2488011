/** Building blocks of the classes of differences. */
import type { Asked } from '../api/target.ts';
import type { Verdict } from '../api/verdict.ts';
import type { Body } from './objects.ts';

export interface Pair {
  /** As the fuzz drew it, with names in braces in place of what each server chose itself. */
  readonly asked: Asked;
  readonly theirs: Verdict;
  readonly ours: Verdict;
}

export interface Class {
  readonly heading: string;
  /** The pair without the difference of this class; the pair itself where it has none. */
  settle(pair: Pair): Pair;
}

export type Test = (pair: Pair) => boolean;

export const isSame = ({ theirs, ours }: Pair): boolean =>
  JSON.stringify(theirs) === JSON.stringify(ours);

/** A class of pairs whose answers have nothing in common to compare. */
export function whole(heading: string, is: Test): Class {
  return { heading, settle: (pair) => (is(pair) ? { ...pair, theirs: pair.ours } : pair) };
}

/** A class of pairs that differ in these parts of the body alone. `edit` may mutate its copy. */
export function part(
  heading: string,
  edit: (bodies: { theirs: Body; ours: Body }) => void,
  is: Test = () => true,
): Class {
  return {
    heading,
    settle: (pair) => {
      if (!is(pair)) return pair;
      const { theirs, ours } = pair;
      const bodies = structuredClone({ theirs: theirs.body, ours: ours.body });
      edit(bodies);
      return {
        ...pair,
        theirs: { ...theirs, body: bodies.theirs },
        ours: { ...ours, body: bodies.ours },
      };
    },
  };
}

export const all =
  (...tests: readonly Test[]): Test =>
  (pair) =>
    tests.every((test) => test(pair));

export const any =
  (...tests: readonly Test[]): Test =>
  (pair) =>
    tests.some((test) => test(pair));

/** Codes of Kubernetes and of gitplane, as regular expressions. */
export const codes =
  (theirs: RegExp, ours: RegExp): Test =>
  (pair) =>
    theirs.test(String(pair.theirs.code)) && ours.test(String(pair.ours.code));

export const method =
  (...names: readonly string[]): Test =>
  ({ asked }) =>
    names.includes(asked.method);

export const path =
  (pattern: RegExp): Test =>
  ({ asked }) =>
    pattern.test(asked.path);

export const accept =
  (pattern: RegExp): Test =>
  ({ asked }) =>
    pattern.test(asked.accept ?? '');

/** The text of Kubernetes' answer. */
export const theySay =
  (pattern: RegExp): Test =>
  ({ theirs }) =>
    pattern.test(JSON.stringify(theirs.body ?? ''));

export const weSay =
  (pattern: RegExp): Test =>
  ({ ours }) =>
    pattern.test(JSON.stringify(ours.body ?? ''));

export const sent =
  (pattern: RegExp): Test =>
  ({ asked: { body } }) =>
    pattern.test(typeof body === 'string' ? body : JSON.stringify(body ?? ''));

/** Calls `visit` for every object of a body and the objects in it. */
export function eachObject(body: Body, visit: (object: Body) => void): void {
  if (typeof body !== 'object' || body === null) return;
  if (!Array.isArray(body)) visit(body);
  for (const inner of Object.values(body)) eachObject(inner, visit);
}
