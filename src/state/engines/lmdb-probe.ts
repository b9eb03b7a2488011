/**
 * Checks an LMDB file in a child process: LMDB maps the file into memory and trusts it, so a
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

/** A damaged tree can contain a cycle. A hundred thousand records take well below a second. */
const TIMEOUT_MS = 120_000;

/** Reads every record once; false if that fails for any reason. */
export function lmdbIsReadable(directory: string): Promise<boolean> {
  const args = ['--input-type=module', '-e', SCRIPT, import.meta.resolve('lmdb'), directory];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' }, (error) =>
      resolve(error === null),
    );
  });
}
