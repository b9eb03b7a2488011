/**
 * Folds a range of commits on top of a catalog without changing it, merges included. The cost follows
 * the range and what came since it forked: the catalogs of other parents are views of recent commits,
 * not replays of their history.
 */
import { type ObjectKey, ownText, Yielding } from '../apimachinery/index.ts';
import { SlowHeapGrowth } from '../concurrency/index.ts';
import type { HistoryCommit, Repository } from '../git/index.ts';
import type { Catalog } from './catalog.ts';
import { isPlainSuccessor } from './catalog-object.ts';
import { CommitOrder } from './commit-order.ts';
import { compareManifests } from './compare-manifests.ts';
import type { FileEntry } from './file.ts';
import type { IsAncestor } from './identity.ts';
import { catalogDifference, NetChanges } from './object-changes.ts';
import type { SeenPath } from './reading.ts';
import { type SideStep, SideSteps } from './recent-steps.ts';
import type { Folded, FoldedStep } from './replay.ts';
import type { ObjectChange, OtherParent, Step } from './step.ts';
import { seenPaths, type TreeView } from './tree.ts';

export interface FoldAheadContext {
  readonly repository: Pick<
    Repository,
    'readBlobs' | 'listFiles' | 'context' | 'diffAt' | 'isAncestor'
  >;
  /** Folder with the manifests; '' is the whole tree. */
  readonly under: string;
  /** Reads the manifests of paths. */
  read(paths: readonly SeenPath[]): Promise<ReadonlyMap<string, FileEntry | undefined>>;
  /** Catalogs that were replayed, by commit, for commits that are not recent. */
  readonly replayed?: ReadonlyMap<string, Folded>;
  /** Called with the changes of each commit, parents first. What it throws ends the fold. */
  readonly onStep?: (step: FoldedStep) => void;
}

/** The result. It is valid until the catalog changes. */
export interface FoldedAhead {
  readonly catalog: Catalog;
  readonly view: TreeView;
  /** Net changes, from the start to the end of the range. */
  readonly changes: readonly ObjectChange[];
  /** Manifest paths that the first-parent line of the range changes. */
  readonly paths: ReadonlySet<string>;
  /** The newest commits of the range beside its last one, for `Catalog.adopt`. */
  readonly sides: readonly SideStep[];
}

/** Limit of pairs of commits whose order git is asked for. */
const MAX_ASKED = 512;
/** Limit of commits that the range forks from. */
const MAX_FORKS = 16;
/** Files and objects, from which on memory matters more than speed: a push may change them many times. */
const MANY_ITEMS = 20_000;

/**
 * `commits`: those of the range, parents first. Undefined if the catalog of a parent is not known: only
 * a replay of the history helps then.
 */
export async function foldAhead(
  context: FoldAheadContext,
  now: Folded,
  commits: readonly HistoryCommit[],
): Promise<FoldedAhead | undefined> {
  const heads = new Heads(context, now, commits);
  const order = new IncarnationOrder(context.repository, commits);
  const sides = new SideSteps();
  let last: SideStep | undefined;
  const line = firstParentLine(now, commits);
  if (line === undefined) return undefined;
  const changes = new NetChanges();
  const paths = new Set<string>();
  const pauses = new Yielding();
  using growth = new SlowHeapGrowth(MANY_ITEMS);
  for (const commit of commits) {
    await pauses.take();
    const [into, ...others] = (await heads.takeAll(commit.parents)) ?? [];
    if (into === undefined) return undefined;
    const found = await stepOf(context, order, { into, commit, others });
    if (found === undefined) return undefined;
    const { step, compared } = found;
    const { files } = step;
    await compareManifests(into.catalog, files.values());
    const { changes: changed } = await into.catalog.advanceYielding(step);
    heads.set(commit.id, into);
    context.onStep?.({ commit, changes: changed, files, compared });
    growth.add(changed.length + files.size);
    // They have every version of every file of the range: more than are used later must not pile up.
    if (last !== undefined) sides.add(last);
    last = sideOf(commit, step);
    if (!line.has(commit.id)) continue;
    for (const change of changed) changes.add(change);
    for (const path of files.keys()) paths.add(path);
  }
  const folded = await heads.take(commits.at(-1)?.id ?? now.catalog.revision ?? '');
  if (folded === undefined) return undefined;
  return { ...folded, changes: changes.net(), paths, sides: sides.all() };
}

/** Commits of the range on the first-parent line to its end. Undefined: the line begins elsewhere. */
function firstParentLine(
  { catalog }: Folded,
  commits: readonly HistoryCommit[],
): ReadonlySet<string> | undefined {
  const byId = new Map(commits.map((commit) => [commit.id, commit]));
  const line = new Set<string>();
  let start = commits.length === 0 ? catalog.revision : undefined;
  for (let at = commits.at(-1); at !== undefined; at = byId.get(start ?? '')) {
    line.add(at.id);
    start = at.parents[0];
  }
  return start !== undefined && start === catalog.revision ? line : undefined;
}

/** Catalogs at the commits of the range, and at those that it forks from. */
class Heads {
  readonly #context: FoldAheadContext;
  readonly #now: Folded;
  readonly #heads = new Map<string, Folded>();
  /** Children in the range that still need the catalog. */
  readonly #children = new Map<string, number>();
  #forks = 0;

  constructor(context: FoldAheadContext, now: Folded, commits: readonly HistoryCommit[]) {
    this.#context = context;
    this.#now = now;
    for (const { parents } of commits) {
      for (const id of parents) this.#children.set(id, (this.#children.get(id) ?? 0) + 1);
    }
  }

  set(id: string, folded: Folded): void {
    this.#heads.set(id, folded);
  }

  /** A catalog that the caller may advance. One with several children stays as it is, below them. */
  async take(id: string): Promise<Folded | undefined> {
    const head = this.#heads.get(id) ?? (await this.#entry(id));
    if (head === undefined) return undefined;
    this.#heads.set(id, head);
    if ((this.#children.get(id) ?? 1) <= 1) return head;
    return { catalog: head.catalog.fork(), view: head.view.clone() };
  }

  /** Undefined if one is not known. */
  async takeAll(ids: readonly string[]): Promise<Folded[] | undefined> {
    const taken: Folded[] = [];
    for (const id of ids) {
      const folded = await this.take(id);
      if (folded === undefined) return undefined;
      taken.push(folded);
    }
    return taken;
  }

  /** A commit outside of the range. */
  async #entry(id: string): Promise<Folded | undefined> {
    const { catalog, view } = this.#now;
    if (id === catalog.revision) return { catalog: catalog.fork(), view: view.clone() };
    const replayed = this.#context.replayed?.get(id);
    if (replayed !== undefined) return replayed;
    this.#forks += 1;
    if (this.#forks > MAX_FORKS || catalog.revision === undefined) return undefined;
    const past = await catalog.viewOf(id);
    if (past === undefined) return undefined;
    // Other rules were in force then, or may have been.
    const { sealing, rulePaths } = view;
    if (sealing !== undefined && Object.keys(sealing.configs).length === 0) return undefined;
    const { repository } = this.#context;
    if ((await repository.diffAt(id, catalog.revision, rulePaths)).length > 0) return undefined;
    return { catalog: past, view: view.clone() };
  }
}

async function stepOf(
  { repository, under, read }: FoldAheadContext,
  order: IncarnationOrder,
  { into, commit, others }: { into: Folded; commit: HistoryCommit; others: readonly Folded[] },
): Promise<{ readonly step: Step; readonly compared: number } | undefined> {
  const paths = await seenPaths({
    view: into.view,
    source: repository,
    revision: commit.id,
    changes: commit.changes[0] ?? [],
    under,
    known: into.catalog.files(),
  });
  const files = into.view.judgedAll(await read(paths));
  const { committerTime } = commit;
  const plain = { commit: { id: ownText(commit.id), committerTime }, files };
  if (others.length === 0) return { step: plain, compared: 0 };
  const otherParents = others.map(({ catalog }) => catalog);
  const { keys: alsoAffected, compared } = await affectedByMerge(into.catalog, otherParents);
  const merge = { ...plain, otherParents, alsoAffected };
  const isAncestor = await order.of(into.catalog, merge);
  return isAncestor && { step: { ...merge, isAncestor }, compared };
}

/** Objects that a merge may change beyond its files, of so many that were compared. One may be named twice. */
async function affectedByMerge(
  into: Catalog,
  others: readonly Catalog[],
): Promise<{ readonly keys: readonly ObjectKey[]; readonly compared: number }> {
  const keys: ObjectKey[] = [];
  let compared = 0;
  const pauses = new Yielding();
  for (const other of others) {
    const differing =
      into.affectedByMerge(other) ?? catalogDifference(into, other).map(({ key }) => key);
    compared += differing.length;
    for (const key of differing) {
      if (pauses.due) await pauses.pause();
      const present = into.object(key);
      const isPlain = others.every((one) => isPlainSuccessor(present, one.object(key)));
      if (!isPlain) keys.push(key);
    }
  }
  return { keys, compared };
}

/** Order of the incarnations that the parents of merges disagree on. */
class IncarnationOrder {
  readonly #repository: Pick<Repository, 'isAncestor'>;
  /** Order of the commits of the range. */
  readonly #range = new CommitOrder();
  /** Answers of git, by pair. */
  readonly #asked = new Map<string, boolean>();

  constructor(repository: Pick<Repository, 'isAncestor'>, commits: readonly HistoryCommit[]) {
    this.#repository = repository;
    for (const commit of commits) this.#range.add(commit);
  }

  /** Undefined: git would be asked too often. */
  async of(
    into: Catalog,
    { files, otherParents = [], alsoAffected = [] }: Step,
  ): Promise<IsAncestor | undefined> {
    const parents: readonly OtherParent[] = [into, ...otherParents];
    const pairs = new Map<string, readonly [string, string]>();
    const pauses = new Yielding();
    for (const key of keysOf(into, { files, alsoAffected })) {
      if (pauses.due) await pauses.pause();
      const lives = new Set<string>();
      for (const parent of parents) {
        const introducedBy = parent.object(key)?.identity.introducedBy;
        if (introducedBy !== undefined) lives.add(introducedBy);
      }
      if (lives.size > 1) this.#addPairs(lives, pairs);
      if (this.#asked.size + pairs.size > MAX_ASKED) return undefined;
    }
    for (const [pair, [one, other]] of pairs) {
      this.#asked.set(pair, await this.#repository.isAncestor(one, other));
    }
    return (ancestor, descendant) => this.#isAncestor(ancestor, descendant);
  }

  /** Adds the pairs that only git can order. */
  #addPairs(lives: ReadonlySet<string>, pairs: Map<string, readonly [string, string]>): void {
    for (const one of lives) {
      if (this.#range.has(one)) continue;
      for (const other of lives) {
        const pair = `${one} ${other}`;
        if (one !== other && !this.#asked.has(pair)) pairs.set(pair, [one, other]);
      }
    }
  }

  /** Commits outside of the range do not descend from those in it. */
  #isAncestor(ancestor: string, descendant: string): boolean {
    if (ancestor === descendant) return true;
    if (this.#range.has(ancestor)) return this.#range.isAncestor(ancestor, descendant);
    return this.#asked.get(`${ancestor} ${descendant}`) === true;
  }
}

function* keysOf(
  into: Catalog,
  { files, alsoAffected }: Required<Pick<Step, 'files' | 'alsoAffected'>>,
): Generator<ObjectKey> {
  yield* alsoAffected;
  for (const [path, file] of files) {
    for (const { key } of file?.documents ?? []) if (key !== undefined) yield key;
    for (const { key } of into.file(path)?.documents ?? []) if (key !== undefined) yield key;
  }
}

function sideOf({ id, parents }: HistoryCommit, step: Step): SideStep {
  const { commit, files, alsoAffected, isAncestor } = step;
  const merge = alsoAffected && isAncestor && { alsoAffected, isAncestor };
  return { commit: { ...commit, id: ownText(id) }, parents: parents.map(ownText), files, merge };
}
