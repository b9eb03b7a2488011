/** A bare repository at one branch: reading, writing and upkeep put together. */

import { dirname, join } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { Maintenance } from './maintenance/maintenance.ts';
import { type CommitSignature, treeOfCommit } from './objects/commit-object.ts';
import { Tree } from './objects/tree.ts';
import type { GitContext } from './process/git-environment.ts';
import { Batch, type FinishedBatch } from './publication/batch.ts';
import { realFiles } from './publication/durable-files.ts';
import type { Publishing } from './publication/publisher.ts';
import type { Reader } from './reading/reader.ts';
import { readRef } from './refs/ref-file.ts';
import type {
  Bounded,
  CommitBatch,
  CommitNote,
  HistoryCommit,
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
  readonly publisher: Publishing;
  readonly maintenance: Maintenance;
  readonly sign: CommitSignature | undefined;
  readonly settle?: HeadSettlement | undefined;
  /** Files and folders of a tree that is read. */
  readonly maxPaths?: number | undefined;
}

/** From where the branch is on the disk to where it counts as being. */
export type HeadSettlement = (found: string | undefined) => Promise<string | undefined>;

const TREE_CACHE_BYTES = 64 * 1024 * 1024;
/** Commits whose tree is remembered: the next batch begins on one of the last. */
const REMEMBERED_COMMITS = 64;

export class BareRepository implements Repository {
  readonly gitDir: string;
  readonly ref: string;
  readonly context: GitContext;
  readonly maxPaths: number | undefined;
  readonly #reader: Reader;
  readonly #publisher: Publishing;
  readonly #maintenance: Maintenance;
  readonly #sign: CommitSignature | undefined;
  readonly #settle: HeadSettlement | undefined;
  /** By id. */
  readonly #trees = new LRUCache<string, Tree>({
    maxSize: TREE_CACHE_BYTES,
    sizeCalculation: ({ weight }) => weight,
  });
  readonly #commitTrees = new Map<string, string>();
  /** Batches on their way to disk: the next one may begin on top of them. */
  readonly #publishing = new Set<FinishedBatch>();

  constructor(parts: BareRepositoryParts) {
    this.gitDir = parts.gitDir;
    this.context = { gitDir: parts.gitDir };
    this.ref = parts.ref;
    this.#reader = parts.reader;
    this.#publisher = parts.publisher;
    this.#maintenance = parts.maintenance;
    this.#sign = parts.sign;
    this.#settle = parts.settle;
    this.maxPaths = parts.maxPaths;
  }

  async head(): Promise<string | undefined> {
    const found = await readRef(this.gitDir, this.ref);
    return this.#settle === undefined ? found : await this.#settle(found);
  }

  listFiles(revision: string, under?: string): Promise<TreeFile[]> {
    return this.#reader.listFiles(revision, under);
  }

  diff(from: string | undefined, to: string): Promise<PathChange[]> {
    return this.#reader.diff(from, to);
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

  history(from: string | undefined, to: string): AsyncIterable<HistoryCommit> {
    return this.#reader.history(from, to);
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

  noteOf(commit: string): Promise<CommitNote> {
    return this.#reader.noteOf(commit);
  }

  boundsOf(commit: string): Promise<Bounded> {
    return this.#reader.boundsOf(commit);
  }

  objectionsTo(pushed: PushedTips): Promise<readonly PushObjection[]> {
    return this.#reader.objectionsTo(pushed);
  }

  /**
   * `parent` may also be the tip of a batch whose `publish` was called and has not returned: the
   * next group is then built while the last one is on its way to disk.
   */
  begin(parent: string | undefined): CommitBatch {
    return new Batch(parent, {
      treeOf: (commit) => this.#treeOf(commit),
      load: (id) => this.#loadTree(id),
      publish: (batch) => this.#publish(batch),
      sign: this.#sign,
    });
  }

  /** Packs what came together, now and to the end. False when that failed (and was logged). */
  maintain(): Promise<boolean> {
    return this.#maintenance.run();
  }

  /** See `Maintenance.runFully`. */
  maintainFully(signal: AbortSignal): Promise<boolean> {
    return this.#maintenance.runFully(signal);
  }

  /**
   * Somebody else moved the branch (a push, say). Git flushes the file of a ref but not its
   * directory: when this resolves, the move survives a power cut. Packs in the background when due.
   */
  async noteForeignWrite(): Promise<void> {
    void this.#maintenance.runIfDue();
    await realFiles.syncDirectory(dirname(join(this.gitDir, this.ref))).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#publisher.settled();
    await Promise.all([this.#reader.close(), this.#maintenance.close()]);
  }

  async #publish(batch: FinishedBatch): Promise<void> {
    this.#publishing.add(batch);
    try {
      await this.#publisher.publish(batch);
      for (const [id, tree] of batch.trees) this.#trees.set(id, tree);
      this.#rememberTree(batch.tip, batch.tipTree);
      this.#maintenance.packAdded();
    } finally {
      this.#publishing.delete(batch);
    }
  }

  async #treeOf(commit: string): Promise<string> {
    for (const batch of this.#publishing) if (batch.tip === commit) return batch.tipTree;
    const known = this.#commitTrees.get(commit);
    if (known !== undefined) return known;
    const tree = treeOfCommit(await this.#reader.readObject(commit, 'commit'), commit);
    this.#rememberTree(commit, tree);
    return tree;
  }

  async #loadTree(id: string): Promise<Tree> {
    for (const batch of this.#publishing) {
      const tree = batch.find(id);
      if (tree !== undefined) return tree;
    }
    const cached = this.#trees.get(id);
    if (cached !== undefined) return cached;
    const tree = Tree.parse(await this.#reader.readObject(id, 'tree'));
    this.#trees.set(id, tree);
    return tree;
  }

  #rememberTree(commit: string, tree: string): void {
    this.#commitTrees.set(commit, tree);
    for (const oldest of this.#commitTrees.keys()) {
      if (this.#commitTrees.size <= REMEMBERED_COMMITS) break;
      this.#commitTrees.delete(oldest);
    }
  }
}
