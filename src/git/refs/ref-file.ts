/**
 * Reads a branch from disk: a loose file or a line of packed-refs, both changed under `<ref>.lock`.
 * This folder follows the lock protocol of git exactly, so that a push by git and a commit of the
 * daemon never lose each other.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode, GitError } from '../git-error.ts';
import { isObjectId } from '../objects/object-id.ts';
import { HeadMovedError } from '../repository.ts';

/** Current value of a ref; undefined if it does not exist. */
export async function readRef(gitDir: string, ref: string): Promise<string | undefined> {
  const path = join(gitDir, ref);
  const loose = readIfThere(path);
  if (loose !== undefined) return parseLooseRef(loose, path);
  // In this order, because git writes packed-refs before it removes the loose file.
  const packed = readIfThere(join(gitDir, 'packed-refs'));
  return packed === undefined ? undefined : findPackedRef(packed, ref);
}

/** Name of the ref that a symbolic ref points to; undefined for any other ref. */
export function symbolicTarget(gitDir: string, ref: string): string | undefined {
  return targetIn(readIfThere(join(gitDir, ref)) ?? '');
}

/** Throws HeadMovedError if a ref has another value. */
export async function assertHead(
  gitDir: string,
  ref: string,
  expected: string | undefined,
): Promise<void> {
  const actual = await readRef(gitDir, ref);
  if (actual !== expected) throw new HeadMovedError(expected, actual);
}

/**
 * Blocking: it reads some 40 bytes from the page cache, several times per write. The hop to another
 * thread and back costs many times as much.
 */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = errorCode(error);
    // A directory of that name contains other branches, or nothing.
    if (code === 'ENOENT' || code === 'EISDIR' || code === 'ENOTDIR') return undefined;
    throw new GitError(`Cannot read ${path} (${code})`, {
      remedy: 'Check its permissions and the disk',
      cause: error,
    });
  }
}

function parseLooseRef(text: string, path: string): string {
  const value = text.trim();
  if (isObjectId(value)) return value;
  const target = targetIn(text);
  if (target !== undefined) {
    throw new GitError(`${path} is a symbolic ref to ${target}`, {
      remedy: 'Use the branch that it points to',
    });
  }
  throw new GitError(`${path} is corrupt: it does not hold an object id`, {
    remedy:
      'Write the id of the newest good commit into it (`git fsck --lost-found` lists candidates) or restore a backup',
  });
}

function targetIn(text: string): string | undefined {
  return text.startsWith('ref:') ? text.slice(4).trim() : undefined;
}

function findPackedRef(text: string, ref: string): string | undefined {
  const end = text.indexOf(` ${ref}\n`);
  const id = end === -1 ? undefined : text.slice(Math.max(0, end - 40), end);
  return id !== undefined && isObjectId(id) ? id : undefined;
}
