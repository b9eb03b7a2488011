/** From what a commit did to paths to what the catalog sees of it: filters, ignore file, reading. */
import { flatMapInSlices, Pauses } from '../apimachinery/pauses.ts';
import { ownText } from '../apimachinery/text.ts';
import { BlobTooLargeError } from '../git/git-error.ts';
import type { PathChange, Repository, TreeFile } from '../git/repository.ts';
import { pathFlaw } from '../git/tree-path.ts';
import {
  IGNORE_FILE,
  leavesTree,
  type PathFilter,
  pathFilter,
  SOPS_CONFIG,
} from '../manifests/layout.ts';
import type { Problem } from '../manifests/manifest.ts';
import { type FileEntry, type FileReader, refuseClear, unreadableFile } from './file.ts';

/** The part of a repository that reading needs; a push in quarantine offers the same. */
export type ObjectSource = Pick<Repository, 'readBlobs' | 'listFiles' | 'context'>;

const SYMLINK = '120000';
const SUBMODULE = '160000';
/** Bound, together, what a push of many large files takes in memory. */
const BLOBS_IN_LOT = 128;
const LOTS_AHEAD = 4;

/**
 * How a repository seals, once it does: from the first commit with a `.sops.yaml` on, secrets in
 * the clear are refused, whatever becomes of that file.
 */
export interface Sealing {
  /** Blobs of the config files by path, the nearest to the manifests first. */
  readonly configs: Readonly<Record<string, string>>;
}

/** Paths of the files that say for whom secrets are sealed, the nearest to the manifests first. */
export function sealingConfigPaths(under: string): string[] {
  return under === '' ? [SOPS_CONFIG] : [`${under}/${SOPS_CONFIG}`, SOPS_CONFIG];
}

/** Which paths count at one revision. Follows the ignore file from commit to commit. */
export class TreeView {
  readonly #under: string;
  #ignoreBlob: string | undefined;
  #filter: PathFilter;
  #sealing: Sealing | undefined;

  constructor(under: string, from?: TreeView) {
    this.#under = under;
    this.#ignoreBlob = from?.ignoreBlob;
    this.#filter = from === undefined ? pathFilter(under, undefined) : from.#filter;
    this.#sealing = from?.sealing;
  }

  /** Undefined: secrets in the clear are taken. */
  get sealing(): Sealing | undefined {
    return this.#sealing;
  }

  get ignoreBlob(): string | undefined {
    return this.#ignoreBlob;
  }

  get #ignorePath(): string {
    return this.#under === '' ? IGNORE_FILE : `${this.#under}/${IGNORE_FILE}`;
  }

  clone(): TreeView {
    return new TreeView(this.#under, this);
  }

  includes(path: string): boolean {
    return this.#filter.includes(path);
  }

  /** Whether a folder or a file of any name is looked into. */
  covers(path: string): boolean {
    return this.#filter.covers(path);
  }

  /** Takes an ignore file by the id of its blob; used when an earlier process is continued. */
  async adopt(
    source: ObjectSource,
    blob: string | undefined,
    sealing: Sealing | undefined = this.#sealing,
  ): Promise<void> {
    this.#sealing = sealing;
    this.#ignoreBlob = blob;
    const [content] = blob === undefined ? [] : await readReadable(source, [blob]);
    this.#filter = pathFilter(this.#under, content?.toString('utf8'));
  }

  /** Takes over what a commit says about sealing. */
  followSealing(changes: readonly PathChange[]): void {
    for (const path of sealingConfigPaths(this.#under)) {
      const change = changes.find((candidate) => candidate.path === path);
      if (change === undefined) continue;
      const { [path]: _before, ...others } = this.#sealing?.configs ?? {};
      const id = change.newId !== undefined && isFile(change.mode) ? change.newId : undefined;
      if (id !== undefined) this.#sealing = { configs: { ...others, [path]: ownText(id) } };
      else if (this.#sealing !== undefined) this.#sealing = { configs: others };
    }
  }

  /** What a file is worth in this tree. */
  judged(file: FileEntry): FileEntry {
    return this.#sealing === undefined ? file : refuseClear(file);
  }

  judgedAll(
    files: ReadonlyMap<string, FileEntry | undefined>,
  ): ReadonlyMap<string, FileEntry | undefined> {
    if (this.#sealing === undefined) return files;
    return new Map([...files].map(([path, file]) => [path, file && this.judged(file)]));
  }

  /** True when the commit changed what is ignored: then every path has to be looked at. */
  changesFilter(changes: readonly PathChange[]): PathChange | undefined {
    const ignorePath = this.#ignorePath;
    return changes.find((change) => change.path === ignorePath);
  }
}

/** One path that counts, as a revision has it. */
export interface SeenPath {
  readonly path: string;
  /** Absent: the path is gone. */
  readonly id: string | undefined;
  readonly mode: string;
}

/**
 * What a commit changed among the paths that count. `known` tells the blob the catalog has for a
 * path, and is asked for everything only when the ignore file changed.
 */
export async function seenPaths(of: {
  view: TreeView;
  source: ObjectSource;
  revision: string;
  changes: readonly PathChange[];
  under: string;
  known: Iterable<FileEntry>;
}): Promise<SeenPath[]> {
  const { view, source, revision, changes } = of;
  view.followSealing(changes);
  const ignoreChange = view.changesFilter(changes);
  if (ignoreChange === undefined) {
    return await flatMapInSlices(changes, ({ path, newId: id, mode }) =>
      view.includes(path) ? [{ path, id, mode }] : [],
    );
  }
  // Before anything else has a turn.
  const known = [...of.known];
  // Links and submodules are never followed; such a path ignores nothing.
  await view.adopt(source, isFile(ignoreChange.mode) ? ignoreChange.newId : undefined);
  const files = await source.listFiles(revision, of.under);
  return treeDifference(
    known,
    files.filter((file) => view.includes(file.path)),
  );
}

function isFile(mode: string): boolean {
  return mode !== SYMLINK && mode !== SUBMODULE;
}

function treeDifference(known: Iterable<FileEntry>, files: readonly TreeFile[]): SeenPath[] {
  const now = new Map<string, SeenPath>(files.map((file) => [file.path, file]));
  const seen: SeenPath[] = [];
  for (const entry of known) {
    const file = now.get(entry.path);
    if (file === undefined) seen.push({ path: entry.path, id: undefined, mode: '000000' });
    else if (file.id === entry.blob) now.delete(entry.path);
  }
  return [...seen, ...now.values()];
}

/** Called once for each path, in no particular order; undefined: there is no such file. */
type Taker = (seen: SeenPath, entry: FileEntry | undefined) => void;

/** The files behind the paths. */
export async function readPaths(
  source: ObjectSource,
  reader: FileReader,
  paths: readonly SeenPath[],
): Promise<Map<string, FileEntry | undefined>> {
  const files = new Map<string, FileEntry | undefined>();
  await readEach({ source, reader }, paths, ({ path }, entry) => {
    // One text of each path is enough.
    files.set(entry?.path ?? path, entry);
  });
  return files;
}

interface From {
  readonly source: ObjectSource;
  readonly reader: FileReader;
}

/**
 * Reads the manifests behind the paths, a bounded number of blobs at a time. Git fetches the next
 * ones while one lot is parsed.
 */
export async function readEach(
  { source, reader }: From,
  paths: readonly SeenPath[],
  take: Taker,
): Promise<void> {
  const turns = new Pauses();
  const blobs: BlobPath[] = [];
  for (const seen of paths) {
    if (turns.due) await turns.pause();
    const blob = blobOf(seen, take);
    if (blob !== undefined) blobs.push(blob);
  }
  const left = await readElsewhere({ source, reader }, blobs, take);
  for await (const { lot, contents } of lotsOf({ source, reader }, left)) {
    for (const [i, seen] of lot.entries()) {
      if (turns.due) await turns.pause();
      const content = contents[i];
      const { path, id } = seen;
      take(seen, content === undefined ? tooLarge(path, id) : reader.read(path, id, content));
    }
  }
}

/** Undefined where nothing has to be read to know what is there: that is taken. */
function blobOf(seen: SeenPath, take: Taker): BlobPath | undefined {
  const { path, id, mode } = seen;
  if (id === undefined) {
    take(seen, undefined);
    return undefined;
  }
  const flaw = flawOf(path, mode);
  if (flaw === undefined) return { path, id, mode };
  take(seen, flawed(path, id, flaw));
  return undefined;
}

/** Many files are read by other threads. Returns those that are not. */
async function readElsewhere(
  { source, reader }: { readonly source: ObjectSource; readonly reader: FileReader },
  blobs: readonly BlobPath[],
  take: Taker,
): Promise<readonly BlobPath[]> {
  const { context } = source;
  if (context === undefined || reader.crew === undefined) return blobs;
  return await reader.crew.read(context, blobs, take);
}

async function* lotsOf(from: From, blobs: readonly BlobPath[]): AsyncGenerator<Lot> {
  const lots: Promise<Lot>[] = [];
  for (let start = 0; start < blobs.length; start += BLOBS_IN_LOT) {
    lots.push(readLot(from, blobs.slice(start, start + BLOBS_IN_LOT)));
    if (lots.length < LOTS_AHEAD) continue;
    const lot = await lots.shift();
    if (lot !== undefined) yield lot;
  }
  for (const lot of lots) yield await lot;
}

interface BlobPath extends SeenPath {
  readonly id: string;
}

interface Lot {
  readonly lot: readonly BlobPath[];
  /** Undefined where a blob is too large to be read at all: it harms only its own file. */
  readonly contents: readonly (Buffer | undefined)[];
}

function readLot({ source, reader }: From, lot: readonly BlobPath[]): Promise<Lot> {
  const ids = lot.map(({ id }) => id);
  const read = readReadable(source, ids).then(async (contents) => {
    await reader.prepare(contents);
    return { lot, contents };
  });
  // Awaited in its turn; until then a failure must not count as unhandled.
  read.catch(() => undefined);
  return read;
}

/** Contents in the order of `ids`; undefined for those that are too large. */
async function readReadable(
  source: ObjectSource,
  ids: readonly string[],
): Promise<(Buffer | undefined)[]> {
  const tooLarge = new Set<string>();
  for (;;) {
    const wanted = ids.filter((id) => !tooLarge.has(id));
    try {
      const contents = await source.readBlobs(wanted);
      if (tooLarge.size === 0) return contents;
      const byId = new Map(wanted.map((id, i) => [id, contents[i]]));
      return ids.map((id) => byId.get(id));
    } catch (error) {
      if (!(error instanceof BlobTooLargeError) || tooLarge.has(error.id)) throw error;
      tooLarge.add(error.id);
    }
  }
}

/** Why a path is not read, whatever it leads to. */
export function flawOf(path: string, mode: string): string | undefined {
  if (mode === SYMLINK) return 'A symbolic link is never followed; commit the file itself';
  if (mode === SUBMODULE) return 'A submodule is never followed; commit the file itself';
  if (leavesTree(path)) return 'The path leads out of its tree and is never followed';
  // What can be read could never be written, and no clone could be checked out everywhere.
  const flaw = pathFlaw(path);
  return flaw === undefined ? undefined : `The path cannot be used: ${flaw}; rename the file`;
}

/** Links to folders and submodules, which would else be passed over without a word. */
export function linkWarnings(view: TreeView, changes: readonly PathChange[]): Problem[] {
  return changes.flatMap(({ path, newId, mode }) => {
    if (newId === undefined || isFile(mode) || view.includes(path) || !view.covers(path)) return [];
    const what = mode === SYMLINK ? 'symbolic link' : 'submodule';
    const message = `A ${what} is never followed: what it leads to is no part of the platform`;
    return [{ path, line: 1, col: 1, message }];
  });
}

function tooLarge(path: string, blob: string): FileEntry {
  return flawed(path, blob, 'The file is far too large for manifests; split it');
}

function flawed(path: string, blob: string, message: string): FileEntry {
  return unreadableFile(path, blob, { line: 1, col: 1, message });
}
