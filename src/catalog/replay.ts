/**
 * Folds history into a catalog. Parents come before children; at a fork the catalog is copied, at a
 * merge the copies are merged. So the result depends on the commits alone and not on the order in
 * which they arrived.
 */
import { keyString, ownText, Yielding } from '../apimachinery/index.ts';
import type { HistoryCommit, Repository } from '../git/index.ts';
import { Catalog } from './catalog.ts';
import type { FileEntry } from './file.ts';
import type { FileReader } from './file-reader.ts';
import { ReadAhead } from './read-ahead.ts';
import type { ObjectSource } from './reading.ts';
import type { ObjectChange, Step } from './step.ts';
import { seenPaths, TreeView } from './tree.ts';

/** A catalog with its view of the tree. */
export interface Folded {
  readonly catalog: Catalog;
  readonly view: TreeView;
}

export interface ReplayContext {
  /** Methods of a repository for reading history; a push in quarantine has the same. */
  readonly repository: ObjectSource & Pick<Repository, 'history' | 'rootCommit'>;
  readonly reader: FileReader;
  /** Folder with the manifests; '' is the whole tree. */
  readonly under: string;
  /** Called with the changes of each commit. */
  readonly onStep?: (step: FoldedStep) => void;
}

/** Changes of one commit relative to its first parent. */
export interface FoldedStep {
  readonly commit: HistoryCommit;
  readonly changes: readonly ObjectChange[];
  /** Files that it changed, in their new state. */
  readonly files: ReadonlyMap<string, FileEntry | undefined>;
}

/** The catalog at `revision`, from all of its history. */
export async function replay(context: ReplayContext, revision: string): Promise<Folded> {
  const { repository, under } = context;
  const rootCommit = await repository.rootCommit(revision);
  const commits: HistoryCommit[] = [];
  const ancestry = new Ancestry();
  const children = new Map<string, number>();
  for await (const commit of repository.history(undefined, revision)) {
    commits.push(commit);
    ancestry.add(commit);
    for (const parent of commit.parents) children.set(parent, (children.get(parent) ?? 0) + 1);
  }
  context.reader.counter?.expect(filesIn(commits));
  const heads = new Map<string, Folded>();
  const ahead = new ReadAhead(context, commits, new TreeView(under));
  const pauses = new Yielding();
  for (const [i, commit] of commits.entries()) {
    await pauses.take();
    const parents = commit.parents.map((id) => takeParent(heads, children, id));
    const [first = { catalog: new Catalog(rootCommit), view: new TreeView(under) }, ...others] =
      parents;
    await ahead.reach(i, first.view);
    const step = await stepOf(context, ahead, { into: first, commit, others, ancestry });
    if (context.onStep === undefined) first.catalog.absorb(step);
    else {
      const { changes } = first.catalog.advance(step);
      context.onStep({ commit, changes, files: step.files });
    }
    heads.set(commit.id, first);
  }
  const folded = heads.get(revision);
  if (folded === undefined) throw new Error(`Commit ${revision} is not part of its own history`);
  return folded;
}

/** Number of files that the commits wrote, each relative to its first parent. */
function filesIn(commits: readonly HistoryCommit[]): number {
  const written = ({ changes: [changed = []] }: HistoryCommit): number =>
    changed.reduce((sum, { newId }) => (newId === undefined ? sum : sum + 1), 0);
  return commits.reduce((sum, commit) => sum + written(commit), 0);
}

/** The last child takes the catalog itself; every earlier child takes a copy. */
function takeParent(heads: Map<string, Folded>, children: Map<string, number>, id: string): Folded {
  const folded = heads.get(id);
  if (folded === undefined) throw new Error(`The history reaches ${id} after its child`);
  const left = (children.get(id) ?? 1) - 1;
  children.set(id, left);
  if (left > 0) return { catalog: folded.catalog.clone(), view: folded.view.clone() };
  heads.delete(id);
  return folded;
}

export interface Extended {
  readonly changes: ObjectChange[];
  readonly paths: Set<string>;
  undo(): void;
}

/**
 * Advances a catalog to `revision` if that is reached by a linear history. Otherwise returns
 * undefined and changes nothing: only a full replay can follow. `undo` reverts the catalog as long
 * as it has not changed since; the view of the tree is the caller's.
 */
export async function extend(
  context: ReplayContext,
  folded: Folded,
  revision: string,
): Promise<Extended | undefined> {
  const from = folded.catalog.revision;
  const commits: HistoryCommit[] = [];
  let previous = from;
  for await (const commit of context.repository.history(from, revision)) {
    if (commit.parents.length > 1 || commit.parents[0] !== previous) return undefined;
    previous = commit.id;
    commits.push(commit);
  }
  if (previous !== revision) return undefined;
  const changes: ObjectChange[] = [];
  const paths = new Set<string>();
  const undos: (() => void)[] = [];
  const ahead = new ReadAhead(context, commits, folded.view);
  const pauses = new Yielding();
  for (const [i, commit] of commits.entries()) {
    await pauses.take();
    await ahead.reach(i, folded.view);
    const step = await stepOf(context, ahead, { into: folded, commit });
    const { changes: changed, undo } = folded.catalog.advance(step);
    context.onStep?.({ commit, changes: changed, files: step.files });
    for (const change of changed) changes.push(change);
    for (const path of step.files.keys()) paths.add(path);
    undos.push(undo);
  }
  const undo = (): void => {
    for (const step of undos.splice(0).reverse()) step();
  };
  return { changes, paths, undo };
}

interface FoldStep {
  readonly into: Folded;
  readonly commit: HistoryCommit;
  /** Of a merge: the catalogs of its other parents. */
  readonly others?: readonly Folded[];
  readonly ancestry?: Ancestry;
}

async function stepOf(
  { repository, under }: ReplayContext,
  ahead: ReadAhead,
  { into, commit, others = [], ancestry }: FoldStep,
): Promise<Step> {
  const paths = await seenPaths({
    view: into.view,
    source: repository,
    revision: commit.id,
    changes: commit.changes[0] ?? [],
    under,
    known: into.catalog.files(),
  });
  const files = into.view.judgedAll(await ahead.read(paths));
  const { committerTime } = commit;
  const step = { commit: { id: ownText(commit.id), committerTime }, files };
  if (others.length === 0) return step;
  return {
    ...step,
    otherParents: others.map((other) => other.catalog),
    // Even if a merge changed no file, its parents may know different incarnations of an object.
    alsoAffected: others.flatMap((other) =>
      catalogDifference(into.catalog, other.catalog).map(({ key }) => key),
    ),
    isAncestor: (ancestor, descendant) => ancestry?.has(ancestor, descendant) ?? false,
  };
}

/** Ancestry of commits that are added parents first. */
class Ancestry {
  readonly #commits = new Map<
    string,
    { readonly at: number; readonly parents: readonly string[] }
  >();

  add({ id, parents }: HistoryCommit): void {
    this.#commits.set(id, { at: this.#commits.size, parents });
  }

  has(ancestor: string, descendant: string): boolean {
    const oldest = this.#commits.get(ancestor)?.at ?? Number.POSITIVE_INFINITY;
    const seen = new Set<string>();
    const waiting = [descendant];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const commit = this.#commits.get(id);
      // Commits added before the ancestor cannot be its descendants.
      if (commit === undefined || commit.at < oldest || seen.has(id)) continue;
      if (id === ancestor) return true;
      seen.add(id);
      waiting.push(...commit.parents);
    }
    return false;
  }
}

/** Combines changes of one object: from the first `before` to the last `after`. */
export function netChanges(changes: readonly ObjectChange[]): ObjectChange[] {
  const net = new Map<string, ObjectChange>();
  for (const change of changes) {
    const id = keyString(change.key);
    const earlier = net.get(id);
    net.set(id, earlier === undefined ? change : { ...change, before: earlier.before });
  }
  return [...net.values()].filter((change) => change.before !== change.after);
}

/** Changes that turn one catalog into another, by object. */
export function catalogDifference(from: Catalog, to: Catalog): ObjectChange[] {
  const changes: ObjectChange[] = [];
  for (const before of from.objects()) {
    const after = to.object(before.key);
    if (after !== before) changes.push({ key: before.key, before, after });
  }
  for (const after of to.objects()) {
    if (from.object(after.key) === undefined)
      changes.push({ key: after.key, before: undefined, after });
  }
  return changes;
}
