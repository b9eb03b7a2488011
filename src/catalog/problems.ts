/** Problems of the files of a catalog, alone and together. */
import {
  describeKey,
  KeyMap,
  type ObjectKey,
  shownPath,
  sortInSteps,
} from '../apimachinery/index.ts';
import type { Problem } from '../manifests/index.ts';
import type { Contents } from './contents.ts';
import { collisionKey } from './footprint.ts';

/** Every problem of every file, duplicates included, by path and line. */
export function* allProblems(contents: Contents): Generator<void, Problem[]> {
  const found: Problem[] = [];
  for (const file of contents.files.values()) {
    yield;
    for (const document of file.documents)
      for (const problem of document.problems) found.push(problem);
  }
  for (const key of contents.disputed()) yield* addDuplicates(found, contents, key);
  for (const problem of contents.cases.problems((path) => contents.files.has(path)))
    found.push(problem);
  return yield* sortProblems(found);
}

/** Problems of the named files, and duplicates that involve them. */
export function* problemsOf(
  contents: Contents,
  paths: Iterable<string>,
): Generator<void, Problem[]> {
  const { files, cases } = contents;
  const found: Problem[] = [];
  const keys = new KeyMap<ObjectKey>();
  const folds = new Set<string>();
  for (const path of paths) {
    yield;
    if (!files.has(path)) continue;
    folds.add(collisionKey(path));
    for (const { key, problems } of files.get(path)?.documents ?? []) {
      for (const problem of problems) found.push(problem);
      if (key !== undefined) keys.set(key, key);
    }
  }
  for (const fold of folds) {
    yield;
    for (const problem of cases.problemsOf(fold, (path) => files.has(path))) found.push(problem);
  }
  for (const key of keys.values()) {
    yield;
    yield* addDuplicates(found, contents, key);
  }
  return yield* sortProblems(found);
}

/** Limit of other places that the message of a duplicate lists. */
const MAX_NAMED = 5;

/** Adds a problem for each place of a key that has several. There may be thousands. */
function* addDuplicates(
  found: Problem[],
  contents: Contents,
  key: ObjectKey,
): Generator<void, void> {
  const claims = contents.claims(key);
  if (claims.size < 2) return;
  const places = [...claims];
  const shown = places.slice(0, MAX_NAMED + 1).map((place) => {
    return `${shownPath(place.path)}:${contents.document(place)?.line ?? 1}`;
  });
  const message = (own: number): string => {
    const named = shown.filter((_, i) => i !== own).slice(0, MAX_NAMED);
    const left = places.length - 1 - named.length;
    const more = left === 0 ? '' : ` and ${left} more places`;
    return `${describeKey(key)} is also at ${named.join(', ')}${more}; keep one of them`;
  };
  // All places beyond the named ones have the same message.
  const common = message(MAX_NAMED);
  for (const [i, place] of places.entries()) {
    yield;
    const line = contents.document(place)?.line ?? 1;
    found.push({ path: place.path, line, col: 1, message: i < MAX_NAMED ? message(i) : common });
  }
}

/** By path, then position, each problem once. */
export function* sortProblems(problems: readonly Problem[]): Generator<void, Problem[]> {
  const byPath = new Map<string, Map<string, Problem>>();
  for (const problem of problems) {
    yield;
    const own = byPath.get(problem.path) ?? new Map<string, Problem>();
    byPath.set(problem.path, own.set(`${problem.line} ${problem.col} ${problem.message}`, problem));
  }
  const sorted: Problem[] = [];
  for (const path of yield* sortInSteps([...byPath.keys()], compareText)) {
    yield;
    const own = [...(byPath.get(path)?.values() ?? [])];
    for (const problem of own.sort((a, b) => a.line - b.line || a.col - b.col))
      sorted.push(problem);
  }
  return sorted;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
