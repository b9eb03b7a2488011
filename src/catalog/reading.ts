/** Reads the files of paths: excludes unreadable paths, and bounds parallel reads. */
import { Yielding } from '../apimachinery/index.ts';
import { BlobTooLargeError, pathFlaw, type Repository } from '../git/index.ts';
import { leavesTree } from '../manifests/index.ts';
import { mayBeSealed } from '../sealing/index.ts';
import { type DocumentEncryption, encryptionIn } from './encryption.ts';
import { canBeCopied, FileCopy, type FileEntry, unreadableFile } from './file.ts';
import { type FileReader, LARGEST_FILE, type LargeFile, type WantedFile } from './file-reader.ts';

/** Methods of a repository for reading; a push in quarantine has the same. */
export type ObjectSource = Pick<Repository, 'readBlobs' | 'listFiles' | 'context'>;

/** A manifest path at a revision. */
export interface SeenPath {
  readonly path: string;
  /** Absent: the path is gone. */
  readonly id: string | undefined;
  readonly mode: string;
}

export const SYMLINK = '120000';
export const SUBMODULE = '160000';
/** Together these bound the memory of a push of many large files. */
const BLOBS_PER_BATCH = 128;
const LOTS_AHEAD = 4;

/** Called once for each path, in no particular order; undefined: there is no such file. */
type Taker = (seen: SeenPath, entry: FileEntry | undefined) => void;
type BlobTaker = (file: WantedFile, entry: FileEntry) => void;

/** The files of the paths. */
export async function readPaths(
  source: ObjectSource,
  reader: FileReader,
  paths: readonly SeenPath[],
): Promise<Map<string, FileEntry | undefined>> {
  const files = new Map<string, FileEntry | undefined>();
  await readEach({ source, reader }, paths, ({ path }, entry) => {
    // One string per path is enough.
    files.set(entry?.path ?? path, entry);
  });
  return files;
}

interface From {
  readonly source: ObjectSource;
  readonly reader: FileReader;
}

/**
 * Reads the manifests of the paths, a bounded number of blobs at a time. Git fetches the next batch
 * while one is parsed.
 */
export async function readEach(from: From, paths: readonly SeenPath[], take: Taker): Promise<void> {
  const turns = new Yielding();
  const blobs: WantedFile[] = [];
  const alike = new AlikeFiles(from.reader);
  for (const seen of paths) {
    if (turns.due) await turns.pause();
    const blob = blobOf(seen, take);
    if (blob !== undefined && !alike.add(blob)) blobs.push(blob);
  }
  const originals: FileEntry[] = [];
  await readBlobs(from, blobs, (file, entry) => {
    if (alike.of(entry) !== undefined) originals.push(entry);
    take(file, entry);
  });
  const left: WantedFile[] = [];
  for (const entry of originals) {
    const others = alike.of(entry) ?? [];
    if (canBeCopied(entry)) await takeCopies(from, { entry, others }, take);
    else for (const other of others) left.push(other);
  }
  if (left.length > 0) await readBlobs(from, left, take);
}

async function takeCopies(
  { reader }: From,
  { entry, others }: { readonly entry: FileEntry; readonly others: readonly WantedFile[] },
  take: BlobTaker,
): Promise<void> {
  const turns = new Yielding();
  reader.counter?.advance(others.length);
  for (const other of others) {
    if (turns.due) await turns.pause();
    take(other, new FileCopy(other.path, entry));
  }
}

/** Files with the blob of a file that comes first, in a place with the same defaults. */
class AlikeFiles {
  readonly #reader: FileReader;
  readonly #first = new Map<string, WantedFile>();
  readonly #others = new Map<WantedFile, WantedFile[]>();

  constructor(reader: FileReader) {
    this.#reader = reader;
  }

  /** Adds a file. True if it is like one that came first. */
  add(file: WantedFile): boolean {
    const name = this.#nameOf(file.id, file.path);
    if (name === undefined) return false;
    const first = this.#first.get(name);
    if (first === undefined) {
      this.#first.set(name, file);
      return false;
    }
    const others = this.#others.get(first);
    if (others === undefined) this.#others.set(first, [file]);
    else others.push(file);
    return true;
  }

  /** Those that are like this file, which came first. */
  of({ blob, path }: FileEntry): readonly WantedFile[] | undefined {
    const name = this.#nameOf(blob, path);
    const first = name === undefined ? undefined : this.#first.get(name);
    return first?.path === path ? this.#others.get(first) : undefined;
  }

  #nameOf(blob: string, path: string): string | undefined {
    const defaults = this.#reader.defaultsOf(path);
    return defaults === '' ? blob : defaults && `${blob} ${defaults}`;
  }
}

async function readBlobs(
  { source, reader }: From,
  blobs: readonly WantedFile[],
  take: BlobTaker,
): Promise<void> {
  const turns = new Yielding();
  // The pool counts its own.
  const left = await readElsewhere({ source, reader }, blobs, take);
  for await (const { batch, contents } of lotsOf({ source, reader }, left)) {
    const large: LargeFile[] = [];
    reader.counter?.advance(batch.length);
    for (const [i, seen] of batch.entries()) {
      if (turns.due) await turns.pause();
      const content = contents[i];
      const { path, id } = seen;
      if (content === undefined) take(seen, tooLarge(path, id));
      else if (isForThread(reader, content)) large.push({ ...seen, content });
      else take(seen, reader.read(path, id, content));
    }
    await readLarge(reader, large, take);
  }
}

/** A smaller file takes a parser some milliseconds at most. */
const LARGE_BYTES = 32 * 1024;
/** The pattern of an encrypted file is matched with its keys, which takes some 100 ms at most. */
const LARGE_SEALED_BYTES = 4 * 1024;

/** True if reading the file would block this thread for too long. */
function isForThread({ pool }: Pick<FileReader, 'pool'>, content: Buffer): boolean {
  const { length } = content;
  if (pool === undefined || length <= LARGE_SEALED_BYTES || length > LARGEST_FILE) return false;
  return length > LARGE_BYTES || mayBeSealed(content);
}

/** Encryption of the documents of a file. */
export async function encryptionOf(
  reader: Pick<FileReader, 'pool'>,
  content: Buffer,
): Promise<readonly DocumentEncryption[]> {
  if (!mayBeSealed(content)) return [];
  if (!isForThread(reader, content)) return encryptionIn(content);
  return (await reader.pool?.encryptionIn(content)) ?? [];
}

async function readLarge(
  { pool }: FileReader,
  files: readonly LargeFile[],
  take: BlobTaker,
): Promise<void> {
  if (files.length === 0 || pool === undefined) return;
  const entries = await pool.readLarge(files);
  for (const [i, entry] of entries.entries()) {
    const { [i]: file } = files;
    if (file === undefined) continue;
    const { content: _content, ...seen } = file;
    take(seen, entry);
  }
}

/** Undefined if the result is known without reading: `take` gets it. */
function blobOf(seen: SeenPath, take: Taker): WantedFile | undefined {
  if (!isPresent(seen)) {
    take(seen, undefined);
    return undefined;
  }
  const { path, id, mode } = seen;
  const flaw = flawOf(path, mode);
  if (flaw === undefined) return seen;
  take(seen, flawed(path, id, flaw));
  return undefined;
}

function isPresent(seen: SeenPath): seen is WantedFile {
  return seen.id !== undefined;
}

/** Reads many files in other threads. Returns those that were not read. */
async function readElsewhere(
  { source, reader }: { readonly source: ObjectSource; readonly reader: FileReader },
  blobs: readonly WantedFile[],
  take: BlobTaker,
): Promise<readonly WantedFile[]> {
  const { context } = source;
  if (context === undefined || reader.pool === undefined) return blobs;
  return await reader.pool.read(context, blobs, take);
}

async function* lotsOf(from: From, blobs: readonly WantedFile[]): AsyncGenerator<Batch> {
  const batches: Promise<Batch>[] = [];
  for (let start = 0; start < blobs.length; start += BLOBS_PER_BATCH) {
    batches.push(readBatch(from, blobs.slice(start, start + BLOBS_PER_BATCH)));
    if (batches.length < LOTS_AHEAD) continue;
    const batch = await batches.shift();
    if (batch !== undefined) yield batch;
  }
  for (const batch of batches) yield await batch;
}

interface Batch {
  readonly batch: readonly WantedFile[];
  /** Undefined for a blob that is too large to read: it affects only its own file. */
  readonly contents: readonly (Buffer | undefined)[];
}

function readBatch({ source, reader }: From, batch: readonly WantedFile[]): Promise<Batch> {
  const ids = batch.map(({ id }) => id);
  const read = readReadable(source, ids).then(async (contents) => {
    await reader.prepare(contents);
    return { batch, contents };
  });
  // Awaited later; until then a rejection must not count as unhandled.
  read.catch(() => undefined);
  return read;
}

/** Contents in the order of `ids`; undefined for those that are too large. */
export async function readReadable(
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
      for (const id of error.ids) tooLarge.add(id);
    }
  }
}

/** Reason why a path is not read, whatever it refers to. */
export function flawOf(path: string, mode: string): string | undefined {
  if (mode === SYMLINK) return 'A symbolic link is never followed; commit the file itself';
  if (mode === SUBMODULE) return 'A submodule is never followed; commit the file itself';
  if (leavesTree(path)) return 'The path leads out of its tree and is never followed';
  // Such a path could never be written, and not every clone could check it out.
  const flaw = pathFlaw(path);
  return flaw === undefined ? undefined : `The path cannot be used: ${flaw}; rename the file`;
}

function tooLarge(path: string, blob: string): FileEntry {
  return flawed(path, blob, 'The file is far too large for manifests; split it');
}

function flawed(path: string, blob: string, message: string): FileEntry {
  return unreadableFile(path, blob, { line: 1, col: 1, message });
}
