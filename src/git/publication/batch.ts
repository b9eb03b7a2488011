/** A chain of commits, built in memory and published as one pack. */

import { Mutex } from '../../concurrency/index.ts';
import { GitError, PathError } from '../git-error.ts';
import { encodeCommit, type SignCommit } from '../objects/commit-object.ts';
import { applyDelta, treeDelta } from '../objects/delta.ts';
import { DeltaChains } from '../objects/delta-chains.ts';
import { assertObjectId, type ObjectType, objectId } from '../objects/object-id.ts';
import { Tree } from '../objects/tree.ts';
import { editTree, type FileEdit, type NewTree, treeOfFolder } from '../objects/tree-editor.ts';
import { pathFlaw } from '../objects/tree-path.ts';
import type { PackObject } from '../packs/pack-writer.ts';
import type { CommitBatch, FolderEntries, NewCommit } from '../repository.ts';
import type { Publication } from './publisher.ts';

export interface BatchParts {
  /** Tree id of a commit outside the batch. */
  treeOf(commit: string): Promise<string>;
  /** Loads a tree outside the batch. */
  load(id: string): Promise<Tree>;
  publish(batch: FinishedBatch): Promise<void>;
  /** Makes the objects durable without moving the branch. */
  store(batch: FinishedBatch): Promise<void>;
  /** Signs every commit; undefined: commits are not signed. */
  readonly sign?: SignCommit | undefined;
}

export interface FinishedBatch extends Publication {
  readonly tip: string;
  readonly tipTree: string;
  /** Newest tree of every changed directory, by id. */
  readonly trees: ReadonlyMap<string, Tree>;
  /** Ids of the trees before the batch that `trees` replace. */
  readonly replaced: ReadonlySet<string>;
  /** Finds any tree that the batch made. */
  find(tree: string): Tree | undefined;
}

/** Objects of one commit. They become part of the batch when the commit is complete. */
interface Draft {
  readonly objects: Map<string, PackObject>;
  readonly trees: NewTree[];
}

export class Batch implements CommitBatch {
  readonly #parent: string | undefined;
  readonly #parts: BatchParts;
  #tip: string | undefined;
  #tipTree: string | undefined;
  /** In order of creation. */
  readonly #objects = new Map<string, PackObject>();
  /** Newest tree of every changed directory, by id. */
  readonly #trees = new Map<string, Tree>();
  readonly #replaced = new Set<string>();
  readonly #chains = new DeltaChains();
  /** One commit is added at a time, whether or not callers wait. */
  readonly #adding = new Mutex();
  #published = false;

  constructor(parent: string | undefined, parts: BatchParts) {
    if (parent !== undefined) assertObjectId(parent);
    this.#parent = parent;
    this.#tip = parent;
    this.#parts = parts;
  }

  get tip(): string | undefined {
    return this.#tip;
  }

  add(commit: NewCommit): Promise<{ id: string }> {
    return this.#adding.run(() => this.#add(commit));
  }

  async publish(): Promise<void> {
    await this.#adding.idle();
    const finished = this.#finish();
    if (finished !== undefined) await this.#parts.publish(finished);
  }

  async store(): Promise<void> {
    await this.#adding.idle();
    const finished = this.#finish();
    if (finished !== undefined) await this.#parts.store(finished);
  }

  /** Undefined: the batch has no commit. */
  #finish(): FinishedBatch | undefined {
    if (this.#published) throw new GitError('A batch can be published only once');
    this.#published = true;
    const [tip, tipTree] = [this.#tip, this.#tipTree];
    if (tip === undefined || tipTree === undefined || this.#objects.size === 0) return undefined;
    return {
      parent: this.#parent,
      tip,
      tipTree,
      objects: [...this.#objects.values()],
      trees: this.#trees,
      replaced: this.#replaced,
      find: (id) => this.#find(id),
    };
  }

  #find(id: string): Tree | undefined {
    const newest = this.#trees.get(id);
    if (newest !== undefined || this.#objects.get(id)?.type !== 'tree') return newest;
    // The tree was replaced in one directory, but another directory may have the same content.
    return Tree.parse(this.#content(id));
  }

  #content(id: string): Buffer {
    const { data, base } = this.#objects.get(id) ?? { data: Buffer.alloc(0), base: undefined };
    return base === undefined ? data : applyDelta(this.#content(base), data);
  }

  async #add(commit: NewCommit): Promise<{ id: string }> {
    if (this.#published) throw new GitError('The batch was published: start a new one');
    const draft: Draft = { objects: new Map(), trees: [] };
    const edits = commit.changes.map((change): FileEdit => {
      if ('blob' in change) return change;
      const { path, content } = change;
      if (content === null) return { path, blob: undefined };
      const flaw = pathFlaw(path);
      if (flaw !== undefined) throw new PathError(path, flaw);
      return { path, blob: put(draft, 'blob', content) };
    });
    const tree = await this.#editTree(edits, draft);
    const id = put(draft, 'commit', this.#encode(commit, tree));
    this.#accept(draft);
    this.#tip = id;
    this.#tipTree = tree;
    return { id };
  }

  #encode(commit: NewCommit, tree: string): Buffer {
    const parents = [this.#tip, commit.merged].filter((parent) => parent !== undefined);
    const content = encodeCommit(commit, tree, parents);
    const { sign } = this.#parts;
    return sign === undefined ? content : withSignature(content, sign(content));
  }

  readFolder(folder: string): Promise<FolderEntries | undefined> {
    return this.#adding.run(async () => {
      return await treeOfFolder(await this.#rootTree(), folder, (id) => this.#load(id));
    });
  }

  async #rootTree(): Promise<string | undefined> {
    if (this.#tipTree === undefined && this.#tip !== undefined) {
      this.#tipTree = await this.#parts.treeOf(this.#tip);
    }
    return this.#tipTree;
  }

  async #load(id: string): Promise<Tree> {
    return this.#find(id) ?? (await this.#parts.load(id));
  }

  async #editTree(edits: readonly FileEdit[], draft: Draft): Promise<string> {
    const edited = await editTree(await this.#rootTree(), edits, {
      load: (id) => this.#load(id),
      made: (tree) => draft.trees.push(tree),
    });
    return edited ?? put(draft, 'tree', Tree.empty.bytes);
  }

  #accept(draft: Draft): void {
    for (const tree of draft.trees) this.#acceptTree(tree);
    for (const [id, object] of draft.objects) {
      if (!this.#objects.has(id)) this.#objects.set(id, object);
    }
  }

  #acceptTree(made: NewTree): void {
    const { id, tree, origin } = made;
    this.#trees.set(id, tree);
    if (this.#objects.has(id)) return;
    if (origin !== undefined) {
      if (this.#objects.has(origin.id)) this.#trees.delete(origin.id);
      else this.#replaced.add(origin.id);
    }
    this.#objects.set(id, this.#treeObject(made));
  }

  /** A delta against an older tree of the batch where that pays. */
  #treeObject({ id, tree, origin }: NewTree): PackObject {
    const delta = origin && treeDelta(origin.tree.bytes, tree.bytes, origin.splices);
    if (origin !== undefined && delta !== undefined && delta.length * 2 <= tree.bytes.length) {
      const stored = this.#chains.extend(id, origin.id, delta);
      if (stored !== undefined) return { id, type: 'tree', data: stored.delta, base: stored.base };
      this.#chains.addWhole(id);
      return { ...object('tree', id, tree.bytes), thin: { base: origin.id, delta } };
    }
    this.#chains.addWhole(id);
    return object('tree', id, tree.bytes);
  }
}

/** Adds the signature behind the other headers, as git does: `gpgsig`, then lines with a leading blank. */
function withSignature(content: Buffer, signature: string): Buffer {
  const end = content.indexOf('\n\n') + 1;
  const lines = signature.trimEnd().replaceAll('\n', '\n ');
  const header = Buffer.from(`gpgsig ${lines}\n`, 'latin1');
  return Buffer.concat([content.subarray(0, end), header, content.subarray(end)]);
}

function put(draft: Draft, type: ObjectType, content: Buffer): string {
  const id = objectId(type, content);
  draft.objects.set(id, object(type, id, content));
  return id;
}

function object(type: ObjectType, id: string, data: Buffer): PackObject {
  return { id, type, data, base: undefined };
}
