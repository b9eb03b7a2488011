/**
 * What a push would make of the platform, worked out before anything moves. It is what following
 * the branch will come to: the same fold over the same commits, and not what the last of them looks
 * like beside the branch. Otherwise two commits could do together what neither may, such as making
 * an object anew.
 */

import { ownText, Yielding } from '../../apimachinery/index.ts';
import {
  type Catalog,
  type CommitPoint,
  catalogDifference,
  compareAhead,
  extend,
  type FileEntry,
  type Folded,
  type FoldedStep,
  linkWarnings,
  netChanges,
  notedPaths,
  type ObjectChange,
  type ReplayContext,
  readPaths,
  replay,
  seenPaths,
  sortProblems,
  type TreeView,
  type Trial,
} from '../../catalog/index.ts';
import type { HistoryCommit, Repository } from '../../git/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import type { Problem } from '../../manifests/index.ts';
import { IntermediateStates } from '../projection/intermediate-states.ts';
import type { Sealer } from '../writes/sealer.ts';
import { configProblems, controlFilesOf, ignoreWarnings } from './control-files.ts';
import { leakInCommit } from './plaintext-secrets.ts';

/** What is ready for when the branch gets to where a push leads. */
export type PreparedMove = PreparedCatalog | PreparedStep;

/** One commit that was read and tried, to be taken when the branch gets there. */
export interface PreparedStep {
  /** What it was tried on, and what it came to there. */
  readonly catalog: Catalog;
  readonly trial: Trial;
  readonly from: string | undefined;
  readonly commit: CommitPoint;
  readonly files: ReadonlyMap<string, FileEntry | undefined>;
  /** Of the tree at the commit. */
  readonly view: TreeView;
}

/** A catalog that is there already. */
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
  /** What a commit on the way holds that no commit may, even if its tip does not. */
  readonly leaks: readonly Problem[];
  /** Objects more than before. */
  readonly growth: number;
  /** Control files that a commit of the push touches, even where its tip does not. */
  readonly controlFiles: readonly string[];
  /** States that objects have on the way, which reads of the past show. */
  readonly passing: readonly ObjectChange[];
  readonly prepared: PreparedMove;
}

export interface DryRunContext extends ReplayContext {
  readonly repository: ReplayContext['repository'] & Pick<Repository, 'diff' | 'mergeBases'>;
  readonly kinds: KindTable;
  readonly sealer?: Sealer | undefined;
}

/** Looks ahead of a catalog that is where the push begins, and leaves it as it is. For whoever has
 * the turn. */
export type PushDryRun = (now: Catalog) => Promise<Outcome>;

export interface PushedRange {
  readonly from: string | undefined;
  readonly to: string;
}

/**
 * Reads what a range of commits brings, from `context`, which sees more than the branch. The
 * outcome is asked for later, in the turn. Undefined: `now` is not, or does not stay, where the
 * range begins.
 */
export async function dryRunPush(
  context: DryRunContext,
  now: Folded,
  range: PushedRange,
): Promise<PushDryRun | undefined> {
  const { only, controlFiles, ids } = await survey(context, range);
  if (now.catalog.revision !== range.from) return undefined;
  const foresight = await (only === undefined
    ? foreseeMany(context, now, { ...range, ids })
    : foreseeOne(context, now, only));
  return controlFiles.length === 0
    ? foresight
    : async (catalog) => await withControlFiles(context, await foresight(catalog), controlFiles);
}

interface Survey {
  /** Set where the range is one commit, and no merge. */
  readonly only: HistoryCommit | undefined;
  readonly controlFiles: readonly string[];
  /** Of every commit in the range. */
  readonly ids: ReadonlySet<string>;
}

async function survey(
  { repository, under }: DryRunContext,
  { from, to }: PushedRange,
): Promise<Survey> {
  let only: HistoryCommit | undefined;
  const ids = new Set<string>();
  const touched = new Set<string>();
  for await (const commit of repository.history(from, to)) {
    only = ids.size === 0 && commit.parents.length < 2 ? commit : undefined;
    ids.add(commit.id);
    for (const path of await controlFilesOf(repository, commit, under)) touched.add(path);
  }
  return { only, controlFiles: [...touched].sort(), ids };
}

async function withControlFiles(
  context: DryRunContext,
  outcome: Outcome,
  controlFiles: readonly string[],
): Promise<Outcome> {
  const { prepared } = outcome;
  const { view } = 'view' in prepared ? prepared : prepared.folded;
  const problems = await configProblems(context, view, controlFiles);
  const warnings = await ignoreWarnings(context, view, controlFiles);
  return {
    ...outcome,
    problems: [...problems, ...outcome.problems],
    warnings: [...warnings, ...outcome.warnings],
    controlFiles,
  };
}

/** The usual push: its cost follows the change, not the size of the platform. */
async function foreseeOne(
  context: ReplayContext,
  now: Folded,
  commit: HistoryCommit,
): Promise<PushDryRun> {
  const { repository, reader, under } = context;
  const view = now.view.clone();
  const paths = await seenPaths({
    view,
    source: repository,
    revision: commit.id,
    changes: commit.changes[0] ?? [],
    under,
    known: now.catalog.files(),
  });
  const files = view.judgedAll(await readPaths(repository, reader, paths));
  await compareManifests(now.catalog, files.values());
  const links = linkWarnings(view, commit.changes[0] ?? []);
  const { id, committerTime } = commit;
  const point = { id: ownText(id), committerTime };
  const read = { from: now.catalog.revision, commit: point, files, view };
  return async (catalog) => {
    const trial = await catalog.tryInSlices({ commit: point, files });
    const { changes, growth } = trial;
    const problems = await trial.problemsOf(files.keys());
    const warnings = [...links, ...warningsOf(files.values())];
    const prepared = { ...read, catalog, trial };
    const none = { leaks: [], controlFiles: [], passing: [] };
    return { ...none, changes, problems, warnings, growth, prepared };
  };
}

/** What the step will ask about each object, found out while others can have the processor. */
async function compareManifests(
  catalog: Catalog,
  files: Iterable<FileEntry | undefined>,
): Promise<void> {
  const pauses = new Yielding();
  for (const file of files) {
    for (const document of file?.documents ?? []) {
      const { key, problems } = document;
      const before = key && problems.length === 0 ? catalog.object(key) : undefined;
      if (before !== undefined) compareAhead(before.source, document);
      await pauses.take();
    }
  }
}

/** Several commits, or a merge: folded on a copy, which is kept for when the branch follows. */
async function foreseeMany(
  outer: DryRunContext,
  now: Folded,
  { from, to, ids }: PushedRange & Pick<Survey, 'ids'>,
): Promise<PushDryRun> {
  const { repository } = outer;
  const leaks = new Leaks();
  const before = now.catalog.clone();
  const passing = new IntermediateStates(outer.kinds, before, ids);
  const onStep = (step: FoldedStep): void => {
    leaks.note(step);
    passing.note(step);
  };
  const context = { ...outer, onStep };
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
    warnings: [
      ...linkWarnings(folded.view, await repository.diff(from, to)),
      ...warningsOf(changed.map((path) => after.file(path))),
    ],
    leaks: await leaks.within(repository, { from, to }),
    growth: after.size - before.size,
    controlFiles: [],
    passing: passing.found(),
    prepared: { from, folded, changes, paths: [...paths], follows: true },
  };
  return async () => outcome;
}

function warningsOf(files: Iterable<FileEntry | undefined>): Problem[] {
  const documents = [...files].flatMap((file) => file?.documents ?? []);
  return sortProblems(documents.flatMap(({ warnings }) => warnings));
}

/** Problems of files that are none of a push's last commit, by the commit that has them. */
class Leaks {
  readonly #found = new Map<string, Problem[]>();

  readonly note = ({ commit, files }: FoldedStep): void => {
    const documents = [...files.values()].flatMap((file) => file?.documents ?? []);
    const leaks = documents.flatMap(({ problems }) => problems.filter(({ inClear }) => inClear));
    if (leaks.length > 0) this.#found.set(commit.id, leaks);
  };

  /** A replay goes through all of history; what is older than the push is not its fault. */
  async within(
    repository: Pick<Repository, 'history'>,
    { from, to }: PushedRange,
  ): Promise<Problem[]> {
    if (this.#found.size === 0) return [];
    const leaks: Problem[] = [];
    for await (const { id } of repository.history(from, to)) {
      if (id === to) continue;
      const told = this.#found.get(id) ?? [];
      leaks.push(...told.map((leak) => ({ ...leak, message: leakInCommit(id, leak.message) })));
    }
    return leaks;
  }
}
