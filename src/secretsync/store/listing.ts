/**
 * The newest versions of all keys of a folder in one answer, where the store can give one (OpenBao
 * since 2.2). A listing only ever saves reading: a key that is not in it may be there all the same,
 * since listings can be filtered and come from nodes that lag behind.
 */
import { canonicalTime } from '../canonical-time.ts';
import { StoreError } from '../ports.ts';
import type { StoreVersion } from '../sync-state.ts';
import type { StoreClient } from './client.ts';
import { encodePath, readJson } from './kv-data.ts';
import type { Mount } from './mount.ts';

/** Newest versions that are live, by the name of the key in the folder. */
export type Listing = ReadonlyMap<string, StoreVersion>;

const PAGE = 1000;
const MOST_PAGES = 100;

interface KeyInfo {
  readonly current_version?: number;
  readonly versions?: Readonly<
    Record<string, { created_time?: string; deletion_time?: string; destroyed?: boolean }>
  >;
}

interface Page {
  readonly data?: {
    readonly keys?: readonly string[];
    readonly key_info?: Readonly<Record<string, KeyInfo | null>>;
  };
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
  const below = folder === '' ? '' : `${encodePath(folder)}/`;
  const path = `${encodePath(mount.path.slice(0, -1))}/detailed-metadata/${below}`;
  const found = new Map<string, StoreVersion>();
  let after = '';
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const query = `?list=true&limit=${PAGE}${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`;
    const data = await onePage(client, path + query);
    if (data === undefined) return page === 0 ? undefined : found;
    const { keys = [], key_info = {} } = data;
    for (const [name, info] of Object.entries(key_info)) {
      const at = newestOf(info);
      if (at !== undefined) found.set(name, at);
    }
    const last = keys.at(-1) ?? '';
    // A store that knows no pages gives everything at once.
    if (keys.length !== PAGE || last === after) return found;
    after = last;
  }
  return found;
}

async function onePage(client: StoreClient, path: string): Promise<Page['data']> {
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
