/**
 * A KV mount as OpenBao and Vault have it: versions, check-and-set, tombstones, hard deletes after
 * which numbers begin anew, and reads from a node that lags behind. Speaks in statuses and bodies.
 */
import { randomUUID } from 'node:crypto';

export interface KvAnswer {
  readonly status: number;
  readonly body?: unknown;
  /** In place of `body`: the exact text. */
  readonly text?: string;
}

export interface KvVersion {
  readonly created: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly deletion: string;
  readonly destroyed: boolean;
}

export interface KvKey {
  readonly created: string;
  readonly updated: string;
  readonly current: number;
  readonly maxVersions: number;
  readonly custom: Readonly<Record<string, string>> | null;
  readonly versions: ReadonlyMap<number, KvVersion>;
}

export interface KvMountOptions {
  readonly version: 1 | 2;
  /** RFC 3339 with nanoseconds; grows with each call unless a test wants it otherwise. */
  readonly now: () => string;
  /** How many changes of a key ago a read is answered from. */
  readonly lag?: () => number;
}

export const CAS_MISMATCH = 'check-and-set parameter did not match the current version';
export const CAS_REQUIRED = 'check-and-set parameter required for this call';
const WRONG_PATH =
  "Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints to use. If using the Vault CLI, use 'vault kv get' for this operation.";
const UPGRADING =
  'Upgrading from non-versioned to versioned data. This backend will be unavailable for a brief period and will resume service shortly.';
const KEPT = 10;
const REMEMBERED = 16;

export class KvMount {
  readonly version: 1 | 2;
  readonly uuid = randomUUID();
  readonly keys = new Map<string, KvKey>();
  readonly texts = new Map<string, string>();
  /** Called with a path and what it held before and holds now, at each change of a value. */
  onWrite: (path: string, before: KvKey | undefined, after: KvKey | undefined) => void = () => {};
  /** Called with a path and what it holds again, after `restore`. */
  onRestore: (path: string, after: KvKey) => void = () => {};
  config = { max_versions: 0, cas_required: false, delete_version_after: '0s' };
  isUpgrading = false;
  /** As OpenBao does since 2.2, and Vault does not. */
  listsVersions = true;
  /** Listings show an empty mount. */
  listsNothing = false;
  readonly #now: () => string;
  readonly #lag: () => number;
  readonly #past = new Map<string, (KvKey | undefined)[]>();

  constructor({ version, now, lag = () => 0 }: KvMountOptions) {
    this.version = version;
    this.#now = now;
    this.#lag = lag;
  }

  /** `path`: below the mount. */
  handle(method: string, path: string, query: URLSearchParams, text: string): KvAnswer {
    if (this.version === 1) return this.#v1(method, path, query, text);
    if (this.isUpgrading) return errors(400, UPGRADING);
    const [part = '', ...rest] = path.split('/');
    const key = rest.join('/');
    const body = text === '' ? {} : JSON.parse(text);
    if (part === 'config') return this.#config(method, body);
    if (part === 'metadata') return this.#metadata(method, key, query, body);
    if (part === 'detailed-metadata' && this.listsVersions) return this.#listVersions(key, query);
    // It can be written, and is not found again.
    if (key.endsWith('.') && method === 'GET') return errors(404);
    if (part === 'data') return this.#data(method, key, query, body);
    if (part === 'delete') return this.#mark(key, body.versions, { deletion: this.#now() });
    if (part === 'undelete') return this.#mark(key, body.versions, { deletion: '' });
    if (part === 'destroy') return this.#mark(key, body.versions, { destroyed: true, data: {} });
    return { status: 404, body: { data: null, warnings: [WRONG_PATH] } };
  }

  /** Write of another client, without check-and-set. */
  put(path: string, data: Readonly<Record<string, unknown>>): number {
    return this.#append(path, data);
  }

  deleteLatest(path: string): void {
    const key = this.keys.get(path);
    if (key) this.#mark(path, [key.current], { deletion: this.#now() });
  }

  undeleteLatest(path: string): void {
    const key = this.keys.get(path);
    if (key) this.#mark(path, [key.current], { deletion: '' });
  }

  removeKey(path: string): void {
    this.#change(path, undefined);
  }

  /** Puts the key back to what it was some changes ago, as a snapshot of the store does. */
  restore(path: string, changes: number): void {
    const past = this.#past.get(path) ?? [];
    const copy = past[past.length - changes];
    if (copy === undefined) return;
    this.#past.set(path, past.slice(0, past.length - changes));
    this.keys.set(path, copy);
    this.onRestore(path, copy);
  }

  live(path: string): Readonly<Record<string, unknown>> | undefined {
    const key = this.keys.get(path);
    const version = key?.versions.get(key.current);
    return version && isLive(version) ? version.data : undefined;
  }

  #data(method: string, path: string, query: URLSearchParams, body: WriteBody): KvAnswer {
    if (method === 'GET') return this.#read(this.#seen(path), Number(query.get('version') ?? 0));
    const key = this.keys.get(path);
    if (method === 'DELETE') {
      return key ? this.#mark(path, [key.current], { deletion: this.#now() }) : { status: 204 };
    }
    const latest = key?.versions.get(key.current);
    if (method === 'PATCH' && (key === undefined || latest === undefined || !isLive(latest)))
      return key && latest
        ? { status: 404, body: { data: fields(key, key.current) } }
        : errors(404);
    // Numbers are taken as text as well.
    const cas = body.options?.cas === undefined ? undefined : Number(body.options.cas);
    if (cas === undefined && this.config.cas_required) return errors(400, CAS_REQUIRED);
    if (cas !== undefined && cas !== (key?.current ?? 0)) return errors(400, CAS_MISMATCH);
    if (body.data === undefined) return errors(400, 'no data provided');
    const data = method === 'PATCH' ? merged(latest?.data ?? {}, body.data) : body.data;
    const version = this.#append(path, data);
    const after = this.keys.get(path) as KvKey;
    return { status: 200, body: { data: fields(after, version) } };
  }

  #append(path: string, data: Readonly<Record<string, unknown>>): number {
    const before = this.keys.get(path);
    const now = this.#now();
    const current = (before?.current ?? 0) + 1;
    const kept = (before?.maxVersions || this.config.max_versions || KEPT) - 1;
    const versions = [...(before?.versions ?? [])].slice(-kept || Number.POSITIVE_INFINITY);
    this.#change(path, {
      created: before?.created ?? now,
      updated: now,
      current,
      maxVersions: before?.maxVersions ?? 0,
      custom: before?.custom ?? null,
      versions: new Map([
        ...versions,
        [current, { created: now, data, deletion: '', destroyed: false }],
      ]),
    });
    return current;
  }

  #read(key: KvKey | undefined, wanted: number): KvAnswer {
    const number = wanted || (key?.current ?? 0);
    const version = key?.versions.get(number);
    if (key === undefined || version === undefined) return errors(404);
    const isGone = !isLive(version);
    const data = { data: isGone ? null : version.data, metadata: fields(key, number) };
    return { status: isGone ? 404 : 200, body: { data } };
  }

  #metadata(method: string, path: string, query: URLSearchParams, body: MetadataBody): KvAnswer {
    if (method === 'LIST' || (method === 'GET' && query.get('list') === 'true'))
      return this.#list(path);
    if (method === 'GET') return metadataAnswer(this.#seen(path));
    if (method === 'DELETE') {
      this.#change(path, undefined);
      return { status: 204 };
    }
    const key = this.keys.get(path);
    if (method === 'PATCH' && key === undefined) return errors(404);
    const now = this.#now();
    const known = key ?? {
      created: now,
      updated: now,
      current: 0,
      maxVersions: 0,
      custom: null,
      versions: new Map(),
    };
    const patched = merged(known.custom ?? {}, body.custom_metadata ?? {}) as Record<
      string,
      string
    >;
    const custom = method === 'PATCH' ? patched : (body.custom_metadata ?? known.custom);
    if (Object.values(custom ?? {}).some((value) => value.length > 512 || value === '')) {
      return errors(400, 'custom_metadata validation failed');
    }
    this.keys.set(path, { ...known, custom, maxVersions: body.max_versions ?? known.maxVersions });
    return { status: 204 };
  }

  #list(folder: string): KvAnswer {
    if (this.listsNothing) return errors(404);
    const prefix = folder === '' || folder.endsWith('/') ? folder : `${folder}/`;
    const names = [...this.keys.keys(), ...this.texts.keys()]
      .filter((path) => path.startsWith(prefix))
      .map((path) => /^[^/]+\/?/.exec(path.slice(prefix.length))?.[0] ?? '');
    const keys = [...new Set(names)].sort();
    return keys.length === 0 ? errors(404) : { status: 200, body: { data: { keys } } };
  }

  #listVersions(folder: string, query: URLSearchParams): KvAnswer {
    const answer = this.#list(folder);
    if (answer.status !== 200) return answer;
    const limit = Number(query.get('limit') ?? 0) || Number.POSITIVE_INFINITY;
    const after = query.get('after') ?? '';
    const prefix = folder === '' || folder.endsWith('/') ? folder : `${folder}/`;
    const all = (answer.body as { data: { keys: string[] } }).data.keys;
    const keys = all.filter((name) => name > after).slice(0, limit);
    const infos = keys
      .filter((name) => !name.endsWith('/'))
      .map((name) => {
        const { body } = metadataAnswer(this.#seen(prefix + name));
        return [name, (body as { data?: object }).data];
      });
    return { status: 200, body: { data: { keys, key_info: Object.fromEntries(infos) } } };
  }

  #config(method: string, body: object): KvAnswer {
    if (method === 'GET') return { status: 200, body: { data: this.config } };
    this.config = { ...this.config, ...body };
    return { status: 204 };
  }

  #mark(path: string, numbers: readonly number[] = [], change: Partial<KvVersion>): KvAnswer {
    const key = this.keys.get(path);
    if (key === undefined) return { status: 204 };
    const versions = new Map(key.versions);
    for (const number of numbers) {
      const version = versions.get(Number(number));
      if (version && !version.destroyed) versions.set(Number(number), { ...version, ...change });
    }
    this.#change(path, { ...key, versions, updated: this.#now() });
    return { status: 204 };
  }

  #v1(method: string, path: string, query: URLSearchParams, text: string): KvAnswer {
    if (method === 'LIST' || query.get('list') === 'true') return this.#list(path);
    const held = this.texts.get(path);
    if (method === 'GET') {
      return held === undefined ? errors(404) : { status: 200, text: `{"data":${held}}` };
    }
    if (method === 'DELETE') this.texts.delete(path);
    else if (method === 'PATCH')
      return errors(405, '1 error occurred:\n\t* unsupported operation\n\n');
    else if (Object.keys(JSON.parse(text)).length === 0) return errors(400, 'missing data fields');
    else this.texts.set(path, text);
    return { status: 204 };
  }

  #seen(path: string): KvKey | undefined {
    const lag = this.#lag();
    const past = this.#past.get(path) ?? [];
    if (lag === 0 || past.length === 0) return this.keys.get(path);
    return past[Math.max(0, past.length - lag)];
  }

  #change(path: string, after: KvKey | undefined): void {
    const before = this.keys.get(path);
    const past = [...(this.#past.get(path) ?? []), before].slice(-REMEMBERED);
    this.#past.set(path, past);
    if (after === undefined) this.keys.delete(path);
    else this.keys.set(path, after);
    this.onWrite(path, before, after);
  }
}

interface WriteBody {
  readonly options?: { readonly cas?: number | string };
  readonly data?: Readonly<Record<string, unknown>>;
}

interface MetadataBody {
  readonly custom_metadata?: Readonly<Record<string, string>>;
  readonly max_versions?: number;
}

/** A time to come is a time to live: until then the value is there. */
function isLive({ deletion, destroyed }: KvVersion): boolean {
  return !destroyed && (deletion === '' || Date.parse(deletion) > Date.now());
}

/** RFC 7396, one level deep where values are no objects. */
function merged(target: Readonly<Record<string, unknown>>, patch: object): Record<string, unknown> {
  const result: Record<string, unknown> = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = value;
  }
  return result;
}

function fields(key: KvKey, number: number): object {
  const version = key.versions.get(number);
  return {
    version: number,
    created_time: version?.created,
    deletion_time: version?.deletion,
    destroyed: version?.destroyed,
    custom_metadata: key.custom,
  };
}

function metadataAnswer(key: KvKey | undefined): KvAnswer {
  if (key === undefined) return errors(404);
  const versions = [...key.versions].map(([number, { created, deletion, destroyed }]) => [
    number,
    { created_time: created, deletion_time: deletion, destroyed },
  ]);
  return {
    status: 200,
    body: {
      data: {
        created_time: key.created,
        updated_time: key.updated,
        current_version: key.current,
        oldest_version: key.versions.size === 0 ? 0 : Math.min(...key.versions.keys()),
        max_versions: key.maxVersions,
        cas_required: false,
        delete_version_after: '0s',
        custom_metadata: key.custom,
        versions: Object.fromEntries(versions),
      },
    },
  };
}

export function errors(status: number, ...messages: readonly string[]): KvAnswer {
  return { status, body: { errors: messages } };
}
