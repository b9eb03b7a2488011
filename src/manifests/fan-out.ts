/** The moves that spread the manifests of full folders over fan-out folders. */
import { FULL_FOLDER, fanOutPaths, folderNamespace } from './layout.ts';
import { leavesTree, type PathFilter } from './path-filter.ts';

export interface Move {
  readonly from: string;
  readonly to: string;
}

export interface FanOutPlan {
  /** Folder of the manifests; '' is the whole tree. */
  readonly under: string;
  /** Folder whose files move, with those below it; '' is the whole tree. */
  readonly folder: string;
  readonly filter: PathFilter;
}

/**
 * Moves for a tree of these paths, in their order. A manifest stays where its folder is not full, in a
 * fan-out folder, and where a new folder would change its namespace.
 */
export function fanOutMoves(
  paths: readonly string[],
  { under, folder, filter }: FanOutPlan,
): Move[] {
  const entries = new Map<string, Set<string>>();
  for (const path of paths) addEntries(entries, path);
  const full = new Set(
    [...entries].filter(([, names]) => names.size >= FULL_FOLDER).map(([name]) => name),
  );
  const moves: Move[] = [];
  for (const from of paths) {
    const parent = parentOf(from);
    const isMeant = folder === '' || parent === folder || parent.startsWith(`${folder}/`);
    if (!isMeant || !full.has(parent) || !filter.includes(from) || leavesTree(from)) continue;
    const [, first = '', second = ''] = fanOutPaths(from);
    const isSpread = basename(parentOf(first)) === basename(parent);
    if (isSpread || folderNamespace(under, first) !== folderNamespace(under, from)) continue;
    const to = (entries.get(parentOf(first))?.size ?? 0) < FULL_FOLDER ? first : second;
    addEntries(entries, to);
    moves.push({ from, to });
  }
  return moves;
}

function addEntries(entries: Map<string, Set<string>>, path: string): void {
  for (let at = path; at !== ''; at = parentOf(at)) {
    const parent = parentOf(at);
    const names = entries.get(parent) ?? new Set();
    if (names.has(at)) return;
    entries.set(parent, names.add(at));
  }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function basename(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
