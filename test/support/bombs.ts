/** Objects that are small in a pack and huge when they are walked, made in a repository on disk. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { git } from './git.ts';

export interface Entry {
  readonly mode: '100644' | '040000' | '160000' | '120000';
  readonly name: string | Buffer;
  readonly id: string;
}

export function blob(folder: string, text: string | Buffer = 'x'): string {
  return git(folder, ['hash-object', '-w', '--stdin'], { input: text });
}

/** A tree object as it is given, whatever git thinks of it. */
export function tree(folder: string, entries: readonly Entry[]): string {
  const input = Buffer.concat(
    entries.flatMap(({ mode, name, id }) => [
      Buffer.from(`${mode.replace(/^0/, '')} `),
      Buffer.from(name),
      Buffer.from([0]),
      Buffer.from(id, 'hex'),
    ]),
  );
  return git(folder, ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'], { input });
}

/** `width` equal folders in each of `depth` equal folders: width ** depth files in a few objects. */
export function wideBomb(folder: string, width: number, depth: number): string {
  let id = tree(folder, [{ mode: '100644', name: 'f', id: blob(folder) }]);
  for (let level = 0; level < depth; level += 1) {
    const names = Array.from({ length: width }, (_, i) => `d${String(i).padStart(4, '0')}`);
    id = tree(
      folder,
      names.map((name) => ({ mode: '040000', name, id })),
    );
  }
  return id;
}

/** A chain of folders below each other. */
export function deepBomb(folder: string, depth: number): string {
  let id = tree(folder, [{ mode: '100644', name: 'f', id: blob(folder) }]);
  for (let level = 0; level < depth; level += 1) {
    id = tree(folder, [{ mode: '040000', name: 'd', id }]);
  }
  return id;
}

/** A commit on top of `parent` with one more entry in the root of its tree; on no branch. */
export function commitWithEntry(folder: string, entry: Entry, parent = 'HEAD'): string {
  const kept = git(folder, ['ls-tree', '-z', parent]);
  const entries = kept
    .split('\0')
    .filter((line) => line !== '')
    .map((line): Entry => {
      const [, mode = '', id = '', name = ''] =
        /^(\d+) \w+ ([0-9a-f]{40})\t(.*)$/s.exec(line) ?? [];
      return { mode: mode as Entry['mode'], name, id };
    });
  const all = [...entries, entry].sort((a, b) => Buffer.compare(sortKey(a), sortKey(b)));
  const root = tree(folder, all);
  return git(folder, ['commit-tree', '-p', parent, '-m', 'Add an entry', root]);
}

function sortKey({ mode, name }: Entry): Buffer {
  return Buffer.concat([Buffer.from(name), Buffer.from(mode === '040000' ? '/' : '')]);
}

/**
 * The variable PATH with a git before all others that gets no more than so much memory: what the
 * daemon starts by mistake must not take the machine down.
 */
export function limitedGit(folder: string, kibibytes = 3_000_000): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const real = git('/', ['--exec-path']);
  const script = `#!/bin/sh\nulimit -v ${kibibytes}\nexec ${join(real, 'git')} "$@"\n`;
  writeFileSync(join(bin, 'git'), script);
  chmodSync(join(bin, 'git'), 0o755);
  return `${bin}${delimiter}${process.env['PATH'] ?? ''}`;
}
