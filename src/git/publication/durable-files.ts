/**
 * The file system calls that make a write durable. Crash tests stop before and after each of them.
 * Errors are those of node:fs.
 */
import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { errorCode } from '../git-error.ts';

export interface DurableFile {
  write(bytes: Buffer): Promise<void>;
  /** Flushes content and size. The name needs `syncDirectory`. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** An open file of fixed size. */
export interface FixedSizeFile {
  /** Resolves when the bytes are on stable storage. Concurrent calls have no order. */
  writeAt(bytes: Buffer, position: number): Promise<void>;
  close(): Promise<void>;
}

export interface DurableFiles {
  /** Creates an empty file. Rejects with EEXIST if it exists. */
  create(path: string, mode: number): Promise<DurableFile>;
  /** Opens an existing file. */
  open(path: string): Promise<FixedSizeFile>;
  /** Writes to an existing, empty file, without a flush. */
  fill(path: string, bytes: Buffer): Promise<void>;
  /** Flushes content and size of an existing file. */
  syncFile(path: string): Promise<void>;
  /** Adds a hard link. Rejects with EEXIST if the name is taken. */
  link(existing: string, path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  makeDirectory(path: string): Promise<void>;
  /** Flushes the names that were added to, moved in and removed from a directory. */
  syncDirectory(path: string): Promise<void>;
}

const fsync = promisify(fs.fsync);
const fdatasync = promisify(fs.fdatasync);
const writeFile = promisify(fs.writeFile);
const unlink = promisify(fs.unlink);

/**
 * Larger writes run on the thread pool. A small write to the page cache takes less time than the hop
 * to another thread and back.
 */
const MAX_BLOCKING_WRITE = 256 * 1024;

/** Only slow calls run on the thread pool: fsync, large writes, and the removal of files. */
export const realFiles: DurableFiles = {
  create: async (path, mode) => openFile(fs.openSync(path, 'wx', mode)),
  open: async (path) => openFixedSize(fs.openSync(path, 'r+')),
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

function openFixedSize(fd: number): FixedSizeFile {
  return {
    // The flush starts before the call returns, so that the caller can work meanwhile.
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

/** Writes a new file and flushes it. A failure may leave an incomplete file. */
export async function writeDurably(
  files: DurableFiles,
  path: string,
  content: NewFile,
): Promise<void> {
  await write(files, path, { ...content, sync: true });
}

/** Like `writeDurably`, without the flush: other processes see the content, a power failure may lose it. */
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
 * Like `syncDirectory`, for the directory of a ref. Git removes a directory that becomes empty after it
 * flushed the ref to packed-refs: then nothing is left to flush.
 */
export async function syncRefDirectory(files: DurableFiles, path: string): Promise<void> {
  await files.syncDirectory(path).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
}

/** Removes a file, which need not exist. */
export async function removeIfThere(files: DurableFiles, path: string): Promise<void> {
  await files.remove(path).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
}

/** Creates a directory and its parents, and flushes each name in its parent. */
export async function makeDirectories(files: DurableFiles, path: string): Promise<void> {
  if (fs.existsSync(path)) return;
  const parent = path.slice(0, path.lastIndexOf('/'));
  await makeDirectories(files, parent);
  try {
    await files.makeDirectory(path);
  } catch (error) {
    // Another process may create the same directory for its own ref.
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  await files.syncDirectory(parent);
}
