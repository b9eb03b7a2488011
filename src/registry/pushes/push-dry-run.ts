/**
 * Dry run of a push. It folds the same commits in the same way as following the branch does later,
 * instead of comparing only the last commit with the branch. Otherwise two commits could do
 * together what neither may do alone, such as recreating an object.
 */

import { flatMapYielding, ownText } from '../../apimachinery/index.ts';
import {
  type Catalog,
  type CommitPoint,
  catalogDifference,
  compareManifests,
  extend,
  type FileEntry,
  type FoldAheadContext,
  type Folded,
  type FoldedAhead,
  type FoldedStep,
  foldAhead,
  linkWarnings,
  netChanges,
  type ObjectChange,
  pathsWithDocuments,
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
import {
  configProblems,
  controlFilesOf,
  ignoreWarnings,
  namingRuleWarnings,
} from './control-files.ts';
import { wideningWarnings } from './folder-widths.ts';
import { leakInCommit } from './plaintext-secrets.ts';

/** Prepared result for when the branch reaches the pushed commit. */
export type PreparedMove = PreparedCatalog | PreparedStep | PreparedLayer;

/** A range that was folded on a layer of the catalog. */
export interface PreparedLayer {
  readonly from: string | undefined;
  readonly to: string;
  /** The catalog below the layer, or below the pin that the layer is on. */
  readonly base: Catalog;
  readonly ahead: FoldedAhead;
  /** The commit `to`. Absent: that of the layer. */
  readonly at?: CommitPoint;
}

/** One commit that was read and tried, to be used when the branch reaches it. */
export interface PreparedStep {
  /** Catalog that the step was tried on, and its result there. */
  readonly catalog: Catalog;
  readonly trial: Trial;
  readonly from: string | undefined;
  readonly commit: CommitPoint;
  readonly files: ReadonlyMap<string, FileEntry | undefined>;
  /** Of the tree at the commit. */
  readonly view: TreeView;
}

/** A complete catalog at the pushed commit. */
export interface PreparedCatalog {
  readonly from: string | undefined;
  readonly folded: Folded;
  readonly changes: readonly ObjectChange[];
  /** Files whose provenance may change. */
  readonly paths: readonly string[];
  /** True if it descends from `from`. */
  readonly follows: boolean;
}

export interface Outcome {
  readonly changes: readonly ObjectChange[];
  /** Problems of the files that the push changes, duplicates included. */
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Plaintext secrets in any commit of the push, even if its tip does not have them. */
  readonly leaks: readonly Problem[];
  /** Number of added objects. */
  readonly growth: number;
  /** Control files that a commit of the push touches, even where its tip does not. */
  readonly controlFiles: readonly string[];
  /** Intermediate states of objects, which reads of the past show. */
  readonly passing: readonly ObjectChange[];
  /** Objects that a merge of the push brings back from before their end: with their uid, and so with their past. */
  readonly restored: readonly ObjectChange[];
  readonly prepared: PreparedMove;
}

export interface DryRunContext extends ReplayContext {
  readonly repository: ReplayContext['repository'] &
    Pick<Repository, 'diff' | 'diffAt' | 'folderWidths' | 'mergeBases'>;
  readonly kinds: KindTable;
  readonly sealer?: Sealer | undefined;
}

/**
 * Computes the outcome on a catalog that is at the start of the push, without changing it. Callers
 * hold the mutex.
 */
export interface PushDryRun {
  (now: Catalog): Promise<Outcome>;
  /** True if all of history was replayed for it, which takes seconds in a large one. */
  readonly isReplay: boolean;
}

export interface PushedRange {
  readonly from: string | undefined;
  readonly to: string;
}

/**
 * Reads a range of commits from `context`, which has the quarantined objects. The outcome is
 * computed later, under the mutex. Undefined: `now` is not, or does not stay, at the start of the
 * range.
 */
export async function dryRunPush(
  context: DryRunContext,
  now: Folded,
  range: PushedRange,
): Promise<PushDryRun | undefined> {
  const { only, isLinear, controlFiles, ids } = await survey(context, range);
  if (now.catalog.revision !== range.from) return undefined;
  const outcomeOf = await (only === undefined
    ? dryRunReplay(context, now, { ...range, ids, isLinear })
    : dryRunCommit(context, now, only));
  const widened = await wideningWarnings(context.repository, range);
  const complete = async (catalog: Catalog): Promise<Outcome> => {
    const outcome = await outcomeOf(catalog);
    const warned = { ...outcome, warnings: [...outcome.warnings, ...widened] };
    if (controlFiles.length === 0) return warned;
    return await withControlFiles(context, warned, controlFiles);
  };
  return Object.assign(complete, { isReplay: outcomeOf.isReplay });
}

function viewOf(prepared: PreparedMove): { readonly view: TreeView } {
  if ('ahead' in prepared) return prepared.ahead;
  return 'view' in prepared ? prepared : prepared.folded;
}

interface Survey {
  /** Set if the range is one commit, and that is not a merge. */
  readonly only: HistoryCommit | undefined;
  /** True if each commit of the range has the one before as its only parent. */
  readonly isLinear: boolean;
  readonly controlFiles: readonly string[];
  /** Ids of every commit in the range. */
  readonly ids: ReadonlySet<string>;
}

async function survey(
  { repository, under }: DryRunContext,
  { from, to }: PushedRange,
): Promise<Survey> {
  let only: HistoryCommit | undefined;
  const ids = new Set<string>();
  const touched = new Set<string>();
  let isLinear = true;
  let previous = from;
  for await (const commit of repository.history(from, to)) {
    isLinear &&= commit.parents.length === 1 && commit.parents[0] === previous;
    previous = commit.id;
    only = ids.size === 0 && commit.parents.length < 2 ? commit : undefined;
    ids.add(commit.id);
    for (const path of await controlFilesOf(repository, commit, under)) touched.add(path);
  }
  return { only, isLinear, controlFiles: [...touched].sort(), ids };
}

async function withControlFiles(
  context: DryRunContext,
  outcome: Outcome,
  controlFiles: readonly string[],
): Promise<Outcome> {
  const { prepared } = outcome;
  const { view } = viewOf(prepared);
  const problems = await configProblems(context, view, controlFiles);
  const warnings = [
    ...(await ignoreWarnings(context, view, controlFiles)),
    ...(await namingRuleWarnings(context, view, controlFiles)),
  ];
  return {
    ...outcome,
    problems: [...problems, ...outcome.problems],
    warnings: [...warnings, ...outcome.warnings],
    controlFiles,
  };
}

/** The usual push: its cost follows the change, not the size of the platform. */
async function dryRunCommit(
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
  const outcomeOf = async (catalog: Catalog): Promise<Outcome> => {
    const trial = await catalog.tryYielding({ commit: point, files });
    const { changes, growth } = trial;
    const problems = await trial.problemsOf(files.keys());
    const warnings = [...links, ...warningsOf(files.values())];
    const prepared = { ...read, catalog, trial };
    const none = { leaks: [], controlFiles: [], passing: [], restored: [] };
    return { ...none, changes, problems, warnings, growth, prepared };
  };
  return Object.assign(outcomeOf, { isReplay: false });
}

/** Several commits, or a merge: folded on a copy or by a replay, which is used when the branch follows. */
async function dryRunReplay(
  outer: DryRunContext,
  now: Folded,
  range: PushedRange & Pick<Survey, 'ids' | 'isLinear'>,
): Promise<PushDryRun> {
  // The branch goes on meanwhile.
  const pin = now.catalog.pin();
  try {
    return await dryRunFrom(outer, { ...now, before: pin.catalog }, range);
  } finally {
    pin.release();
  }
}

async function dryRunFrom(
  outer: DryRunContext,
  now: Folded & { readonly before: Catalog },
  { from, to, ids, isLinear }: PushedRange & Pick<Survey, 'ids' | 'isLinear'>,
): Promise<PushDryRun> {
  const { repository } = outer;
  const { before } = now;
  const leaks = new Leaks();
  const passing = new IntermediateStates(outer.kinds, before, ids);
  const onStep = (step: FoldedStep): void => {
    leaks.record(step);
    passing.record(step);
  };
  const context = { ...outer, onStep };
  const copy = isLinear ? { catalog: now.catalog.clone(), view: now.view.clone() } : undefined;
  const extended = copy && (await extend(context, copy, to));
  const folded = copy !== undefined && extended !== undefined ? copy : await replay(context, to);
  const after = folded.catalog;
  const changes =
    extended === undefined ? catalogDifference(before, after) : netChanges(extended.changes);
  const touched = extended?.paths ?? [...before.files(), ...after.files()].map(({ path }) => path);
  const changed = [...new Set(touched)].filter(
    (path) => before.file(path)?.blob !== after.file(path)?.blob,
  );
  const paths = extended?.paths ?? [...pathsWithDocuments(before), ...pathsWithDocuments(after)];
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
    passing: await passing.found(),
    restored: await restoredBy(changes, ids),
    prepared: { from, folded, changes, paths: [...paths], follows: true },
  };
  return Object.assign(async () => outcome, { isReplay: extended === undefined });
}

export interface DryRunAhead extends Pick<FoldAheadContext, 'read' | 'replayed'> {
  /** Commits of the range, parents first. */
  readonly commits: readonly HistoryCommit[];
  /** Steps of commits that were replayed elsewhere. */
  readonly replayedSteps?: readonly FoldedStep[];
}

/**
 * Dry run of any range on a layer of the catalog, merges included. Callers hold the mutex until the
 * outcome is used. Undefined: only a replay of the history helps.
 */
export async function dryRunAhead(
  context: DryRunContext & { readonly repository: Pick<Repository, 'isAncestor'> },
  now: Folded,
  of: DryRunAhead,
): Promise<Outcome | undefined> {
  const { repository, under, kinds } = context;
  const { commits, replayedSteps = [] } = of;
  const { catalog: base } = now;
  const { revision: from } = base;
  const to = commits.at(-1)?.id;
  if (from === undefined || to === undefined) return undefined;
  const ahead = await foldAhead({ repository, under, ...of }, now, commits);
  if (ahead === undefined) return undefined;
  const steps = [...replayedSteps, ...ahead.steps];
  const ids = new Set(steps.map(({ commit }) => commit.id));
  const passing = new IntermediateStates(kinds, base, ids);
  const leaks = new Leaks();
  const touched = new Set<string>();
  for (const step of steps) {
    leaks.record(step);
    passing.record(step);
    for (const path of await controlFilesOf(repository, step.commit, under)) touched.add(path);
  }
  const { catalog: after, changes, paths, view } = ahead;
  const last = commits.at(-1);
  const net = last?.parents[0] === from ? last.changes[0] : await repository.diff(from, to);
  const changed = await flatMapYielding(paths, (path) =>
    base.file(path)?.blob === after.file(path)?.blob ? [] : [path],
  );
  const outcome: Outcome = {
    changes,
    problems: await after.problemsOfYielding(changed),
    warnings: [
      ...linkWarnings(view, net ?? []),
      ...warningsOf(changed.map((path) => after.file(path))),
      ...(await wideningWarnings(repository, { from, to })),
    ],
    leaks: leaks.of(steps.map(({ commit }) => commit.id).filter((id) => id !== to)),
    growth: after.size - base.size,
    controlFiles: [],
    passing: await passing.found(),
    restored: await restoredBy(changes, ids),
    prepared: { from, to, base, ahead },
  };
  if (touched.size === 0) return outcome;
  return await withControlFiles(context, outcome, [...touched].sort());
}

/** `ids`: commits of the push. A life that none of them began is an earlier one. */
function restoredBy(
  changes: readonly ObjectChange[],
  ids: ReadonlySet<string>,
): Promise<ObjectChange[]> {
  return flatMapYielding(changes, (change) => {
    const [was, is] = [change.before, change.after].map((object) => object?.identity.introducedBy);
    return is === undefined || is === was || ids.has(is) ? [] : [change];
  });
}

function warningsOf(files: Iterable<FileEntry | undefined>): Problem[] {
  const documents = [...files].flatMap((file) => file?.documents ?? []);
  return sortProblems(documents.flatMap(({ warnings }) => warnings));
}

/** Problems of files in commits before the tip of a push, by commit. */
class Leaks {
  readonly #found = new Map<string, Problem[]>();

  readonly record = ({ commit, files }: FoldedStep): void => {
    const documents = [...files.values()].flatMap((file) => file?.documents ?? []);
    const leaks = documents.flatMap(({ problems }) => problems.filter(({ inClear }) => inClear));
    if (leaks.length > 0) this.#found.set(commit.id, leaks);
  };

  /** A replay reads the whole history. Commits older than the push do not count. */
  async within(
    repository: Pick<Repository, 'history'>,
    { from, to }: PushedRange,
  ): Promise<Problem[]> {
    if (this.#found.size === 0) return [];
    const ids: string[] = [];
    for await (const { id } of repository.history(from, to)) if (id !== to) ids.push(id);
    return this.of(ids);
  }

  of(commits: readonly string[]): Problem[] {
    return commits.flatMap((id) => {
      const found = this.#found.get(id) ?? [];
      return found.map((leak) => ({ ...leak, message: leakInCommit(id, leak.message) }));
    });
  }
}
