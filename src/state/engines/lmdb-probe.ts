/**
 * Checks and copies LMDB files in a child process: LMDB maps the file into memory and trusts it, so a
 * damaged or truncated one ends the reader with a signal instead of an error.
 */
import { execFile } from 'node:child_process';

const SCRIPT = `
const [lmdb, directory] = process.argv.slice(1);
const { open } = await import(lmdb);
const db = open(directory, { readOnly: true, keyEncoding: 'binary', encoding: 'binary' });
let entries = 0;
for (const { value } of db.getRange()) entries += value.length < 0 ? 0 : 1;
process.exit(entries === db.getStats().entryCount ? 0 : 1);`;

const COPY = `
const [lmdb, directory, target] = process.argv.slice(1);
const { open } = await import(lmdb);
await open(directory, { readOnly: true, keyEncoding: 'binary', encoding: 'binary' }).backup(target, true);
process.exit(0);`;

/** A damaged tree can contain a cycle. A hundred thousand records take well below a second. */
const TIMEOUT_MS = 120_000;
const COPY_WITHIN_MS = 60 * 60 * 1000;

/** Reads every record once; false if that fails for any reason. */
export function lmdbIsReadable(directory: string): Promise<boolean> {
  return runScript(SCRIPT, [directory], TIMEOUT_MS);
}

/**
 * Copies the state at one instant into an empty folder, also while another process writes it. False
 * if that fails for any reason.
 */
export function copyLmdb(directory: string, target: string): Promise<boolean> {
  return runScript(COPY, [directory, target], COPY_WITHIN_MS);
}

function runScript(script: string, values: readonly string[], timeout: number): Promise<boolean> {
  const args = ['--input-type=module', '-e', script, import.meta.resolve('lmdb'), ...values];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout, killSignal: 'SIGKILL' }, (error) =>
      resolve(error === null),
    );
  });
}
