/**
 * The newest versions of all keys in a folder in one answer, if the store supports it (OpenBao
 * since 2.2). A listing only saves reads: a key that is missing from it may exist, since listings
 * can be filtered, or come from nodes that lag behind.
 */
import { canonicalTime, StoreError, type StoreVersion } from '../secrets-merge/index.ts';
import type { Answer, StoreClient } from './client.ts';
import { encodePath, readJson } from './kv-data.ts';
import type { Mount } from './mount.ts';

/** Newest live versions, by the name of the key in the folder. */
export type Listing = ReadonlyMap<string, StoreVersion>;

/** Entries of one folder, by name. */
export interface FolderList {
  /** Keys that may be live. */
  readonly keys: readonly string[];
  readonly folders: readonly string[];
}

const PAGE = 1000;
const MAX_PAGES = 100;

interface VersionInfo {
  readonly created_time?: string;
  readonly deletion_time?: string;
  readonly destroyed?: boolean;
}

interface KeyInfo {
  readonly current_version?: number;
  readonly versions?: Readonly<Record<string, VersionInfo | null>> | null;
}

interface PageData {
  readonly keys: readonly string[];
  readonly key_info?: Readonly<Record<string, KeyInfo | null>> | null;
}

interface Page {
  readonly data?: PageData | null;
}

/**
 * `folder`: relative to the mount, empty for its root. Undefined: the store has no such listing, or
 * not for this token. Rejects with `StoreError` when the whole store does not answer.
 */
export async function listVersions(
  client: StoreClient,
  mount: Mount,
  folder: string,
): Promise<Listing | undefined> {
  return (await detailed(client, folderPath(mount, folder, 'detailed-metadata/')))?.versions;
}

/**
 * Keys and folders in a folder; `isDetailed`: the store may have version listings, which leave out
 * deleted keys. Also empty for a missing folder. Rejects with `StoreError`, also if the token may
 * not list.
 */
export async function listFolder(
  client: StoreClient,
  mount: Mount,
  { folder, isDetailed }: { readonly folder: string; readonly isDetailed: boolean },
): Promise<FolderList & { readonly isDetailed: boolean }> {
  if (isDetailed && mount.version === 2) {
    const listed = await detailed(client, folderPath(mount, folder, 'detailed-metadata/'));
    if (listed !== undefined) {
      return { keys: [...listed.versions.keys()], folders: listed.folders, isDetailed: true };
    }
  }
  // A store without paging may return the same names twice.
  const found = new Set<string>();
  const path = folderPath(mount, folder, mount.version === 2 ? 'metadata/' : '');
  for await (const { keys } of pages((query) => plainPage(client, path + query))) {
    for (const name of keys) found.add(name);
  }
  const names = [...found];
  return {
    keys: names.filter((name) => !name.endsWith('/')),
    folders: foldersIn(names),
    isDetailed: false,
  };
}

function folderPath(mount: Mount, folder: string, part: string): string {
  const below = folder === '' ? '' : `${encodePath(folder)}/`;
  return `${encodePath(mount.path.slice(0, -1))}/${part}${below}`;
}

function foldersIn(names: readonly string[]): string[] {
  return names.filter((name) => name.endsWith('/')).map((name) => name.slice(0, -1));
}

async function detailed(
  client: StoreClient,
  path: string,
): Promise<{ versions: Listing; folders: readonly string[] } | undefined> {
  const versions = new Map<string, StoreVersion>();
  const folders: string[] = [];
  let isFirst = true;
  for await (const page of pages((query) => detailedPage(client, path + query))) {
    for (const [name, info] of Object.entries(page.key_info ?? {})) {
      const at = newestOf(info);
      if (at !== undefined) versions.set(name, at);
    }
    for (const folder of foldersIn(page.keys)) folders.push(folder);
    isFirst = false;
  }
  return isFirst ? undefined : { versions, folders };
}

/** Empty if the first page is undefined. */
async function* pages(
  ask: (query: string) => Promise<PageData | undefined>,
): AsyncGenerator<PageData> {
  let after = '';
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const more = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
    const data = await ask(`?list=true&limit=${PAGE}${more}`);
    if (data === undefined) return;
    yield data;
    const { keys } = data;
    const last = keys.at(-1) ?? '';
    // A store without paging returns everything at once.
    if (keys.length !== PAGE || last === after) return;
    after = last;
  }
}

/** A missing folder is empty. */
async function plainPage(client: StoreClient, path: string): Promise<PageData | undefined> {
  const answer = await client.call({ method: 'GET', path });
  return answer.status === 200 ? readPage(answer) : undefined;
}

async function detailedPage(client: StoreClient, path: string): Promise<PageData | undefined> {
  try {
    const answer = await client.call({ method: 'GET', path });
    if (answer.status !== 200) return undefined;
    const data = readPage(answer);
    return data?.key_info ? data : undefined;
  } catch (error) {
    if (error instanceof StoreError && LISTING_UNSUPPORTED.has(error.reason)) return undefined;
    throw error;
  }
}

/** Throws `StoreError` for names that are no texts. */
function readPage(answer: Answer): PageData | undefined {
  const { data } = readJson<Page>(answer, 'A list of keys');
  const keys: unknown = data?.keys ?? [];
  if (Array.isArray(keys) && keys.every((key) => typeof key === 'string')) {
    return data ? { ...data, keys } : undefined;
  }
  throw new StoreError('A list of keys was answered without names', { reason: 'WrongEngine' });
}

const LISTING_UNSUPPORTED = new Set(['Forbidden', 'WrongEngine', 'Rejected']);

function newestOf(info: KeyInfo | null): StoreVersion | undefined {
  const { current_version = 0, versions } = info ?? {};
  const newest = versions?.[String(current_version)];
  if (!newest || newest.deletion_time || newest.destroyed === true) return undefined;
  const createdTime = canonicalTime(newest.created_time ?? '');
  return createdTime ? { version: current_version, createdTime } : undefined;
}
