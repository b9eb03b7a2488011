/** The names of a pack of ours, while it is written and after. */
import { lstat, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbandoned, thisOwner } from '../../files/index.ts';

export interface PackNames {
  readonly pack: string;
  readonly index: string;
  /** Git looks at neither; it removes `tmp_*` when it prunes, once they are old. */
  readonly newPack: string;
  readonly newIndex: string;
}

const newFile = /^tmp_gitplane-([0-9a-f]{40})-(.+)-\d+_(?:pack|idx)$/;

export function packFolder(gitDir: string): string {
  return join(gitDir, 'objects', 'pack');
}

let counter = 0;

export function packNames(gitDir: string, checksum: string, owner: string): PackNames {
  const folder = packFolder(gitDir);
  const unique = join(folder, `tmp_gitplane-${checksum}-${owner}-${counter++}`);
  return {
    pack: join(folder, `pack-${checksum}.pack`),
    index: join(folder, `pack-${checksum}.idx`),
    newPack: `${unique}_pack`,
    newIndex: `${unique}_idx`,
  };
}

const SHORT_LIVED = /^pack-gitplane-([0-9a-f]{40})\./;

/**
 * Of a pack that another one will soon replace, named after the commit that it ends with: git takes
 * it for a pack like any other. The pack has its name from the beginning, as git looks for indexes.
 */
export function shortLivedNames(gitDir: string, tip: string, owner: string): PackNames {
  const folder = packFolder(gitDir);
  const pack = join(folder, `pack-gitplane-${tip}.pack`);
  return {
    pack,
    index: join(folder, `pack-gitplane-${tip}.idx`),
    newPack: pack,
    newIndex: join(folder, `tmp_gitplane-${tip}-${owner}-${counter++}_idx`),
  };
}

/** Of a file in the pack folder. */
export function isShortLived(name: string): boolean {
  return SHORT_LIVED.test(name);
}

/** Names of their files, by the commit that they are named after. */
export async function shortLivedPacks(gitDir: string): Promise<ReadonlyMap<string, string[]>> {
  const packs = new Map<string, string[]>();
  for (const name of (await readdir(packFolder(gitDir))).sort()) {
    const [, tip] = SHORT_LIVED.exec(name) ?? [];
    if (tip !== undefined) packs.set(tip, [...(packs.get(tip) ?? []), name]);
  }
  return packs;
}

/**
 * Removes what crashed processes left in the pack folder. A pack without an index is removed only
 * where the index of that very pack lies beside it under its unfinished name: that one is ours.
 */
export async function removeAbandonedPacks(gitDir: string): Promise<void> {
  const folder = packFolder(gitDir);
  const names = await readdir(folder);
  const present = new Set(names);
  for (const name of names) {
    const [, checksum = '', owner = ''] = newFile.exec(name) ?? [];
    const path = join(folder, name);
    if (owner === '' || owner === thisOwner || !(await isLeftOver(path, owner))) continue;
    const pack = `pack-${checksum}`;
    if (name.endsWith('_idx') && present.has(`${pack}.pack`) && !present.has(`${pack}.idx`)) {
      await unlinkIfThere(join(folder, `${pack}.pack`));
    }
    await unlinkIfThere(path);
  }
}

async function isLeftOver(path: string, owner: string): Promise<boolean> {
  const file = await lstat(path).catch(() => undefined);
  return file !== undefined && isAbandoned(owner, Date.now() - file.mtimeMs);
}

async function unlinkIfThere(path: string): Promise<void> {
  await unlink(path).catch(() => undefined);
}
