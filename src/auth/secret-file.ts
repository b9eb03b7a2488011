/**
 * Small files, mostly secrets: written atomically, readable only by the owner unless a mode is given.
 * A crash at any point leaves the old file or the new one.
 */
import { link, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { temporaryPath } from '../files/index.ts';

export const OWNER_ONLY = 0o600;

/** Makes the file unless it exists. Returns whether it did. */
export function createFile(path: string, text: string, mode = OWNER_ONLY): Promise<boolean> {
  return named(path, create(path, text, mode));
}

/** Makes the file or replaces it. */
export function replaceFile(path: string, text: string, mode = OWNER_ONLY): Promise<void> {
  return named(path, replace(path, text, mode));
}

async function create(path: string, text: string, mode: number): Promise<boolean> {
  const temporary = await writeBeside(path, text, mode);
  try {
    await link(temporary, path);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await unlink(temporary);
  }
  await syncDirectory(path);
  return true;
}

async function replace(path: string, text: string, mode: number): Promise<void> {
  const temporary = await writeBeside(path, text, mode);
  try {
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary);
    throw error;
  }
  await syncDirectory(path);
}

/** The text of a file, or undefined when there is none. Other failures name the file. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot read ${path}: ${why}`, { cause: error });
  }
}

async function writeBeside(path: string, text: string, mode: number): Promise<string> {
  const temporary = temporaryPath(path);
  const file = await open(temporary, 'wx', mode);
  try {
    // The umask may have taken bits away that a public file should have.
    await file.chmod(mode);
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
  return temporary;
}

/** So that the new name survives a power cut too. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** A system call on an open file fails without the name of the file. The code of the error stays. */
async function named<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    const words = `cannot write ${path}: ${why}; check the disk and the permissions`;
    throw Object.assign(new Error(words, { cause }), { code });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
