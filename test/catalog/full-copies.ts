/**
 * Replay of a history in the simplest way: a whole copy of the catalog per commit, and every object
 * compared at a merge. The replay of the daemon must come to the same.
 */
import { Catalog } from '../../src/catalog/catalog.ts';
import type { FileReader } from '../../src/catalog/file-reader.ts';
import { catalogDifference } from '../../src/catalog/object-changes.ts';
import { readPaths } from '../../src/catalog/reading.ts';
import type { Folded, FoldedStep } from '../../src/catalog/replay.ts';
import { seenPaths, TreeView } from '../../src/catalog/tree.ts';
import type { Repository } from '../../src/git/repository.ts';

export interface CopiedReplay {
  /** By commit. */
  readonly heads: ReadonlyMap<string, Folded>;
  readonly steps: readonly Pick<FoldedStep, 'commit' | 'changes'>[];
}

/** A catalog that shares nothing with the other. */
export function copyOf(catalog: Catalog): Catalog {
  const copy = new Catalog(catalog.rootCommit);
  if (catalog.at !== undefined) copy.load(catalog.at, catalog.files(), catalog.objects());
  return copy;
}

export async function replayOnCopies(
  { repository, reader }: { readonly repository: Repository; readonly reader: FileReader },
  revision: string,
): Promise<CopiedReplay> {
  const rootCommit = await repository.rootCommit(revision);
  const heads = new Map<string, Folded>();
  const ancestors = new Map<string, ReadonlySet<string>>();
  const steps: CopiedReplay['steps'][number][] = [];
  for await (const commit of repository.history(undefined, revision)) {
    const parents = commit.parents.flatMap((id) => heads.get(id) ?? []);
    ancestors.set(
      commit.id,
      new Set([commit.id, ...commit.parents.flatMap((id) => [...(ancestors.get(id) ?? [])])]),
    );
    const [first, ...others] = parents;
    const catalog = first === undefined ? new Catalog(rootCommit) : copyOf(first.catalog);
    const view = first === undefined ? new TreeView('') : first.view.clone();
    const [changes = []] = commit.changes;
    const known = catalog.files();
    const of = { view, source: repository, revision: commit.id, changes, under: '', known };
    const files = view.judgedAll(await readPaths(repository, reader, await seenPaths(of)));
    const otherParents = others.map((other) => other.catalog);
    const { changes: changed } = catalog.advance({
      commit,
      files,
      ...(others.length > 0 && {
        otherParents,
        alsoAffected: otherParents.flatMap((other) =>
          catalogDifference(catalog, other).map(({ key }) => key),
        ),
        isAncestor: (ancestor: string, descendant: string) =>
          ancestors.get(descendant)?.has(ancestor) ?? false,
      }),
    });
    steps.push({ commit, changes: changed });
    heads.set(commit.id, { catalog, view });
  }
  return { heads, steps };
}
