/** Compares two trees at some paths. The cost follows the paths, not what else differs. */
import { setImmediate } from 'node:timers/promises';
import { encodePath } from '../objects/path-text.ts';
import { isDirectory, type Tree, type TreeEntry } from '../objects/tree.ts';
import type { PathChange } from '../repository.ts';

export type LoadTree = (id: string) => Promise<Tree>;

/** Trees of two commits; undefined: the empty tree. */
export interface TreePair {
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Changes of files, as `git diff-tree -r` has them. */
export async function pathChanges(
  { before, after }: TreePair,
  paths: readonly string[],
  load: LoadTree,
): Promise<PathChange[]> {
  if (before === after) return [];
  const changes: PathChange[] = [];
  for (const [at, path] of paths.entries()) {
    // Cached trees let no other work pass.
    if (at % PATHS_PER_YIELD === PATHS_PER_YIELD - 1) await setImmediate();
    const was = await fileAt(before, path, load);
    const is = await fileAt(after, path, load);
    if (was?.id === is?.id && was?.mode === is?.mode) continue;
    changes.push({
      path,
      ...(was && { oldId: was.id }),
      ...(is && { newId: is.id }),
      mode: is?.mode ?? NO_MODE,
    });
  }
  return changes;
}

const NO_MODE = '000000';
const PATHS_PER_YIELD = 500;

/** Undefined: there is a folder, or nothing. */
async function fileAt(
  root: string | undefined,
  path: string,
  load: LoadTree,
): Promise<TreeEntry | undefined> {
  const names = encodePath(path).toString('latin1').split('/');
  let id = root;
  for (const [at, name] of names.entries()) {
    const entry = id === undefined ? undefined : (await load(id)).find(name);
    if (entry === undefined) return undefined;
    const isLast = at === names.length - 1;
    if (isLast || !isDirectory(entry)) return isLast && !isDirectory(entry) ? entry : undefined;
    id = entry.id;
  }
  return undefined;
}
