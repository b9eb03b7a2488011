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

export interface DurableFiles {
  /** A new, empty file. EEXIST when there is one. */
  create(path: string, mode: number): Promise<DurableFile>;
  /** A second name. EEXIST when it is taken. */
  link(existing: string, path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  makeDirectory(path: string): Promise<void>;
  /** Names that were added to, moved in and removed from a directory are on stable storage. */
  syncDirectory(path: string): Promise<void>;
}

const fsync = promisify(fs.fsync);
const writeFile = promisify(fs.writeFile);

/** Larger writes leave the event loop; a small one into the page cache costs less than the way
 * to another thread and back. */
const MAX_BLOCKING_WRITE = 256 * 1024;

/** Only what waits for the disk is done on another thread: fsync, and large writes. */
export const realFiles: DurableFiles = {
  create: async (path, mode) => openFile(fs.openSync(path, 'wx', mode)),
  link: async (existing, path) => fs.linkSync(existing, path),
  rename: async (from, to) => fs.renameSync(from, to),
  remove: async (path) => fs.unlinkSync(path),
  makeDirectory: async (path) => fs.mkdirSync(path),
  syncDirectory: async (path) => {
    const fd = fs.openSync(path, 'r');
    try {
      await fsync(fd);
    } finally {
      fs.closeSync(fd);
    }
  },
};

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

/** A new file with its content on stable storage. Leaves nothing open; may leave a part behind. */
export async function writeDurably(
  files: DurableFiles,
  path: string,
  content: { readonly bytes: Buffer; readonly mode: number },
): Promise<void> {
  const file = await files.create(path, content.mode);
  try {
    await file.write(content.bytes);
    await file.sync();
  } finally {
    await file.close();
  }
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
