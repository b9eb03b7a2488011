/** A bare repository at one branch: a reader, with the publisher and maintenance. */

import { dirname, join } from 'node:path';
import type { Maintenance } from './maintenance/maintenance.ts';
import { linksOfCommit, type SignCommit } from './objects/commit-object.ts';
import { importPacks } from './packs/pack-import-export.ts';
import { packFolder } from './packs/pack-names.ts';
import { buildPack } from './packs/pack-writer.ts';
import type { GitContext } from './process/git-environment.ts';
import { writeCommitGraph } from './process/git-walk.ts';
import { Batch, type FinishedBatch } from './publication/batch.ts';
import { realFiles } from './publication/durable-files.ts';
import type { Publishing } from './publication/publisher.ts';
import type { AncestryCache } from './reading/ancestry-cache.ts';
import { Reader, type ReaderOptions } from './reading/reader.ts';
import type { RecentObjects } from './reading/recent-objects.ts';
import { moveRef } from './refs/move-ref.ts';
import { readRef } from './refs/ref-file.ts';
import type { CommitBatch, Repository } from './repository.ts';

export interface BareRepositoryParts extends ReaderOptions {
  readonly gitDir: string;
  readonly ref: string;
  readonly recent: RecentObjects;
  readonly ancestry: AncestryCache;
  readonly publisher: Publishing;
  readonly maintenance: Maintenance;
  readonly sign?: SignCommit | undefined;
  readonly resolveHead?: ResolveHead | undefined;
}

/** Maps the branch tip found on disk to the tip that this process counts as current. */
export type ResolveHead = (found: string | undefined) => Promise<string | undefined>;

const MAX_UNCOVERED_BYTES = 8 * 1024 * 1024;

export class BareRepository extends Reader implements Repository {
  readonly gitDir: string;
  readonly ref: string;
  readonly context: GitContext;
  /** Ancestry of recent commits of the branch. */
  readonly ancestry: AncestryCache;
  readonly maxPaths: number | undefined;
  readonly #parts: BareRepositoryParts;
  /** Bytes of pushed commits that the commit-graph file may not have. */
  #uncovered = MAX_UNCOVERED_BYTES;

  constructor(parts: BareRepositoryParts) {
    const { gitDir, ref, ancestry, maxPaths } = parts;
    const context = { gitDir };
    super(context, parts);
    this.gitDir = gitDir;
    this.context = context;
    this.ref = ref;
    this.ancestry = ancestry;
    this.maxPaths = maxPaths;
    this.#parts = parts;
  }

  async head(): Promise<string | undefined> {
    const { resolveHead } = this.#parts;
    const found = await readRef(this.gitDir, this.ref);
    return resolveHead === undefined ? found : await resolveHead(found);
  }

  /**
   * `parent` may be the tip of a batch whose `publish` is still running, so that the next batch is
   * built while the previous one is written to disk.
   */
  begin(parent: string | undefined): CommitBatch {
    return new Batch(parent, {
      treeOf: async (commit) => (await this.rootsOf(commit)).tree,
      load: (id) => this.loadTree(id),
      publish: (batch) => this.#publish(batch),
      store: (batch) => this.#store(batch),
      sign: this.#parts.sign,
    });
  }

  async advance(from: string | undefined, to: string): Promise<void> {
    // Git flushes the packs of a push, but not the folder that they end up in.
    await realFiles.syncDirectory(packFolder(this.gitDir));
    await moveRef(this.gitDir, { ref: this.ref, from, to });
    void this.ancestry.follow(to);
  }

  /** Repacks now, to the end. Returns false when that failed (the failure is logged). */
  maintain(): Promise<boolean> {
    return this.#parts.maintenance.run();
  }

  /** See `Maintenance.runFully`. */
  maintainFully(signal: AbortSignal): Promise<boolean> {
    return this.#parts.maintenance.runFully(signal);
  }

  /**
   * Called after another process (a push, for example) moved the branch. Git flushes the ref file but
   * not its directory. When this resolves, the move survives a power failure.
   * Starts maintenance in the background when it is due.
   */
  async afterExternalMove(): Promise<void> {
    void this.#parts.maintenance.runIfDue();
    await realFiles.syncDirectory(dirname(join(this.gitDir, this.ref))).catch(() => undefined);
  }

  override async close(): Promise<void> {
    const { publisher, recent, maintenance } = this.#parts;
    await publisher.close();
    recent.clear();
    await Promise.all([super.close(), maintenance.close()]);
  }

  /**
   * Call before a push is judged: adds the commits of earlier pushes to the commit-graph file when they are large
   * together. Otherwise git would keep them in memory with their messages, as the tips of all branches.
   */
  async coverCommits(): Promise<void> {
    if (this.#uncovered < MAX_UNCOVERED_BYTES) return;
    this.#uncovered = 0;
    await writeCommitGraph(this.context);
  }

  /** Call with the bytes of the commits of a push that was judged. */
  commitsCame(bytes: number): void {
    this.#uncovered += bytes;
  }

  async #publish(batch: FinishedBatch): Promise<void> {
    await this.#parts.recent.during(batch, async () => {
      await this.#parts.publisher.publish(batch);
      this.ancestry.append(commitsOf(batch));
    });
    this.#parts.maintenance.packAdded();
  }

  async #store(batch: FinishedBatch): Promise<void> {
    await this.#parts.recent.during(batch, () =>
      importPacks(this.gitDir, [buildPack(batch.objects)]),
    );
    this.#parts.maintenance.packAdded();
  }
}

function commitsOf({ objects }: FinishedBatch): { id: string; parents: readonly string[] }[] {
  return objects.flatMap(({ id, type, data }) => {
    const links = type === 'commit' ? linksOfCommit(data) : undefined;
    return links === undefined ? [] : [{ id, parents: links.parents }];
  });
}
