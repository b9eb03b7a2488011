/** Where a path leads in a value. A step that leads nowhere is a miss, never an error. */
import { isRecord } from '../../apimachinery/object.ts';
import type { Path, Place, Segment } from './path.ts';

export interface Matches {
  /** Map keys in sorted order, list elements in theirs. */
  readonly places: readonly Place[];
  /** Branches that ended before the path did. */
  readonly missed: number;
}

/** Places of one path that are looked at; an object with more is a mistake. */
export const MOST_MATCHES = 10_000;

export class TooManyMatchesError extends Error {}

/** Throws TooManyMatchesError. */
export function matchPath(root: unknown, path: Path): Matches {
  const search = { path, places: [] as Place[], missed: 0 };
  descend(search, root, []);
  return search;
}

interface Search {
  readonly path: Path;
  readonly places: Place[];
  missed: number;
}

function descend(search: Search, value: unknown, place: Place): void {
  const segment = search.path[place.length];
  if (segment === undefined) {
    if (search.places.length >= MOST_MATCHES) {
      throw new TooManyMatchesError(`the path matches more than ${MOST_MATCHES} places`);
    }
    search.places.push(place);
    return;
  }
  const steps = stepsInto(value, segment);
  if (steps.length === 0) search.missed++;
  for (const step of steps) {
    descend(search, (value as Record<string | number, unknown>)[step], [...place, step]);
  }
}

function stepsInto(value: unknown, segment: Segment): Place {
  if (Array.isArray(value)) {
    if ('wildcard' in segment) return value.map((_item, index) => index);
    const index = /^\d+$/.test(segment.key) ? Number(segment.key) : -1;
    return index >= 0 && index < value.length ? [index] : [];
  }
  if (!isRecord(value)) return [];
  if ('wildcard' in segment) return Object.keys(value).sort();
  return Object.hasOwn(value, segment.key) ? [segment.key] : [];
}
