/**
 * Reads the commits of a replay and their files ahead, many commits at a time: otherwise the replay of
 * small commits would wait for git once per commit. It is a guess: missing files are read on demand.
 * Only a window of commits is in memory, and a commit with many changes is read once the replay is there.
 */
import type { HistoryCommit } from '../git/index.ts';
import type { FileEntry } from './file.ts';
import type { FileReader } from './file-reader.ts';
import { type ObjectSource, readEach, readPaths, type SeenPath } from './reading.ts';
import type { TreeView } from './tree.ts';

interface Window {
  readonly commits: readonly HistoryCommit[];
  readonly files: Promise<ReadonlyMap<string, FileEntry>>;
}

/** Files, or commits, per window; a commit with more files is a window of its own, and read when it is replayed. */
export const WINDOW = 1024;

export class ReadAhead {
  readonly #source: ObjectSource;
  readonly #reader: FileReader;
  readonly #history: AsyncIterator<HistoryCommit>;
  /** The first commit of the window to come. */
  #held: HistoryCommit | undefined;
  #commits: readonly HistoryCommit[] = [];
  #at = 0;
  #files: ReadonlyMap<string, FileEntry> = new Map();
  /** Undefined: it is not read ahead. */
  #next: Promise<Window> | undefined;
  #view: TreeView;
  /** Files of the commits so far. */
  #expected = 0;

  /** `view` is the one before the first commit; commits are in replay order. */
  constructor(
    { repository, reader }: { readonly repository: ObjectSource; readonly reader: FileReader },
    history: AsyncIterable<HistoryCommit>,
    view: TreeView,
  ) {
    this.#source = repository;
    this.#reader = reader;
    this.#history = history[Symbol.asyncIterator]();
    this.#view = view;
  }

  /** The next commit; undefined after the last one. */
  async next(): Promise<HistoryCommit | undefined> {
    if (this.#at === this.#commits.length) {
      // A list of a million changes goes before the next one comes.
      this.#commits = [];
      const { commits, files } = await (this.#next ?? this.#begin());
      this.#next = undefined;
      this.#files = await files;
      this.#commits = commits;
      this.#at = 0;
    }
    const commit = this.#commits[this.#at];
    this.#at += 1;
    return commit;
  }

  /** Must be called after `next`, with the view of the first parent. */
  reach(view: TreeView): void {
    this.#view = view;
    if (this.#at !== 1 || this.#commits.some(isLong)) return;
    this.#next = this.#begin();
    // The replay awaits it later; until then a rejection must not count as unhandled.
    this.#next.catch(() => undefined);
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

  /** Ends the walk of history. */
  async close(): Promise<void> {
    await this.#next?.catch(() => undefined);
    await this.#history.return?.();
  }

  async #begin(): Promise<Window> {
    const view = this.#view;
    const wanted = new Map<string, SeenPath>();
    const commits: HistoryCommit[] = [];
    while (wanted.size < WINDOW && commits.length < WINDOW) {
      const commit = this.#held ?? (await this.#pull());
      this.#held = undefined;
      if (commit === undefined) break;
      const [changes = []] = commit.changes;
      // From an ignore file on, only that determines the files.
      const isAlone = isLong(commit) || view.changesFilter(changes) !== undefined;
      if (isAlone && commits.length > 0) {
        this.#held = commit;
        break;
      }
      commits.push(commit);
      if (isAlone) break;
      for (const { path, newId: id, mode } of changes) {
        const seen = { path, id, mode };
        if (id !== undefined && view.includes(path)) wanted.set(nameOf(seen), seen);
      }
    }
    const files = this.#readAll(wanted);
    files.catch(() => undefined);
    return { commits, files };
  }

  async #pull(): Promise<HistoryCommit | undefined> {
    const { value, done } = await this.#history.next();
    if (done === true) return undefined;
    const [changes = []] = value.changes;
    for (const { newId } of changes) if (newId !== undefined) this.#expected += 1;
    this.#reader.counter?.expect(this.#expected);
    return value;
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

function isLong({ changes: [changes = []] }: HistoryCommit): boolean {
  return changes.length > WINDOW;
}

/** A file depends on its path, its mode and its bytes. */
function nameOf({ path, id, mode }: SeenPath): string {
  return `${id} ${mode} ${path}`;
}
