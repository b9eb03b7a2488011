/**
 * Folds a range of commits on top of a catalog without changing it, merges included. The cost follows
 * the range and what came since it forked: the catalogs of other parents are views of recent commits,
 * not replays of their history.
 */
import { flatMapYielding, keyString, ownText, Yielding } from '../apimachinery/index.ts';
import type { HistoryCommit, Repository } from '../git/index.ts';
import type { Catalog } from './catalog.ts';
import { isPlainSuccessor } from './catalog-object.ts';
import { compareManifests } from './compare-manifests.ts';
import type { FileEntry } from './file.ts';
import type { IsAncestor } from './identity.ts';
import { catalogDifference, netChanges } from './object-changes.ts';
import type { SeenPath } from './reading.ts';
import type { SideStep } from './recent-steps.ts';
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
}

/** The result. It is valid until the catalog changes. */
export interface FoldedAhead {
  readonly catalog: Catalog;
  readonly view: TreeView;
  /** Net changes, from the start to the end of the range. */
  readonly changes: readonly ObjectChange[];
  /** Manifest paths that the first-parent line of the range changes. */
  readonly paths: ReadonlySet<string>;
  /** Each commit of the range, parents first. */
  readonly steps: readonly FoldedStep[];
  /** Commits of the range beside its last one, for `Catalog.adopt`. */
  readonly sides: readonly SideStep[];
}

/** Limit of pairs of incarnations in merges whose order git is asked for. */
const MAX_PAIRS = 64;
/** Limit of commits that the range forks from. */
const MAX_FORKS = 16;

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
  const steps: FoldedStep[] = [];
  const sides: SideStep[] = [];
  const line = firstParentLine(now, commits);
  if (line === undefined) return undefined;
  const changes: ObjectChange[] = [];
  const paths = new Set<string>();
  const pauses = new Yielding();
  for (const commit of commits) {
    await pauses.take();
    const [into, ...others] = (await heads.takeAll(commit.parents)) ?? [];
    if (into === undefined) return undefined;
    const step = await stepOf(context, { into, commit, others });
    if (step === undefined) return undefined;
    await compareManifests(into.catalog, step.files.values());
    const { changes: changed } = await into.catalog.advanceYielding(step);
    heads.set(commit.id, into);
    steps.push({ commit, changes: changed, files: step.files });
    sides.push(sideOf(commit, step));
    if (!line.has(commit.id)) continue;
    for (const change of changed) changes.push(change);
    for (const path of step.files.keys()) paths.add(path);
  }
  const folded = await heads.take(commits.at(-1)?.id ?? now.catalog.revision ?? '');
  if (folded === undefined) return undefined;
  return { ...folded, changes: netChanges(changes), paths, steps, sides: sides.slice(0, -1) };
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
    const past = catalog.viewOf(id);
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
  { into, commit, others }: { into: Folded; commit: HistoryCommit; others: readonly Folded[] },
): Promise<Step | undefined> {
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
  const step = { commit: { id: ownText(commit.id), committerTime }, files };
  if (others.length === 0) return step;
  const otherParents = others.map(({ catalog }) => catalog);
  const differing = otherParents.flatMap(
    (other) =>
      into.catalog.affectedByMerge(other) ??
      catalogDifference(into.catalog, other).map(({ key }) => key),
  );
  const alsoAffected = await flatMapYielding(differing, (key) => {
    const present = into.catalog.object(key);
    return otherParents.every((other) => isPlainSuccessor(present, other.object(key))) ? [] : [key];
  });
  const merge = { ...step, otherParents, alsoAffected };
  const isAncestor = await orderOfIncarnations(repository, into.catalog, merge);
  return isAncestor && { ...merge, isAncestor };
}

/** Answers of git for the incarnations that the parents of a merge disagree on. */
async function orderOfIncarnations(
  repository: Pick<Repository, 'isAncestor'>,
  into: Catalog,
  { files, otherParents = [], alsoAffected = [] }: Step,
): Promise<IsAncestor | undefined> {
  const documents = [...files].flatMap(([path, file]) => [
    ...(file?.documents ?? []),
    ...(into.file(path)?.documents ?? []),
  ]);
  const keys = [...alsoAffected, ...documents.flatMap(({ key }) => key ?? [])];
  const pairs = new Map<string, readonly [string, string]>();
  for (const key of new Map(keys.map((one) => [keyString(one), one])).values()) {
    const parents: readonly OtherParent[] = [into, ...otherParents];
    const lives = parents.flatMap((parent) => parent.object(key)?.identity.introducedBy ?? []);
    for (const one of lives) {
      for (const other of lives) if (one !== other) pairs.set(`${one} ${other}`, [one, other]);
    }
    if (pairs.size > 2 * MAX_PAIRS) return undefined;
  }
  const known = new Map<string, boolean>();
  for (const [pair, [one, other]] of pairs)
    known.set(pair, await repository.isAncestor(one, other));
  return (ancestor, descendant) =>
    ancestor === descendant || known.get(`${ancestor} ${descendant}`) === true;
}

function sideOf({ id, parents }: HistoryCommit, step: Step): SideStep {
  const { commit, files, alsoAffected, isAncestor } = step;
  const merge = alsoAffected && isAncestor && { alsoAffected, isAncestor };
  return { commit: { ...commit, id: ownText(id) }, parents: parents.map(ownText), files, merge };
}
