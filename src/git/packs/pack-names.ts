/** File names of packs that gitplane writes. */

import { readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { thisOwner } from '../../files/index.ts';
import { isLeftOver } from '../refs/ref-lock.ts';

export interface PackNames {
  readonly pack: string;
  readonly index: string;
  /** Ignored by git, which removes old `tmp_*` files when it prunes. */
  readonly newPack: string;
  readonly newIndex: string;
}

const newFile = /^tmp_gitplane-([0-9a-f]{40})-(.+)-\d+_(?:pack|idx)$/;

export function packFolder(gitDir: string): string {
  return join(gitDir, 'objects', 'pack');
}

/** The permanent pack that a temporary file is, or becomes; undefined for other files. */
export function packOfTemporaryFile(name: string): string | undefined {
  const [, checksum] = newFile.exec(name) ?? [];
  return checksum === undefined ? undefined : `pack-${checksum}`;
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
 * Names of a short-lived pack, which a checkpoint soon replaces. It is named after the tip of its
 * batch, and git reads it like any other pack. The pack has its final name from the start, since git
 * looks for indexes.
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

/** Takes the name of a file in the pack folder. */
export function isShortLived(name: string): boolean {
  return SHORT_LIVED.test(name);
}

/** File names of the short-lived packs, by the commit in their name. */
export async function shortLivedPacks(gitDir: string): Promise<ReadonlyMap<string, string[]>> {
  const packs = new Map<string, string[]>();
  for (const name of (await readdir(packFolder(gitDir))).sort()) {
    const [, tip] = SHORT_LIVED.exec(name) ?? [];
    if (tip !== undefined) packs.set(tip, [...(packs.get(tip) ?? []), name]);
  }
  return packs;
}

/**
 * Removes files of crashed processes from the pack folder. A pack without an index is removed only if
 * the temporary index of the same pack is beside it: then gitplane wrote it.
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

async function unlinkIfThere(path: string): Promise<void> {
  await unlink(path).catch(() => undefined);
}
