/**
 * What a push would make of the platform, worked out before anything moves. It is what following
 * the branch will come to: the same fold over the same commits, and not what the last of them looks
 * like beside the branch. Otherwise two commits could do together what neither may, such as making
 * an object anew.
 */
import { type Catalog, type ObjectChange, sortProblems } from '../catalog/catalog.ts';
import type { FileEntry } from '../catalog/file.ts';
import {
  catalogDifference,
  extend,
  type Folded,
  netChanges,
  type ReplayContext,
  replay,
} from '../catalog/replay.ts';
import { notedPaths } from '../catalog/restore.ts';
import { readPaths, seenPaths } from '../catalog/tree.ts';
import type { HistoryCommit } from '../git/repository.ts';
import type { Problem } from '../manifests/manifest.ts';

/** A catalog that is ready for when the branch gets there. */
export interface PreparedCatalog {
  readonly from: string | undefined;
  readonly folded: Folded;
  readonly changes: readonly ObjectChange[];
  /** Files whose notes may change. */
  readonly paths: readonly string[];
  /** Whether it goes on from `from`. */
  readonly follows: boolean;
}

export interface Outcome {
  readonly changes: readonly ObjectChange[];
  /** Of the files that the push changes, duplicates included. */
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Objects more than before. */
  readonly growth: number;
  readonly prepared: PreparedCatalog | undefined;
}

/** Looks ahead of a catalog that is where the push begins, and leaves it as it is. */
export type Foresight = (now: Catalog) => Outcome;

export interface PushedRange {
  readonly from: string | undefined;
  readonly to: string;
}

/**
 * Reads what a range of commits brings, from `context`, which sees more than the branch. The
 * outcome is asked for later, in the turn. Undefined: `now` is not, or does not stay, where the
 * range begins.
 */
export async function foresee(
  context: ReplayContext,
  now: Folded,
  range: PushedRange,
): Promise<Foresight | undefined> {
  const only = await onlyCommit(context, range);
  if (now.catalog.revision !== range.from) return undefined;
  return await (only === undefined
    ? foreseeMany(context, now, range)
    : foreseeOne(context, now, only));
}

async function onlyCommit(
  { repository }: ReplayContext,
  { from, to }: PushedRange,
): Promise<HistoryCommit | undefined> {
  let only: HistoryCommit | undefined;
  for await (const commit of repository.history(from, to)) {
    if (only !== undefined || commit.parents.length > 1) return undefined;
    only = commit;
  }
  return only;
}

/** The usual push: its cost follows the change, not the size of the platform. */
async function foreseeOne(
  context: ReplayContext,
  now: Folded,
  commit: HistoryCommit,
): Promise<Foresight> {
  const { repository, reader, under } = context;
  const paths = await seenPaths({
    view: now.view.clone(),
    source: repository,
    revision: commit.id,
    changes: commit.changes[0] ?? [],
    under,
    known: [...now.catalog.files()],
  });
  const files = await readPaths(repository, reader, paths);
  return (catalog) => {
    const before = catalog.size;
    const step = catalog.advance({ commit, files });
    try {
      const problems = catalog.problemsOf(files.keys());
      const warnings = warningsOf(files.values());
      return { ...step, problems, warnings, growth: catalog.size - before, prepared: undefined };
    } finally {
      step.undo();
    }
  };
}

/** Several commits, or a merge: folded on a copy, which is kept for when the branch follows. */
async function foreseeMany(
  context: ReplayContext,
  now: Folded,
  { from, to }: PushedRange,
): Promise<Foresight> {
  const before = now.catalog.clone();
  const copy = { catalog: before.clone(), view: now.view.clone() };
  const extended = from === undefined ? undefined : await extend(context, copy, to);
  const folded = extended === undefined ? await replay(context, to) : copy;
  const after = folded.catalog;
  const changes =
    extended === undefined ? catalogDifference(before, after) : netChanges(extended.changes);
  const touched = extended?.paths ?? [...before.files(), ...after.files()].map(({ path }) => path);
  const changed = [...new Set(touched)].filter(
    (path) => before.file(path)?.blob !== after.file(path)?.blob,
  );
  const paths = extended?.paths ?? [...notedPaths(before), ...notedPaths(after)];
  const outcome = {
    changes,
    problems: after.problemsOf(changed),
    warnings: warningsOf(changed.map((path) => after.file(path))),
    growth: after.size - before.size,
    prepared: { from, folded, changes, paths: [...paths], follows: true },
  };
  return () => outcome;
}

function warningsOf(files: Iterable<FileEntry | undefined>): Problem[] {
  const documents = [...files].flatMap((file) => file?.documents ?? []);
  return sortProblems(documents.flatMap(({ warnings }) => warnings));
}
