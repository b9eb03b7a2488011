/** What a branch holds, read before somebody asks for it. */
import type { GitContext } from '../../git/git-environment.ts';
import { Reader } from '../../git/reader.ts';
import { readRef } from '../../git/ref-file.ts';
import type { FileEntry } from '../file.ts';
import { flawOf, seenPaths, TreeView } from '../tree.ts';
import type { WantedFile } from './protocol.ts';

export class FilesAhead {
  readonly #files = new Map<string, { readonly mode: string; readonly entry: FileEntry }>();

  add({ path, mode }: WantedFile, entry: FileEntry): void {
    this.#files.set(path, { mode, entry });
  }

  /** Whether just this file was read; it is given away once. */
  give(file: WantedFile, take: (file: WantedFile, entry: FileEntry) => void): boolean {
    const { path, id, mode } = file;
    const known = this.#files.get(path);
    if (known === undefined || known.entry.blob !== id || known.mode !== mode) return false;
    this.#files.delete(path);
    // The listing, which its own path is a part of, is not to be kept for that.
    take(file, { ...known.entry, path });
    return true;
  }
}

/** The files that a first commit with the tree of the branch would have read. */
export async function listAhead(
  context: GitContext,
  ref: string,
  under: string,
): Promise<WantedFile[]> {
  const revision = await readRef(context.gitDir, ref);
  if (revision === undefined) return [];
  const source = new Reader(context);
  try {
    const view = new TreeView(under);
    const changes = await source.diff(undefined, revision);
    const known: FileEntry[] = [];
    const seen = await seenPaths({ view, source, revision, changes, under, known });
    return seen.flatMap(({ path, id, mode }) =>
      id === undefined || flawOf(path, mode) !== undefined ? [] : [{ path, id, mode }],
    );
  } finally {
    await source.close();
  }
}
