/**
 * The newest versions of all keys of a folder in one answer, where the store can give one (OpenBao
 * since 2.2). A listing only ever saves reading: a key that is not in it may be there all the same,
 * since listings can be filtered and come from nodes that lag behind.
 */
import { canonicalTime, StoreError, type StoreVersion } from '../secrets-merge/index.ts';
import type { StoreClient } from './client.ts';
import { encodePath, readJson } from './kv-data.ts';
import type { Mount } from './mount.ts';

/** Newest versions that are live, by the name of the key in the folder. */
export type Listing = ReadonlyMap<string, StoreVersion>;

/** Entries of one folder, by their names there. */
export interface FolderList {
  /** Keys that may be live. */
  readonly keys: readonly string[];
  readonly folders: readonly string[];
}

const PAGE = 1000;
const MOST_PAGES = 100;

interface KeyInfo {
  readonly current_version?: number;
  readonly versions?: Readonly<
    Record<string, { created_time?: string; deletion_time?: string; destroyed?: boolean }>
  >;
}

interface PageData {
  readonly keys?: readonly string[];
  readonly key_info?: Readonly<Record<string, KeyInfo | null>>;
}

interface Page {
  readonly data?: PageData;
}

/**
 * `folder`: below the mount, empty for its top. Undefined: the store has no such listing, or none
 * for this token. Rejects with `StoreError` when the store as a whole does not answer.
 */
export async function listVersions(
  client: StoreClient,
  mount: Mount,
  folder: string,
): Promise<Listing | undefined> {
  return (await detailed(client, folderPath(mount, folder, 'detailed-metadata/')))?.versions;
}

/**
 * Keys and folders of a folder; `isDetailed`: the store may have listings of versions, which leave out what is
 * deleted. Empty as well where there is no such folder. Rejects with `StoreError`, also where the token may not list.
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
  // A store that knows no pages may give the same names twice.
  const found = new Set<string>();
  const path = folderPath(mount, folder, mount.version === 2 ? 'metadata/' : '');
  for await (const { keys = [] } of pages((query) => plainPage(client, path + query))) {
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
    folders.push(...foldersIn(page.keys ?? []));
    isFirst = false;
  }
  return isFirst ? undefined : { versions, folders };
}

/** Nothing where the first page is undefined. */
async function* pages(
  ask: (query: string) => Promise<PageData | undefined>,
): AsyncGenerator<PageData> {
  let after = '';
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const more = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
    const data = await ask(`?list=true&limit=${PAGE}${more}`);
    if (data === undefined) return;
    yield data;
    const { keys = [] } = data;
    const last = keys.at(-1) ?? '';
    // A store that knows no pages gives everything at once.
    if (keys.length !== PAGE || last === after) return;
    after = last;
  }
}

/** A folder that is not there is empty. */
async function plainPage(client: StoreClient, path: string): Promise<PageData | undefined> {
  const answer = await client.call({ method: 'GET', path });
  return answer.status === 200 ? (readJson(answer, 'A list of keys') as Page).data : undefined;
}

async function detailedPage(client: StoreClient, path: string): Promise<PageData | undefined> {
  try {
    const answer = await client.call({ method: 'GET', path });
    if (answer.status !== 200) return undefined;
    const { data } = readJson(answer, 'A list of keys') as Page;
    return data?.key_info === undefined ? undefined : data;
  } catch (error) {
    if (error instanceof StoreError && UNSUPPORTED.has(error.reason)) return undefined;
    throw error;
  }
}

const UNSUPPORTED = new Set(['Forbidden', 'WrongEngine', 'Rejected']);

function newestOf(info: KeyInfo | null): StoreVersion | undefined {
  const { current_version = 0, versions = {} } = info ?? {};
  const newest = versions[String(current_version)];
  if (newest === undefined || newest.deletion_time || newest.destroyed === true) return undefined;
  const createdTime = canonicalTime(newest.created_time ?? '');
  return createdTime ? { version: current_version, createdTime } : undefined;
}
