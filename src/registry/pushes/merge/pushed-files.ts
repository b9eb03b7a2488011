/**
 * Manifests of a push, each read once: before the mutex is taken, so that a large push holds it only
 * for the verdict.
 */
import {
  type FileEntry,
  type FileReader,
  readEach,
  type SeenPath,
  type TreeView,
} from '../../../catalog/index.ts';
import type { HistoryCommit, Repository } from '../../../git/index.ts';

/** Files of a push that are read ahead; the others are read when they are needed. */
const MAX_READ_AHEAD = 20_000;

export type FileSource = Pick<Repository, 'readBlobs' | 'listFiles' | 'context'>;

export class PushedFiles {
  readonly #reader: FileReader;
  readonly #known = new Map<string, FileEntry | undefined>();

  constructor(reader: FileReader) {
    this.#reader = reader;
  }

  /** Commits of a range, parents first, with the files read that they add or change. */
  async commits(
    source: FileSource & Pick<Repository, 'history'>,
    { from, to }: { readonly from: string | undefined; readonly to: string },
    view: TreeView,
  ): Promise<readonly HistoryCommit[]> {
    const commits: HistoryCommit[] = [];
    for await (const commit of source.history(from, to)) commits.push(commit);
    // The first commits of a branch are replayed, and a replay reads ahead itself.
    if (from === undefined) return commits;
    await this.readAhead(source, commits, view);
    return commits;
  }

  /** Reads files that the commits add or change, as far as the view includes them. */
  async readAhead(
    source: FileSource,
    commits: readonly HistoryCommit[],
    view: TreeView,
  ): Promise<void> {
    const paths: SeenPath[] = [];
    for (const { changes } of commits) {
      for (const { path, newId: id, mode } of changes[0] ?? []) {
        if (paths.length === MAX_READ_AHEAD) break;
        if (id !== undefined && view.includes(path)) paths.push({ path, id, mode });
      }
    }
    await this.read(source, paths);
  }

  /** The files of the paths; undefined: there is none. */
  async read(
    source: FileSource,
    paths: readonly SeenPath[],
  ): Promise<Map<string, FileEntry | undefined>> {
    const missing = new Map<string, SeenPath>();
    for (const seen of paths) {
      if (seen.id !== undefined && !this.#known.has(nameOf(seen))) missing.set(nameOf(seen), seen);
    }
    const from = { source, reader: this.#reader };
    await readEach(from, [...missing.values()], (seen, entry) => {
      this.#known.set(nameOf(seen), entry);
    });
    return new Map(paths.map((seen) => [seen.path, this.#known.get(nameOf(seen))]));
  }
}

function nameOf({ path, id, mode }: SeenPath): string {
  return `${id} ${mode} ${path}`;
}
