/**
 * Folds history into a catalog. Parents come before children; a fork has a version of the catalog per
 * line, and a merge joins them. So the result depends on the commits alone and not on the order in which
 * they arrived.
 */
import { ownText, Yielding } from '../apimachinery/index.ts';
import { SlowHeapGrowth } from '../concurrency/index.ts';
import type { HistoryCommit, Repository } from '../git/index.ts';
import type { Catalog } from './catalog.ts';
import { CatalogVersion, type OtherObjects } from './catalog-version.ts';
import { CommitOrder } from './commit-order.ts';
import type { FileEntry } from './file.ts';
import type { FileReader } from './file-reader.ts';
import { ReadAhead, WINDOW } from './read-ahead.ts';
import type { ObjectSource } from './reading.ts';
import type { ObjectChange, Step } from './step.ts';
import { followedPaths, seenPaths, TreeView } from './tree.ts';

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
  /** Of a merge: number of objects that its parents were compared in. */
  readonly compared: number;
}

/** The catalog at `revision`, from all of its history. */
export async function replay(context: ReplayContext, revision: string): Promise<Folded> {
  const { repository, under } = context;
  const rootCommit = await repository.rootCommit(revision);
  const order = new CommitOrder();
  const children = new Map<string, number>();
  for await (const commit of repository.history(undefined, revision, { against: 'no parent' })) {
    order.add(commit);
    for (const parent of commit.parents) children.set(parent, (children.get(parent) ?? 0) + 1);
  }
  const heads = new Map<string, Head>();
  const fold = async (commit: HistoryCommit, ahead: ReadAhead): Promise<void> => {
    const parents = commit.parents.map((id) => parentAt(heads, id));
    const [first = firstHead(rootCommit, under), ...others] = parents;
    const isLast = first.children === 0;
    const into = {
      catalog: await first.version.checkOut(),
      view: isLast ? first.view : first.view.clone(),
    };
    ahead.reach(into.view);
    const step = await stepOf(context, ahead, { into, commit });
    const differing: OtherObjects[] = [];
    for (const { version } of others) differing.push(await first.version.differing(version));
    for (const { version, children } of [...others, first]) if (children === 0) version.release();
    const { version, changes } = await first.version.advance(
      { ...step, ...(others.length > 0 && mergeOf(differing, order)) },
      { others: differing, wantsChanges: context.onStep !== undefined },
    );
    const compared = differing.reduce((sum, { size }) => sum + size, 0);
    context.onStep?.({ commit, changes, files: step.files, compared });
    heads.set(commit.id, { version, view: into.view, children: children.get(commit.id) ?? 0 });
  };
  const scope = { against: 'first parent', paths: followedPaths(under) } as const;
  const commits = repository.history(undefined, revision, scope);
  await eachCommit(new ReadAhead(context, commits, new TreeView(under)), fold);
  const head = heads.get(revision);
  if (head === undefined) throw new Error(`Commit ${revision} is not part of its own history`);
  return { catalog: await head.version.checkOut(), view: head.view };
}

/** One commit at a time: each may change a million files. */
async function eachCommit(
  ahead: ReadAhead,
  fold: (commit: HistoryCommit, ahead: ReadAhead) => Promise<void>,
): Promise<void> {
  const pauses = new Yielding();
  using growth = new SlowHeapGrowth();
  try {
    for (let next = await ahead.next(); next !== undefined; next = await ahead.next()) {
      await pauses.take();
      // A few trees make any number of changes; most of what is read for them is garbage.
      const [changes = []] = next.changes;
      if (changes.length > WINDOW) growth.add(changes.length);
      await fold(next, ahead);
    }
  } finally {
    await ahead.close();
  }
}

/** A commit with children that are still to come. */
interface Head {
  readonly version: CatalogVersion;
  readonly view: TreeView;
  /** Number of these children. */
  children: number;
}

function firstHead(rootCommit: string, under: string): Head {
  return { version: CatalogVersion.first(rootCommit), view: new TreeView(under), children: 0 };
}

/** The head of a parent, which has a child less now. */
function parentAt(heads: Map<string, Head>, id: string): Head {
  const head = heads.get(id);
  if (head === undefined) throw new Error(`The history reaches ${id} after its child`);
  head.children -= 1;
  if (head.children === 0) heads.delete(id);
  return head;
}

/** Of a merge: more of its step. */
function mergeOf(
  differing: readonly OtherObjects[],
  order: CommitOrder,
): Pick<Step, 'alsoAffected' | 'isAncestor'> {
  return {
    // Even if a merge changed no file, its parents may know different incarnations of an object.
    alsoAffected: differing.flatMap((objects) => [...objects.entries()].map(([key]) => key)),
    isAncestor: (ancestor, descendant) => order.isAncestor(ancestor, descendant),
  };
}

async function stepOf(
  { repository, under }: ReplayContext,
  ahead: ReadAhead,
  { into, commit }: { readonly into: Folded; readonly commit: HistoryCommit },
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
  return { commit: { id: ownText(commit.id), committerTime }, files };
}
