/** The real sops, where it is installed: on the PATH, or where `.ci/run` puts it. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, PROGRAM_CACHE } from '../support/programs.ts';

export function findSops(): string | undefined {
  return findProgram('sops');
}

/** Releases that people still have, by their first two numbers. */
export const OLDER_RELEASES = ['3.8', '3.9', '3.10'] as const;
export type OlderRelease = (typeof OLDER_RELEASES)[number];

/** The program of `sops-<version>` beside the cache of the newest one. */
export function findOlderSops(release: OlderRelease): string | undefined {
  const cache = join(PROGRAM_CACHE, '..');
  const folders = existsSync(cache) ? readdirSync(cache) : [];
  const folder = folders.find((name) => name.startsWith(`sops-${release}.`));
  const file = folder && join(cache, folder, 'sops');
  return file !== undefined && existsSync(file) ? file : undefined;
}

/** Runs sops in a folder with the identities of a file. */
export class Sops {
  readonly folder: string;
  readonly #program: string;

  constructor(program: string, folder: string) {
    this.#program = program;
    this.folder = folder;
  }

  identities(...identities: readonly string[]): void {
    writeFileSync(join(this.folder, 'keys.txt'), `${identities.join('\n')}\n`, { mode: 0o600 });
  }

  run(...args: readonly string[]): string {
    return execFileSync(this.#program, ['--disable-version-check', ...args], {
      cwd: this.folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, SOPS_AGE_KEY_FILE: join(this.folder, 'keys.txt') },
    });
  }
}
