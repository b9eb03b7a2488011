/**
 * The verdicts of a real API server of Kubernetes, as files: `npm run kubernetes` finds out whether
 * they still are its verdicts, and every run of the tests whether they are ours. With
 * `GITPLANE_RECORD` set the files are written instead.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Judged } from './case.ts';

const FOLDER = join(import.meta.dirname, 'verdicts');

export const isRecording = process.env['GITPLANE_RECORD'] !== undefined;

/** `name`: an area of cases, or `gitplane` for where we differ. */
export function readVerdicts(name: string): Judged {
  const file = join(FOLDER, `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}

export function writeVerdicts(name: string, verdicts: unknown): void {
  writeFileSync(join(FOLDER, `${name}.json`), `${JSON.stringify(verdicts, null, 2)}\n`);
}
