/** A bare repository at one branch: combines the reader, the publisher and maintenance. */

import { dirname, join } from 'node:path';
import type { Maintenance } from './maintenance/maintenance.ts';
import { linksOfCommit, type SignCommit, treeOfCommit } from './objects/commit-object.ts';
import { Tree } from './objects/tree.ts';
import { importPacks } from './packs/pack-import-export.ts';
import { packFolder } from './packs/pack-names.ts';
import { buildPack } from './packs/pack-writer.ts';
import type { GitContext } from './process/git-environment.ts';
import { Batch, type FinishedBatch } from './publication/batch.ts';
import { realFiles } from './publication/durable-files.ts';
import type { Publishing } from './publication/publisher.ts';
import type { AncestryCache } from './reading/ancestry-cache.ts';
import type { Reader } from './reading/reader.ts';
import type { RecentObjects } from './reading/recent-objects.ts';
import { moveRef } from './refs/move-ref.ts';
import { readRef } from './refs/ref-file.ts';
import type {
  CommitBatch,
  CommitMetadata,
  FolderWidths,
  HistoryCommit,
  HistoryComparison,
  LimitCheck,
  LimitsOf,
  PathChange,
  PushedTips,
  PushObjection,
  Repository,
  TreeFile,
} from './repository.ts';

export interface BareRepositoryParts {
  readonly gitDir: string;
  readonly ref: string;
  readonly reader: Reader;
  readonly recent: RecentObjects;
  readonly ancestry: AncestryCache;
  readonly publisher: Publishing;
  readonly maintenance: Maintenance;
  readonly sign: SignCommit | undefined;
  readonly resolveHead?: ResolveHead | undefined;
  /** Limit for the files and folders of one tree. */
  readonly maxPaths?: number | undefined;
}

/** Maps the branch tip found on disk to the tip that this process counts as current. */
export type ResolveHead = (found: string | undefined) => Promise<string | undefined>;

export class BareRepository implements Repository {
  readonly gitDir: string;
  readonly ref: string;
  readonly context: GitContext;
  /** Ancestry of recent commits of the branch. */
  readonly ancestry: AncestryCache;
  readonly maxPaths: number | undefined;
  readonly #reader: Reader;
  readonly #recent: RecentObjects;
  readonly #publisher: Publishing;
  readonly #maintenance: Maintenance;
  readonly #sign: SignCommit | undefined;
  readonly #resolveHead: ResolveHead | undefined;

  constructor(parts: BareRepositoryParts) {
    this.gitDir = parts.gitDir;
    this.context = { gitDir: parts.gitDir };
    this.ref = parts.ref;
    this.ancestry = parts.ancestry;
    this.#reader = parts.reader;
    this.#recent = parts.recent;
    this.#publisher = parts.publisher;
    this.#maintenance = parts.maintenance;
    this.#sign = parts.sign;
    this.#resolveHead = parts.resolveHead;
    this.maxPaths = parts.maxPaths;
  }

  async head(): Promise<string | undefined> {
    const found = await readRef(this.gitDir, this.ref);
    return this.#resolveHead === undefined ? found : await this.#resolveHead(found);
  }

  listFiles(revision: string, under?: string): Promise<TreeFile[]> {
    return this.#reader.listFiles(revision, under);
  }

  diff(from: string | undefined, to: string): Promise<PathChange[]> {
    return this.#reader.diff(from, to);
  }

  diffAt(from: string, to: string, paths: readonly string[]): Promise<PathChange[]> {
    return this.#reader.diffAt(from, to, paths, (id) => this.#loadTree(id));
  }

  readBlobs(ids: readonly string[]): Promise<Buffer[]> {
    return this.#reader.readBlobs(ids);
  }

  readCommits(ids: readonly string[]): Promise<Buffer[]> {
    return this.#reader.readCommits(ids);
  }

  mergeBases(one: string, other: string): Promise<string[]> {
    return this.#reader.mergeBases(one, other);
  }

  history(
    from: string | undefined,
    to: string,
    against?: HistoryComparison,
  ): AsyncIterable<HistoryCommit> {
    return this.#reader.history(from, to, against);
  }

  newHistory(tips: readonly string[]): AsyncIterable<HistoryCommit> {
    return this.#reader.newHistory(tips);
  }

  rootCommit(revision: string): Promise<string> {
    return this.#reader.rootCommit(revision);
  }

  isAncestor(ancestor: string, descendant: string): Promise<boolean> {
    return this.#reader.isAncestor(ancestor, descendant);
  }

  commitMetadata(commit: string): Promise<CommitMetadata> {
    return this.#reader.commitMetadata(commit);
  }

  folderWidths(commit: string): Promise<FolderWidths> {
    return this.#reader.folderWidths(commit);
  }

  checkLimits(commit: string, of?: LimitsOf): Promise<LimitCheck> {
    return this.#reader.checkLimits(commit, of);
  }

  objectionsTo(pushed: PushedTips): Promise<readonly PushObjection[]> {
    return this.#reader.objectionsTo(pushed);
  }

  /**
   * `parent` may be the tip of a batch whose `publish` is still running, so that the next batch is
   * built while the previous one is written to disk.
   */
  begin(parent: string | undefined): CommitBatch {
    return new Batch(parent, {
      treeOf: (commit) => this.#treeOf(commit),
      load: (id) => this.#loadTree(id),
      publish: (batch) => this.#publish(batch),
      store: (batch) => this.#store(batch),
      sign: this.#sign,
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
    return this.#maintenance.run();
  }

  /** See `Maintenance.runFully`. */
  maintainFully(signal: AbortSignal): Promise<boolean> {
    return this.#maintenance.runFully(signal);
  }

  /**
   * Called after another process (a push, for example) moved the branch. Git flushes the ref file but
   * not its directory. When this resolves, the move survives a power failure.
   * Starts maintenance in the background when it is due.
   */
  async afterExternalMove(): Promise<void> {
    void this.#maintenance.runIfDue();
    await realFiles.syncDirectory(dirname(join(this.gitDir, this.ref))).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#publisher.close();
    this.#recent.clear();
    await Promise.all([this.#reader.close(), this.#maintenance.close()]);
  }

  async #publish(batch: FinishedBatch): Promise<void> {
    await this.#recent.during(batch, async () => {
      await this.#publisher.publish(batch);
      this.ancestry.append(commitsOf(batch));
    });
    this.#maintenance.packAdded();
  }

  async #store(batch: FinishedBatch): Promise<void> {
    await this.#recent.during(batch, () => importPacks(this.gitDir, [buildPack(batch.objects)]));
    this.#maintenance.packAdded();
  }

  async #treeOf(commit: string): Promise<string> {
    const known = this.#recent.rootsOf(commit);
    if (known !== undefined) return known.tree;
    return treeOfCommit(await this.#reader.readObject(commit, 'commit'), commit);
  }

  async #loadTree(id: string): Promise<Tree> {
    const known = this.#recent.tree(id);
    if (known !== undefined) return known;
    const tree = Tree.parse(await this.#reader.readObject(id, 'tree'));
    this.#recent.addTree(id, tree);
    return tree;
  }
}

function commitsOf({ objects }: FinishedBatch): { id: string; parents: readonly string[] }[] {
  return objects.flatMap(({ id, type, data }) => {
    const links = type === 'commit' ? linksOfCommit(data) : undefined;
    return links === undefined ? [] : [{ id, parents: links.parents }];
  });
}
