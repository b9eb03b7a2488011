/**
 * Dry run of a push. It folds the same commits in the same way as following the branch does later,
 * instead of comparing only the last commit with the branch. Otherwise two commits could do
 * together what neither may do alone, such as recreating an object.
 */

import { flatMapYielding, runYielding } from '../../apimachinery/index.ts';
import {
  type Catalog,
  type CommitPoint,
  catalogDifference,
  type FileEntry,
  type FoldAheadContext,
  type Folded,
  type FoldedAhead,
  type FoldedStep,
  foldAhead,
  isRebound,
  linkWarnings,
  lookalikeProblems,
  type ObjectChange,
  pathsWithDocuments,
  type ReplayContext,
  replay,
  sortProblems,
  type TreeView,
} from '../../catalog/index.ts';
import type { HistoryCommit, Repository } from '../../git/index.ts';
import { hasKeyOwner, type KindTable, keyOwnership } from '../../kinds/index.ts';
import type { Problem } from '../../manifests/index.ts';
import { IntermediateStates } from '../projection/intermediate-states.ts';
import type { Sealer } from '../writes/sealer.ts';
import { ChangedManifests } from './changed-manifests.ts';
import {
  configProblems,
  controlFilesOf,
  ignoreWarnings,
  namingRuleWarnings,
} from './control-files.ts';
import { wideningWarnings } from './folder-widths.ts';
import { PushedFiles } from './merge/pushed-files.ts';
import { leakInCommit } from './plaintext-secrets.ts';

/** Prepared result for when the branch reaches the pushed commit. */
export type PreparedMove = PreparedCatalog | PreparedLayer;

/** A range that was folded on a layer of the catalog, or of a pin of it. */
export interface PreparedLayer {
  readonly from: string | undefined;
  readonly to: string;
  readonly ahead: FoldedAhead;
  /** The commit `to`. Absent: that of the layer. */
  readonly at?: CommitPoint;
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
  /**
   * Objects that a merge of the push brings back from before their end: with their uid, and so with their past.
   * Keys of a former owner that it gives to a later one count too.
   */
  readonly restored: readonly ObjectChange[];
  readonly prepared: PreparedMove;
}

export interface DryRunContext extends ReplayContext {
  readonly repository: ReplayContext['repository'] &
    Pick<Repository, 'diff' | 'diffAt' | 'folderWidths' | 'isAncestor' | 'mergeBases'>;
  readonly kinds: KindTable;
  readonly sealer?: Sealer | undefined;
  /** Runs a replay of the history when no other runs; absent: at once. */
  replayAlone?<T>(replay: () => Promise<T>): Promise<T>;
}

export interface PushedRange {
  readonly from: string | undefined;
  readonly to: string;
}

/** Commits since the revision of the catalog, and the one that they lead to. */
export interface PushedCommits {
  /** Parents first. */
  readonly commits: readonly HistoryCommit[];
  readonly to: string;
}

export interface DryRunAhead extends PushedCommits, Pick<FoldAheadContext, 'read' | 'replayed'> {
  /** Steps of commits that were replayed elsewhere. */
  readonly replayedSteps?: readonly FoldedStep[];
}

/** Dry run of a commit on `now`, which is pinned, or stays as it is while the caller holds the mutex. */
export async function dryRun(context: DryRunContext, now: Folded, to: string): Promise<Outcome> {
  const files = new PushedFiles(context.reader);
  const from = now.catalog.revision;
  const commits = await files.commits(context.repository, { from, to }, now.view);
  return await dryRunCommits(context, now, { commits, to }, files);
}

/** The same of commits that were read. */
export async function dryRunCommits(
  context: DryRunContext,
  now: Folded,
  { commits, to }: PushedCommits,
  files: PushedFiles,
): Promise<Outcome> {
  const read: DryRunAhead['read'] = (paths) => files.read(context.repository, paths);
  const ahead = await dryRunAhead(context, now, { commits, to, read });
  if (ahead !== undefined) return ahead;
  // The first commits of a branch, a line that began elsewhere, and merges of what is not recent.
  const run = (): Promise<Outcome> => dryRunReplay(context, now, { commits, to });
  return await (context.replayAlone?.(run) ?? run());
}

/**
 * Dry run on a layer of the catalog, merges included. Undefined: only a replay of the
 * history helps.
 */
export async function dryRunAhead(
  context: DryRunContext,
  now: Folded,
  of: DryRunAhead,
): Promise<Outcome | undefined> {
  const { repository, under } = context;
  const { commits, to, replayedSteps = [] } = of;
  const { revision: from } = now.catalog;
  if (from === undefined || to !== (commits.at(-1)?.id ?? from)) return undefined;
  const pushed = [...replayedSteps.map(({ commit }) => commit), ...commits];
  const steps = new PushedSteps(context, now.catalog, pushed);
  for (const step of replayedSteps) steps.record(step);
  const onStep = steps.record;
  const ahead = await foldAhead({ repository, under, ...of, onStep }, now, commits);
  if (ahead === undefined) return undefined;
  return await steps.outcome({ ...ahead, to, prepared: { from, to, ahead } });
}

/** The same by a replay of the history, which takes seconds in a large one. */
async function dryRunReplay(
  context: DryRunContext,
  { catalog: before }: Folded,
  { commits, to }: PushedCommits,
): Promise<Outcome> {
  const steps = new PushedSteps(context, before, commits);
  const folded = await replay({ ...context, onStep: steps.record }, to);
  const { catalog: after } = folded;
  const { revision: from } = before;
  const changes = catalogDifference(before, after);
  const documents = [...pathsWithDocuments(before), ...pathsWithDocuments(after)];
  return await steps.outcome({
    ...folded,
    to,
    changes,
    paths: new Set([...before.files(), ...after.files()].map(({ path }) => path)),
    prepared: { from, folded, changes, paths: documents, follows: true },
  });
}

/** Facts about the commits of a push, collected while they are folded. */
class PushedSteps {
  readonly #context: DryRunContext;
  readonly #before: Catalog;
  readonly #commits: readonly HistoryCommit[];
  readonly #ids: ReadonlySet<string>;
  readonly #changed = new ChangedManifests();
  readonly #passing: IntermediateStates;
  /** Plaintext secrets, by commit. */
  readonly #leaks = new Map<string, Problem[]>();

  constructor(context: DryRunContext, before: Catalog, commits: readonly HistoryCommit[]) {
    this.#context = context;
    this.#before = before;
    this.#commits = commits;
    this.#ids = new Set(commits.map(({ id }) => id));
    this.#passing = new IntermediateStates(context.kinds, before, this.#ids);
  }

  /** A replay records the whole history. */
  readonly record = (step: FoldedStep): void => {
    if (this.#ids.has(step.commit.id)) this.#changed.add(step);
    this.#passing.record(step);
    const documents = [...step.files.values()].flatMap((file) => file?.documents ?? []);
    const leaks = documents.flatMap(({ problems }) => problems.filter(({ inClear }) => inClear));
    if (leaks.length > 0) this.#leaks.set(step.commit.id, leaks);
  };

  /** `paths`: files that may be others at the end of the push. */
  async outcome(
    of: Folded &
      Pick<Outcome, 'changes' | 'prepared'> & {
        readonly to: string;
        readonly paths: ReadonlySet<string>;
      },
  ): Promise<Outcome> {
    const { catalog: after, view, changes, to, prepared } = of;
    const { repository } = this.#context;
    const from = this.#before.revision;
    const changed = await flatMapYielding(of.paths, (path) =>
      this.#before.file(path)?.blob === after.file(path)?.blob ? [] : [path],
    );
    const last = this.#commits.at(-1);
    const net = last?.parents[0] === from ? last?.changes[0] : await repository.diff(from, to);
    const control = await this.#controlFiles(view);
    return {
      changes,
      problems: [
        ...control.problems,
        ...(await lookalikeProblems(view, net ?? [])),
        ...(await after.problemsOfYielding(changed)),
      ],
      warnings: [
        ...control.warnings,
        ...linkWarnings(view, net ?? []),
        ...(await warningsOf(changed.map((path) => after.file(path)))),
        ...(await wideningWarnings(repository, { from, to })),
      ],
      leaks: this.#leaksBefore(to),
      growth: after.size - this.#before.size,
      controlFiles: control.files,
      passing: await this.#passing.found(),
      restored: await this.#restored(changes),
      prepared,
    };
  }

  /** Control files that the commits touch, with their problems at the end. */
  async #controlFiles(
    view: TreeView,
  ): Promise<Pick<Outcome, 'problems' | 'warnings'> & { readonly files: readonly string[] }> {
    const { repository, under } = this.#context;
    const touched = new Set<string>();
    for (const commit of this.#commits) {
      for (const path of await controlFilesOf(repository, commit, under)) touched.add(path);
    }
    const files = [...touched].sort();
    if (files.length === 0) return { files, problems: [], warnings: [] };
    const warnings = [
      ...(await ignoreWarnings(this.#context, view, files)),
      ...(await namingRuleWarnings(this.#context, view, files)),
    ];
    return { files, problems: await configProblems(this.#context, view, files), warnings };
  }

  /** A life that no commit of the push began is an earlier one. */
  #restored(changes: readonly ObjectChange[]): Promise<ObjectChange[]> {
    return flatMapYielding(changes, (change) => {
      const { before, after } = change;
      const [was, is] = [before, after].map((object) => object?.identity.introducedBy);
      const isEarlier = is !== undefined && is !== was && !this.#ids.has(is);
      return isEarlier || isRevived(change, this.#before) ? [change] : [];
    });
  }

  #leaksBefore(to: string): Problem[] {
    return this.#commits.flatMap(({ id }) => {
      const leaks = id === to ? [] : (this.#leaks.get(id) ?? []);
      return leaks.map((leak) => ({ ...leak, message: leakInCommit(id, leak.message) }));
    });
  }
}

/**
 * True if the same key acts as a later life of its owner, with the text that it had for one that ended before
 * the push.
 */
function isRevived({ key, before, after }: ObjectChange, former: Catalog): boolean {
  const was = before?.ownerBinding;
  if (was === undefined || after === undefined || !isRebound({ before, after })) return false;
  // For other objects the right to follow the later one is checked.
  if (!hasKeyOwner(key)) return false;
  if (before?.identity.introducedBy !== after.identity.introducedBy) return false;
  if (former.object(was.owner)?.identity.introducedBy === was.incarnation) return false;
  const [old, now] = [before, after].map(({ manifest }) => keyOwnership(key, manifest)?.terms);
  return old === now;
}

async function warningsOf(files: Iterable<FileEntry | undefined>): Promise<Problem[]> {
  const warnings = await flatMapYielding(files, (file) =>
    (file?.documents ?? []).flatMap((document) => document.warnings),
  );
  return await runYielding(sortProblems(warnings));
}
