/** Problems of the files of a catalog, alone and together. */
import { describeKey, KeyMap, type ObjectKey, shownPath } from '../apimachinery/index.ts';
import type { Problem } from '../manifests/index.ts';
import { comparePlaces } from './catalog-object.ts';
import type { Contents } from './contents.ts';
import { collisionKey } from './footprint.ts';

/** Every problem of every file, duplicates included, by path and line. */
export function allProblems(contents: Contents): Problem[] {
  const found: Problem[] = [];
  for (const file of contents.files.values()) {
    for (const document of file.documents)
      for (const problem of document.problems) found.push(problem);
  }
  for (const key of contents.disputed())
    for (const problem of duplicates(contents, key)) found.push(problem);
  for (const problem of contents.cases.problems((path) => contents.files.has(path)))
    found.push(problem);
  return sortProblems(found);
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
    for (const problem of duplicates(contents, key)) found.push(problem);
  }
  return sortProblems(found);
}

/** Limit of other places that the message of a duplicate lists. */
const MAX_NAMED = 5;

function duplicates(contents: Contents, key: ObjectKey): Problem[] {
  const claims = contents.claims(key);
  if (claims.length < 2) return [];
  const places = [...claims].sort(comparePlaces).map((place) => ({
    path: place.path,
    line: contents.document(place)?.line ?? 1,
  }));
  const first = places.slice(0, MAX_NAMED + 1);
  return places.map((place) => {
    const named = first.filter((other) => other !== place).slice(0, MAX_NAMED);
    const left = places.length - 1 - named.length;
    const list = named.map((other) => `${shownPath(other.path)}:${other.line}`).join(', ');
    const more = left === 0 ? '' : ` and ${left} more places`;
    const message = `${describeKey(key)} is also at ${list}${more}; keep one of them`;
    return { ...place, col: 1, message };
  });
}

/** By path, then position, each problem once. */
export function sortProblems(problems: readonly Problem[]): Problem[] {
  const unique = new Map<string, Problem>();
  for (const problem of problems) {
    unique.set(`${problem.path}\0${problem.line}\0${problem.col}\0${problem.message}`, problem);
  }
  return [...unique.values()].sort((a, b) => {
    if (a.path !== b.path) return a.path < b.path ? -1 : 1;
    return a.line - b.line || a.col - b.col;
  });
}
