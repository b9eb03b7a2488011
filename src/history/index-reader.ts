/**
 * Reads the history of the branch into a `CommitIndex`: completely at first, then incrementally.
 */
import { setImmediate } from 'node:timers/promises';
import { ownText } from '../apimachinery/index.ts';
import {
  type Catalog,
  type DocumentEntry,
  type FileReader,
  followedPaths,
  readEach,
  type SeenPath,
  sealingConfigPaths,
} from '../catalog/index.ts';
import type { HistoryCommit, PathChange, Repository } from '../git/index.ts';
import { IGNORE_FILE, type PathFilter, pathFilter } from '../manifests/index.ts';
import type { CommitIndex, PathHistory } from './commit-index.ts';

export interface IndexContext {
  readonly repository: Pick<Repository, 'history' | 'readBlobs' | 'listFiles'>;
  readonly reader: FileReader;
  /** Folder with the manifests; '' is the whole tree. */
  readonly under: string;
  /** Files that were read before: the contents of a blob at a path never change. */
  readonly known: () => Pick<Catalog, 'file'>;
}

const FILE = '100644';
const BLOBS_AT_ONCE = 256;
/** Interval at which reading yields to the event loop. */
const LONGEST_HOLD_MS = 10;

/** Files that affect the reading of others: the ignore file and the SOPS configuration. */
export function rulePaths(under: string): string[] {
  return [ignorePath(under), ...sealingConfigPaths(under)];
}

/** Path of the ignore file of a folder. */
export function ignorePath(under: string): string {
  return under === '' ? IGNORE_FILE : `${under}/${IGNORE_FILE}`;
}

/**
 * Adds the commits between `from`, the head of the index, and `to`. False: `to` does not descend
 * from there. After that, or a rejection, the index must be dropped.
 */
export async function extendIndex(
  context: IndexContext,
  index: CommitIndex,
  range: { readonly from: string | undefined; readonly to: string },
): Promise<boolean> {
  const { from, to } = range;
  const adder = new Adder(context, index);
  let follows = from === undefined;
  const scope = { against: 'first parent', paths: followedPaths(context.under) } as const;
  for await (const commit of context.repository.history(from, to, scope)) {
    if (!follows) follows = commit.parents.some((parent) => parent === from);
    if (!commit.parents.every((parent) => index.ordinal(parent) !== undefined)) return false;
    await adder.add(commit);
  }
  await adder.finish();
  return follows;
}

class Adder {
  readonly #context: IndexContext;
  readonly #index: CommitIndex;
  readonly #filter: PathFilter;
  readonly #rulePaths: ReadonlySet<string>;
  /** Versions that have to be read for the keys of their objects. */
  #unread: SeenPath[] = [];
  #held = performance.now();

  constructor(context: IndexContext, index: CommitIndex) {
    this.#context = context;
    this.#index = index;
    this.#filter = pathFilter(context.under, undefined);
    this.#rulePaths = new Set(rulePaths(context.under));
  }

  async add(commit: HistoryCommit): Promise<void> {
    const at = this.#index.add({ ...commit, id: ownText(commit.id) });
    for (const change of commit.changes[0] ?? []) {
      // The ignore file differs between commits, so every manifest counts.
      const isManifest = this.#filter.includes(change.path);
      if (isManifest || this.#rulePaths.has(change.path)) this.#note(at, change, isManifest);
      if (this.#unread.length >= BLOBS_AT_ONCE) await this.#read();
      await this.#rest();
    }
  }

  #note(at: number, change: PathChange, isManifest: boolean): void {
    const { mode, newId } = change;
    const known = this.#context.known().file(change.path);
    const same = known !== undefined && known.blob === newId;
    // Shares the strings of the catalog if possible: there are many.
    const blob = same ? known.blob : newId && ownText(newId);
    const path = known?.path ?? this.#index.path(change.path)?.path ?? ownText(change.path);
    const history = this.#index.addVersion(path, { at, blob, mode: mode === FILE ? FILE : mode });
    if (!isManifest || blob === undefined) return;
    // A link that became a file has the same blob, but the catalog did not read the link.
    const isRead = same && known.documents.every(({ key }) => key !== undefined);
    if (isRead) this.#name(history, known.documents);
    else this.#unread.push({ path, id: blob, mode });
  }

  async finish(): Promise<void> {
    if (this.#unread.length > 0) await this.#read();
  }

  async #read(): Promise<void> {
    const unread = this.#unread;
    this.#unread = [];
    const { repository: source, reader } = this.#context;
    await readEach({ source, reader }, unread, ({ path }, entry) => {
      const history = this.#index.path(path);
      if (history !== undefined && entry !== undefined) this.#name(history, entry.documents);
    });
  }

  #name(history: PathHistory, documents: readonly DocumentEntry[]): void {
    for (const { key } of documents) if (key !== undefined) this.#index.addKey(history, key);
  }

  async #rest(): Promise<void> {
    if (performance.now() - this.#held < LONGEST_HOLD_MS) return;
    await setImmediate();
    this.#held = performance.now();
  }
}
