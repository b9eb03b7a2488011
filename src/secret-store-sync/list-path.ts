/**
 * Lists all secrets below a path of a store, folder by folder. An entry that is missing from a
 * listing proves nothing.
 */

import { type FolderList, isStoreWide } from '../secret-store-client/index.ts';
import { StoreError } from '../secrets-merge/index.ts';

/** An unusable path, with the reason for reports. */
export interface Refused {
  /** Relative to the mount. */
  readonly path: string;
  readonly reason: string;
  readonly message: string;
}

export interface ListedPath {
  /** Relative to the mount, sorted. */
  readonly paths: readonly string[];
  readonly refused: readonly Refused[];
}

export interface ListOptions {
  /** Folder relative to the mount; empty: its root. */
  readonly path: string;
  readonly isRecursive: boolean;
  /** Rejects with `StoreError`. */
  readonly list: (folder: string) => Promise<FolderList>;
  readonly isStopping: () => boolean;
}

/** Limits of secrets, folders and depth for the listing of one path. */
export const MAX_SECRETS = 20_000;
const MAX_FOLDERS = 2_000;
const MAX_DEPTH = 32;

/** Rejects with `StoreError` if the whole store does not answer, or the path cannot be listed. */
export async function listPath(options: ListOptions): Promise<ListedPath> {
  const paths: string[] = [];
  const refused: Refused[] = [];
  const waiting = [{ folder: options.path, depth: 0 }];
  let folders = 0;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (options.isStopping()) break;
    const { folder, depth } = next;
    folders += 1;
    if (paths.length >= MAX_SECRETS || folders > MAX_FOLDERS || depth > MAX_DEPTH) {
      refused.push(tooMuch(folder));
      break;
    }
    const found = await options.list(folder).catch((error: unknown) => {
      const isOfAll = isStoreWide(error) || depth === 0 || !(error instanceof StoreError);
      if (isOfAll) throw error;
      refused.push({ path: `${folder}/`, reason: error.reason, message: error.message });
      return { keys: [], folders: [] };
    });
    const below = (name: string): string => (folder === '' ? name : `${folder}/${name}`);
    for (const name of found.keys) paths.push(below(name));
    if (!options.isRecursive) continue;
    for (const name of found.folders) waiting.push({ folder: below(name), depth: depth + 1 });
  }
  if (paths.length > MAX_SECRETS) refused.push(tooMuch(options.path));
  return { paths: paths.slice(0, MAX_SECRETS).sort(), refused };
}

function tooMuch(folder: string): Refused {
  const message = `More than ${MAX_SECRETS} secrets, ${MAX_FOLDERS} folders or ${MAX_DEPTH} levels are below the path; pull smaller ones`;
  return { path: `${folder}/`, reason: 'LimitReached', message };
}
