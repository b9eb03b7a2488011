/**
 * Objects that a push made anew, while the branch changed the former ones: a merge by object would give the
 * new object fields of the former one.
 */
import type { ObjectChange } from '../../../catalog/index.ts';
import type { Repository } from '../../../git/index.ts';
import { isAnew } from '../../writes/change-verbs.ts';
import type { BranchRange } from './branch-changes.ts';
import type { Conflict } from './conflict.ts';
import type { PushedFiles } from './pushed-files.ts';
import { beforeOf, isUntouched } from './touched-manifest.ts';

export interface FormerLives extends BranchRange {
  readonly repository: Pick<Repository, 'diffAt' | 'readBlobs' | 'listFiles' | 'context'>;
  readonly files: PushedFiles;
}

/** `changes`: those of the merge, from the tip on. */
export async function changedFormerLives(
  { repository, files, base, tip }: FormerLives,
  changes: readonly ObjectChange[],
): Promise<Conflict[]> {
  const former = changes.filter(isAnew).flatMap(({ before }) => before ?? []);
  if (former.length === 0) return [];
  const paths = new Set(former.map(({ place }) => place.path));
  const ours = await repository.diffAt(base, tip, [...paths]);
  const bases = await files.read(repository, ours.map(beforeOf));
  return former
    .filter(({ place: { path } }) => bases.has(path))
    .filter((object) => !isUntouched(object, bases.get(object.place.path)))
    .map(({ key, place: { path } }) => ({ path, key, why: WHY }));
}

const WHY = 'the branch has changed it, and this push removes it and creates it again';
