/**
 * One path of a KV v2 mount: versions, check-and-set, tombstones, and the marker of this daemon
 * beside the values.
 */
import {
  canonicalTime,
  type KeyHistory,
  type Marker,
  type StoreChange,
  StoreError,
  type StoreRead,
  type StoreSide,
  type StoreVersion,
  type WriteOutcome,
} from '../secrets-merge/index.ts';
import type { Answer, StoreClient } from './client.ts';
import {
  dataOf,
  encodePath,
  fullBody,
  type Members,
  patchBody,
  readJson,
  readMembers,
  refuseLarge,
  tooLarge,
} from './kv-data.ts';
import { detectMount, type Mount } from './mount.ts';

export interface KvPath {
  readonly client: StoreClient;
  readonly mount: Mount;
  /** Relative to the mount, not encoded. */
  readonly path: string;
}

interface VersionFields {
  readonly version?: number;
  readonly created_time?: string;
  readonly deletion_time?: string;
  readonly destroyed?: boolean;
  readonly custom_metadata?: Readonly<Record<string, string>> | null;
}

/** Answer of `data/`: the envelope around a version. */
interface VersionBody {
  readonly data?: { readonly data?: unknown; readonly metadata?: VersionFields };
}

interface Health {
  readonly standby?: boolean;
  readonly performance_standby?: boolean;
}

/** Answers 200 in every state, with the flags in the body. */
const HEALTH = 'sys/health?standbyok=true&perfstandbyok=true&drsecondarycode=200';
const OWNER = 'gitplane-owner';
const VALUES = 'gitplane-values';
const VERSION = 'gitplane-version';
const MERGE_PATCH = 'application/merge-patch+json';
/** Versions per key if nothing is configured. */
const KEPT_VERSIONS = 10;

/** `max_versions` of mounts. A mount is detected again in each cycle. */
const VERSIONS_OF_MOUNTS = new WeakMap<Mount, number>();

export function kv2(options: KvPath): StoreSide {
  return new Kv2(options);
}

class Kv2 implements StoreSide {
  readonly isVersioned = true;
  readonly #client: StoreClient;
  readonly #path: string;
  readonly #where: string;
  readonly #members = new WeakMap<StoreRead, Members>();
  #mount: Mount;

  constructor({ client, mount, path }: KvPath) {
    this.#client = client;
    this.#mount = mount;
    this.#path = encodePath(path);
    this.#where = `The secret ${mount.path}${path}`;
  }

  get mount(): string {
    return this.#mount.uuid ?? '';
  }

  async read(version?: number): Promise<StoreRead> {
    const query = version === undefined ? '' : `?version=${version}`;
    const answer = await this.#client.call({ method: 'GET', path: this.#url('data') + query });
    if (answer.status === 404) return await this.#missing(answer);
    refuseLarge(answer, this.#where);
    const body = readJson<VersionBody>(answer, this.#where);
    const metadata = versionFields(body);
    // A client wrote null instead of an object: a version without values.
    const isNull = metadata.version !== undefined && isOfNull(body);
    const members: Members = isNull
      ? new Map()
      : readMembers(answer, ['data', 'data'], this.#where);
    const { values, typed, otherKeys } = dataOf(members);
    const marker = markerOf(metadata);
    const managedBy = metadata.custom_metadata?.['managed-by'];
    const read: StoreRead = {
      state: 'live',
      at: this.#at(metadata),
      values,
      typed,
      otherKeys,
      ...(marker && { marker }),
      ...(managedBy !== undefined && managedBy !== 'gitplane' && { managedBy }),
    };
    this.#members.set(read, members);
    return read;
  }

  async keyHistory(): Promise<KeyHistory | undefined> {
    const answer = await this.#client.call({ method: 'GET', path: this.#url('metadata') });
    if (answer.status === 404) return undefined;
    const { data } = readJson<{ data?: MetadataFields }>(answer, this.#where);
    const versions = new Map<number, string>();
    const undeleted = new Set<number>();
    for (const [name, version] of Object.entries(data?.versions ?? {})) {
      versions.set(Number(name), this.#time(version.created_time));
      if (!version.deletion_time && version.destroyed !== true) undeleted.add(Number(name));
    }
    return {
      createdTime: this.#time(data?.created_time),
      currentVersion: data?.current_version ?? 0,
      versions,
      undeleted,
      maxVersions: data?.max_versions || (await this.#maxVersionsOfMount(versions.size)),
    };
  }

  async write(change: StoreChange): Promise<WriteOutcome> {
    const { seen } = change;
    const cas = seen.state === 'absent' ? 0 : seen.at.version;
    const isTyped = seen.state === 'live' && seen.typed.size > 0;
    const data = isTyped
      ? patchBody(change)
      : fullBody(this.#members.get(seen) ?? new Map(), change);
    const refusal = tooLarge(data);
    if (refusal !== undefined) return refusal;
    try {
      const answer = await this.#client.call({
        method: isTyped ? 'PATCH' : 'POST',
        path: this.#url('data'),
        body: `{"options":{"cas":${cas}},"data":${data}}`,
        ...(isTyped && { contentType: MERGE_PATCH }),
      });
      // The key to patch was removed meanwhile.
      return answer.isOutrun || answer.status === 404
        ? { is: 'outrun' }
        : this.#written(answer, cas);
    } catch (error) {
      return refusedBy(error, isTyped);
    }
  }

  async deleteVersion(version: number, createdTime?: string): Promise<void> {
    const body = JSON.stringify({ versions: [version] });
    await this.#client.call({ method: 'POST', path: this.#url('delete'), body });
    if (createdTime === undefined) return;
    const hit = (await this.keyHistory())?.versions.get(version);
    if (hit === undefined || hit <= createdTime) return;
    await this.#client.call({ method: 'POST', path: this.#url('undelete'), body });
  }

  /**
   * Keeps fields of other owners. Without this capability the sync works, but cannot recover from
   * lost state.
   */
  async mark({ owner, whole, version }: Marker): Promise<void> {
    const fields = { [OWNER]: owner, [VALUES]: whole, [VERSION]: String(version) };
    const body = JSON.stringify({ custom_metadata: fields });
    const call = {
      method: 'PATCH',
      path: this.#url('metadata'),
      contentType: MERGE_PATCH,
      body,
    } as const;
    try {
      await this.#client.call(call);
    } catch (error) {
      if (!(error instanceof StoreError) || !UNMARKABLE.has(error.reason)) throw error;
    }
  }

  async isStandby(): Promise<boolean> {
    const answer = await this.#client.callRoot({ method: 'GET', path: HEALTH });
    const { standby, performance_standby } = readJson<Health>(answer, 'The health of the store');
    return standby === true || performance_standby === true;
  }

  #url(part: 'data' | 'metadata' | 'delete' | 'undelete'): string {
    return `${encodePath(this.#mount.path.slice(0, -1))}/${part}/${this.#path}`;
  }

  /** A tombstone has a body; otherwise the mount is checked again. */
  async #missing(answer: Answer): Promise<StoreRead> {
    const body = readJson<VersionBody>(answer, this.#where);
    const metadata = versionFields(body);
    if (metadata.version !== undefined) return { state: 'deleted', at: this.#at(metadata) };
    this.#mount = await detectMount(this.#client, this.#mount.path);
    if (this.#mount.version === 2) return { state: 'absent' };
    throw new StoreError(`${this.#where} is on a mount of KV v1`, { reason: 'WrongEngine' });
  }

  /** 204 comes from KV v1, which has stored the envelope as the secret. */
  #written(answer: Answer, cas: number): WriteOutcome {
    const { data } =
      answer.text === '' ? {} : readJson<{ data?: VersionFields }>(answer, this.#where);
    if (answer.status === 200 && data?.version === cas + 1) {
      return {
        is: 'written',
        at: { version: data.version, createdTime: this.#time(data.created_time) },
      };
    }
    const message = `${this.#where} was written without check-and-set; the mount is not KV v2`;
    throw new StoreError(message, { reason: 'WrongEngine', mayHaveHappened: true });
  }

  async #maxVersionsOfMount(seen: number): Promise<number> {
    const known = VERSIONS_OF_MOUNTS.get(this.#mount);
    if (known !== undefined) return known;
    const path = `${encodePath(this.#mount.path.slice(0, -1))}/config`;
    try {
      const answer = await this.#client.call({ method: 'GET', path });
      const { data } = readJson<{ data?: { max_versions?: number } }>(answer, this.#where);
      const most = data?.max_versions || KEPT_VERSIONS;
      VERSIONS_OF_MOUNTS.set(this.#mount, most);
      return most;
    } catch (error) {
      if (!(error instanceof StoreError) || error.reason !== 'Forbidden') throw error;
      return Math.max(1, seen);
    }
  }

  #at({ version = 0, created_time }: VersionFields): StoreVersion {
    return { version, createdTime: this.#time(created_time) };
  }

  #time(text: string | undefined): string {
    const time = canonicalTime(text ?? '');
    if (time) return time;
    throw new StoreError(`${this.#where} has an invalid time`, { reason: 'WrongEngine' });
  }
}

interface MetadataFields {
  readonly created_time?: string;
  readonly current_version?: number;
  readonly max_versions?: number;
  readonly versions?: Readonly<Record<string, VersionFields>>;
}

const UNMARKABLE = new Set(['Forbidden', 'Rejected', 'WrongEngine']);

function versionFields(body: VersionBody): VersionFields {
  return body.data?.metadata ?? {};
}

function isOfNull(body: VersionBody): boolean {
  return body.data?.data === null;
}

function markerOf({ custom_metadata }: VersionFields): Marker | undefined {
  const owner = custom_metadata?.[OWNER];
  const whole = custom_metadata?.[VALUES];
  const version = Number(custom_metadata?.[VERSION]);
  return owner !== undefined && whole !== undefined ? { owner, whole, version } : undefined;
}

function refusedBy(error: unknown, isPatch: boolean): WriteOutcome {
  if (!(error instanceof StoreError)) throw error;
  if (error.reason === 'TooLarge') {
    return { is: 'refused', reason: 'TooLarge', detail: 'is larger than the store takes' };
  }
  if (isPatch && error.reason === 'Forbidden') {
    const detail =
      'has values that are not strings; without the capability "patch" they would change';
    return { is: 'refused', reason: 'UnsupportedValue', detail };
  }
  throw error;
}
