/**
 * One folder for whatever a run of the tests puts into the temporary directory, removed when the run
 * ends. Workers are killed when they are done, and clean up nothing then.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const RETRIES = { maxRetries: 20, retryDelay: 100 };

/** Called once per project of the run, before its workers. */
export function setup(): void {
  if (process.env['GITPLANE_TEST_ROOT'] !== undefined) return;
  const folder = mkdtempSync(join(tmpdir(), 'gitplane-'));
  // Peers that run as another user, such as Apache, have folders of their own in it.
  chmodSync(folder, 0o711);
  process.env['GITPLANE_TEST_ROOT'] = folder;
  process.env['TMPDIR'] = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, ...RETRIES }));
}
