/** Matches of a path in a value. A step without a match is a miss, never an error. */
import { isRecord } from '../../apimachinery/index.ts';
import type { Path, Place } from './path.ts';

export interface Matches {
  /** Map keys in sorted order, list elements in theirs. */
  readonly places: readonly Place[];
  /** Branches that ended before the path did. */
  readonly missed: number;
  /** Values that were examined. */
  readonly visited: number;
}

/** Places of one path that are looked at; an object with more is a mistake. */
export const MOST_MATCHES = 10_000;
/** Values that one path leads past, its misses included. */
const MOST_VISITED = 100_000;

export class TooManyMatchesError extends Error {}

/** Throws TooManyMatchesError. */
export function matchPath(root: unknown, path: Path): Matches {
  const search: Search = { path, places: [], missed: 0, visited: 0 };
  descend(search, root, []);
  return search;
}

interface Search {
  readonly path: Path;
  readonly places: Place[];
  missed: number;
  visited: number;
}

function descend(search: Search, value: unknown, place: Place): void {
  if (++search.visited > MOST_VISITED) {
    throw new TooManyMatchesError(`the path leads past more than ${MOST_VISITED} values`);
  }
  const segment = search.path[place.length];
  if (segment === undefined) {
    if (search.places.length >= MOST_MATCHES) {
      throw new TooManyMatchesError(`the path matches more than ${MOST_MATCHES} places`);
    }
    search.places.push(place);
    return;
  }
  if ('key' in segment) {
    const step = stepInto(value, segment.key);
    if (step === undefined) search.missed++;
    else descend(search, childAt(value, step), [...place, step]);
    return;
  }
  const steps = stepsInto(value);
  if (steps.length === 0) search.missed++;
  for (const step of steps) descend(search, childAt(value, step), [...place, step]);
}

function childAt(value: unknown, step: string | number): unknown {
  return (value as Record<string | number, unknown>)[step];
}

/** The one step that a key leads to: objects without a match are passed here again and again. */
function stepInto(value: unknown, key: string): string | number | undefined {
  if (!Array.isArray(value)) return isRecord(value) && Object.hasOwn(value, key) ? key : undefined;
  const index = /^\d+$/.test(key) ? Number(key) : -1;
  return index >= 0 && index < value.length ? index : undefined;
}

function stepsInto(value: unknown): Place {
  if (Array.isArray(value)) return value.map((_item, index) => index);
  return isRecord(value) ? Object.keys(value).sort() : [];
}
