/** Files of a branch, read before they are requested. */
import { type GitContext, Reader, readRef } from '../../git/index.ts';
import type { FileEntry } from '../file.ts';
import type { WantedFile } from '../file-reader.ts';
import { flawOf } from '../reading.ts';
import { followedPaths, seenPaths, TreeView } from '../tree.ts';

export class PrefetchedFiles {
  readonly #listed: readonly WantedFile[];
  readonly #entries: (FileEntry | undefined)[];
  /** Requests follow the order of the listing, with few exceptions. */
  #next = 0;

  constructor(listed: readonly WantedFile[] = []) {
    this.#listed = listed;
    // Batches arrive in any order; an array with holes is slow.
    this.#entries = listed.map(() => undefined);
  }

  /** `at`: index in the listing. */
  add(entry: FileEntry, at: number): void {
    this.#entries[at] = entry;
  }

  /** True if exactly this file was read; it is handed out once. */
  give(file: WantedFile, take: (file: WantedFile, entry: FileEntry) => void): boolean {
    const { path, id, mode } = file;
    const at = this.#placeOf(path);
    const entry = at === undefined ? undefined : this.#entries[at];
    if (at === undefined || entry?.blob !== id || this.#listed[at]?.mode !== mode) return false;
    this.#entries[at] = undefined;
    take(file, entry);
    return true;
  }

  /** Git lists paths in order; a path at another index counts as absent. */
  #placeOf(path: string): number | undefined {
    const listed = this.#listed;
    let at = this.#next;
    if (listed[at]?.path !== path) {
      at = 0;
      for (let end = listed.length; at < end; ) {
        const middle = (at + end) >> 1;
        if ((listed[middle]?.path ?? '') < path) at = middle + 1;
        else end = middle;
      }
    }
    if (listed[at]?.path !== path) return undefined;
    this.#next = at + 1;
    return at;
  }
}

/** The files that a first commit with the tree of the branch would read. */
export async function prefetchListing(
  context: GitContext,
  ref: string,
  under: string,
): Promise<WantedFile[]> {
  const revision = await readRef(context.gitDir, ref);
  if (revision === undefined) return [];
  const source = new Reader(context);
  try {
    const view = new TreeView(under);
    const files = await source.listFiles(revision, followedPaths(under));
    const changes = files.map(({ path, id, mode }) => ({ path, newId: id, mode }));
    const known: FileEntry[] = [];
    const seen = await seenPaths({ view, source, revision, changes, under, known });
    return seen.flatMap(({ path, id, mode }) =>
      id === undefined || flawOf(path, mode) !== undefined ? [] : [{ path, id, mode }],
    );
  } finally {
    await source.close();
  }
}
