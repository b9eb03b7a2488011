/**
 * Reads the files of commits ahead of the replay, many commits at a time: otherwise the replay of
 * small commits would wait for git once per commit. It is a guess: missing files are read on
 * demand.
 */
import type { HistoryCommit } from '../git/index.ts';
import type { FileEntry } from './file.ts';
import type { FileReader } from './file-reader.ts';
import { type ObjectSource, readEach, readPaths, type SeenPath } from './reading.ts';
import type { TreeView } from './tree.ts';

interface Window {
  /** First commit after the window. */
  readonly end: number;
  readonly files: Promise<ReadonlyMap<string, FileEntry>>;
}

/** Files per window; a commit with more files is read when it is replayed. */
const WINDOW = 1024;

export class ReadAhead {
  readonly #source: ObjectSource;
  readonly #reader: FileReader;
  readonly #commits: readonly HistoryCommit[];
  #end = 0;
  #files: ReadonlyMap<string, FileEntry> = new Map();
  #next: Window;

  /** `view` is the one before the first commit; commits are in replay order. */
  constructor(
    { repository, reader }: { readonly repository: ObjectSource; readonly reader: FileReader },
    commits: readonly HistoryCommit[],
    view: TreeView,
  ) {
    this.#source = repository;
    this.#reader = reader;
    this.#commits = commits;
    this.#next = this.#begin(0, view);
  }

  /** Must be called before each commit, with the view of its first parent. */
  async reach(commit: number, view: TreeView): Promise<void> {
    if (commit < this.#end) return;
    const { end, files } = this.#next;
    this.#files = await files;
    this.#end = end;
    this.#next = this.#begin(end, view);
  }

  /** Reads the files of the paths, prefetched or not. */
  async read(paths: readonly SeenPath[]): Promise<Map<string, FileEntry | undefined>> {
    // Commits with more files were skipped.
    const isLeft = this.#files.size === 0 || paths.length > WINDOW;
    if (isLeft) return await readPaths(this.#source, this.#reader, paths);
    const missed = paths.filter((seen) => !this.#files.has(nameOf(seen)));
    const read = await readPaths(this.#source, this.#reader, missed);
    return new Map(
      paths.map((seen) => [seen.path, this.#files.get(nameOf(seen)) ?? read.get(seen.path)]),
    );
  }

  #begin(start: number, view: TreeView): Window {
    const wanted = new Map<string, SeenPath>();
    let end = start;
    for (; end < this.#commits.length && wanted.size < WINDOW; end++) {
      const changes = this.#commits[end]?.changes[0] ?? [];
      // From there on, only the new ignore file determines the files.
      if (view.changesFilter(changes) !== undefined) {
        if (end === start) end++;
        break;
      }
      if (changes.length > WINDOW) continue;
      for (const { path, newId: id, mode } of changes) {
        const seen = { path, id, mode };
        if (id !== undefined && view.includes(path)) wanted.set(nameOf(seen), seen);
      }
    }
    const files = this.#readAll(wanted);
    // The replay awaits it later; until then a rejection must not count as unhandled.
    files.catch(() => undefined);
    return { end, files };
  }

  async #readAll(wanted: ReadonlyMap<string, SeenPath>): Promise<ReadonlyMap<string, FileEntry>> {
    const files = new Map<string, FileEntry>();
    const from = { source: this.#source, reader: this.#reader };
    await readEach(from, [...wanted.values()], (seen, entry) => {
      if (entry !== undefined) files.set(nameOf(seen), entry);
    });
    return files;
  }
}

/** A file depends on its path, its mode and its bytes. */
function nameOf({ path, id, mode }: SeenPath): string {
  return `${id} ${mode} ${path}`;
}
