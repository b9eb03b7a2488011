/**
 * Small files that hold secrets or go with them: written whole or not at all, readable by the owner
 * only unless said otherwise. A crash at any instruction leaves the old file or the new one.
 */
import { randomBytes } from 'node:crypto';
import { link, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

export const OWNER_ONLY = 0o600;

/** Makes the file unless it exists. Returns whether it did. */
export async function createFile(path: string, text: string, mode = OWNER_ONLY): Promise<boolean> {
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

/** Makes the file or replaces it. */
export async function replaceFile(path: string, text: string, mode = OWNER_ONLY): Promise<void> {
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
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const file = await open(temporary, 'wx', mode);
  try {
    // The umask may have taken bits away that a public file should have.
    await file.chmod(mode);
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    await unlink(temporary);
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

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
