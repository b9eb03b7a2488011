/**
 * Manifests of a push, each read once: before the mutex is taken, so that a large push holds it only
 * for the verdict.
 */
import {
  type FileEntry,
  type FileReader,
  readPaths,
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
    const paths = commits
      .flatMap(({ changes }) => changes[0] ?? [])
      .filter(({ path, newId }) => newId !== undefined && view.includes(path))
      .slice(0, MAX_READ_AHEAD)
      .map(({ path, newId: id, mode }): SeenPath => ({ path, id, mode }));
    await this.read(source, paths);
    return commits;
  }

  /** The files of the paths; undefined: there is none. */
  async read(
    source: FileSource,
    paths: readonly SeenPath[],
  ): Promise<Map<string, FileEntry | undefined>> {
    const missing = paths.filter((seen) => seen.id !== undefined && !this.#known.has(nameOf(seen)));
    const byPath = new Map<string, SeenPath[]>();
    // One read has one version per path.
    for (const seen of missing) byPath.set(seen.path, [...(byPath.get(seen.path) ?? []), seen]);
    for (
      let round = 0;
      round < Math.max(0, ...[...byPath.values()].map((all) => all.length));
      round += 1
    ) {
      const batch = [...byPath.values()].flatMap((all) => all[round] ?? []);
      const files = await readPaths(source, this.#reader, batch);
      for (const seen of batch) this.#known.set(nameOf(seen), files.get(seen.path));
    }
    return new Map(paths.map((seen) => [seen.path, this.#known.get(nameOf(seen))]));
  }
}

function nameOf({ path, id, mode }: SeenPath): string {
  return `${id} ${mode} ${path}`;
}
