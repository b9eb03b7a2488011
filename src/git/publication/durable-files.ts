/**
 * The calls that make a write durable, and no others: what a crash test must be able to break off
 * before and after each of them. Errors are those of node:fs.
 */
import * as fs from 'node:fs';
import { promisify } from 'node:util';

export interface DurableFile {
  write(bytes: Buffer): Promise<void>;
  /** Content and size are on stable storage; the name is not, see `syncDirectory`. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** A file whose size stays what it is. */
export interface PlacedFile {
  /** Resolves when the bytes are on stable storage. The order of two calls is the caller's to keep. */
  writeAt(bytes: Buffer, position: number): Promise<void>;
  close(): Promise<void>;
}

export interface DurableFiles {
  /** A new, empty file. EEXIST when there is one. */
  create(path: string, mode: number): Promise<DurableFile>;
  /** A file that is there. */
  open(path: string): Promise<PlacedFile>;
  /** Writes to a file that is there and empty. Not flushed. */
  fill(path: string, bytes: Buffer): Promise<void>;
  /** Content and size of a file that is there are on stable storage. */
  syncFile(path: string): Promise<void>;
  /** A second name. EEXIST when it is taken. */
  link(existing: string, path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  makeDirectory(path: string): Promise<void>;
  /** Names that were added to, moved in and removed from a directory are on stable storage. */
  syncDirectory(path: string): Promise<void>;
}

const fsync = promisify(fs.fsync);
const fdatasync = promisify(fs.fdatasync);
const writeFile = promisify(fs.writeFile);
const unlink = promisify(fs.unlink);

/** Larger writes leave the event loop; a small one into the page cache costs less than the way
 * to another thread and back. */
const MAX_BLOCKING_WRITE = 256 * 1024;

/** Only what takes long is done on another thread: fsync, large writes, giving up files. */
export const realFiles: DurableFiles = {
  create: async (path, mode) => openFile(fs.openSync(path, 'wx', mode)),
  open: async (path) => openPlaced(fs.openSync(path, 'r+')),
  fill: async (path, bytes) => {
    const fd = fs.openSync(path, 'r+');
    try {
      writeAll(fd, bytes, 0);
    } finally {
      fs.closeSync(fd);
    }
  },
  syncFile: (path) => syncPath(path),
  link: async (existing, path) => fs.linkSync(existing, path),
  rename: async (from, to) => fs.renameSync(from, to),
  remove: (path) => unlink(path),
  makeDirectory: async (path) => fs.mkdirSync(path),
  syncDirectory: (path) => syncPath(path),
};

async function syncPath(path: string): Promise<void> {
  const fd = fs.openSync(path, 'r');
  try {
    await fsync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

function openPlaced(fd: number): PlacedFile {
  return {
    // The flush begins before the call returns: there is other work to do meanwhile.
    writeAt: async (bytes, position) => {
      writeAll(fd, bytes, position);
      await fdatasync(fd);
    },
    close: async () => fs.closeSync(fd),
  };
}

function writeAll(fd: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += fs.writeSync(fd, bytes, done, bytes.length - done, position + done);
  }
}

function openFile(fd: number): DurableFile {
  return {
    write: async (bytes) => {
      if (bytes.length <= MAX_BLOCKING_WRITE) fs.writeFileSync(fd, bytes);
      else await writeFile(fd, bytes);
    },
    sync: () => fsync(fd),
    close: async () => fs.closeSync(fd),
  };
}

export interface NewFile {
  readonly bytes: Buffer;
  readonly mode: number;
}

/** A new file with its content on stable storage. Leaves nothing open; may leave a part behind. */
export async function writeDurably(
  files: DurableFiles,
  path: string,
  content: NewFile,
): Promise<void> {
  await write(files, path, { ...content, sync: true });
}

/** The same for what a loss of power may take: others see the content, the disk gets it later. */
export async function writeSoon(
  files: DurableFiles,
  path: string,
  content: NewFile,
): Promise<void> {
  await write(files, path, { ...content, sync: false });
}

async function write(
  files: DurableFiles,
  path: string,
  { bytes, mode, sync }: NewFile & { readonly sync: boolean },
): Promise<void> {
  const file = await files.create(path, mode);
  try {
    await file.write(bytes);
    if (sync) await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * The same for the directory of a ref. Git removes one that becomes empty, after it flushed the ref
 * to packed-refs: nothing is left to flush.
 */
export async function syncRefDirectory(files: DurableFiles, path: string): Promise<void> {
  await files.syncDirectory(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  });
}

/** Makes a directory and those above it, each name durable in its parent. */
export async function makeDirectories(files: DurableFiles, path: string): Promise<void> {
  if (fs.existsSync(path)) return;
  const parent = path.slice(0, path.lastIndexOf('/'));
  await makeDirectories(files, parent);
  try {
    await files.makeDirectory(path);
  } catch (error) {
    // Another process may make the same directory for its own ref.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  await files.syncDirectory(parent);
}
