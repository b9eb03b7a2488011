/** The key that seals secret records: a file beside the state directory, never inside it. */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { temporaryPath } from '../../files/index.ts';
import { StateError } from '../state-error.ts';

const STATE_KEY_BYTES = 32;

/** Reads the 32 bytes of the key, or creates it (mode 0600) on first use. */
export function loadStateKey(path: string): Buffer {
  try {
    return readKey(path) ?? makeKey(path);
  } catch (error) {
    if (error instanceof StateError) throw error;
    throw new StateError(`the state key ${path} cannot be read or made: ${String(error)}`, {
      cause: error,
    });
  }
}

function readKey(path: string): Buffer | undefined {
  let text: string;
  try {
    text = fs.readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
  if (!/^[0-9a-f]{64}$/.test(text)) {
    throw new StateError(
      `the state key ${path} is not ${STATE_KEY_BYTES} bytes in hexadecimal; put the right file back, or delete it together with the state directory, which is rebuilt from git`,
    );
  }
  return Buffer.from(text, 'hex');
}

/**
 * The file appears whole and on stable storage, or not at all. If two processes race, `link` lets
 * one win, and both read that file.
 */
function makeKey(path: string): Buffer {
  const key = randomBytes(STATE_KEY_BYTES);
  const draft = temporaryPath(path);
  try {
    fs.writeFileSync(draft, `${key.toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true });
    fs.linkSync(draft, path);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
    return readKey(path) ?? makeKey(path);
  } finally {
    fs.rmSync(draft, { force: true });
  }
  syncDirectory(dirname(path));
  return key;
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function syncDirectory(path: string): void {
  const fd = fs.openSync(path, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
