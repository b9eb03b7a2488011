/** Working copies of the hosted repository, and the output of their pushes. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import type { Daemon, RunResult } from '../support/daemon.ts';

/** A manifest of the management group; `spec` is what stands behind `spec:`. */
export function manifest(kind: string, name: string, spec = '{}', namespace = ''): string {
  const place = namespace === '' ? '' : `\n  namespace: ${namespace}`;
  return `apiVersion: management.gitplane.dev/v1\nkind: ${kind}\nmetadata:\n  name: ${name}${place}\nspec: ${spec}\n`;
}

/** Runs git in a folder and returns its output; fails the test when git fails. */
export async function gitIn(daemon: Daemon, folder: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await daemon.git(args, folder);
  expect(code, `git ${args.join(' ')}: ${stderr}`).toBe(0);
  return stdout.trim();
}

/** Writes files (null removes one) and commits them. */
export async function commitFiles(
  daemon: Daemon,
  clone: string,
  files: Readonly<Record<string, string | null>>,
): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(clone, path);
    await mkdir(dirname(file), { recursive: true });
    if (text === null) await rm(file);
    else await writeFile(file, text);
  }
  await gitIn(daemon, clone, 'add', '--all');
  await gitIn(daemon, clone, 'commit', '-qm', `Change ${Object.keys(files).join(' and ')}`);
}

/** Output of the hook, line by line. */
export function hookSaid({ stderr }: RunResult): string[] {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('remote: '))
    .map((line) => line.slice('remote: '.length).trim())
    .filter((line) => line !== '');
}
