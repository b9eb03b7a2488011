/**
 * A current copy of a collection: list, then watch. After an interruption the watch resumes; only a
 * version that is too old (410) needs a new list.
 */
import type { KubeObject } from '../apimachinery/index.ts';
import { type Backoff, backoffAfter, pause } from '../concurrency/index.ts';
import { ApiFailure, hasReason } from './api-failure.ts';
import type { FullList, KubeClient, ResourceCollection, WatchEvent } from './kube-client.ts';

export interface ReflectorOptions {
  readonly client: Pick<KubeClient, 'list' | 'watch'>;
  readonly of: ResourceCollection;
  /** Called when an object is added, changed, or removed (undefined). */
  changed(key: string, object: KubeObject | undefined): void;
  /** Called when the collection is complete for the first time. */
  synced(): void;
  /** Called with the reason why it is not current; undefined: it is again. */
  problem(failure: ApiFailure | undefined): void;
  readonly backoff?: Backoff | undefined;
  /** Requested duration of one watch. */
  readonly watchSeconds?: number;
  /** Bytes. */
  readonly maxWatched?: number;
}

const BACKOFF: Backoff = { firstMs: 200, lastMs: 30_000 };
/**
 * Multiplied by a random factor from 1 to 2, so that the watches of many collections do not end
 * together.
 */
const WATCH_SECONDS = 300;
/** Memory of the objects that watches brought since the last list: beyond it, the list is read anew, and has limits. */
const MAX_WATCHED = 128 * 1024 * 1024;
/** Rest after a list, as a multiple of its time. */
const LIST_REST = 4;
const LONGEST_REST_MS = 60_000;
/** A shorter watch counts as failed. */
const SHORTEST_WATCH_MS = 1000;

export function objectId({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #objects = new Map<string, KubeObject>();
  /** Memory of each object that a watch brought since the last list. */
  readonly #watched = new Map<string, number>();
  #watchedMemory = 0;
  readonly #stop = new AbortController();
  #done: Promise<void> | undefined;
  #version = '';
  #synced = false;
  #failures = 0;
  #lists = 0;
  /** Time of the monotonic clock before which no list begins. */
  #nextList = 0;

  constructor(options: ReflectorOptions) {
    this.#options = options;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  get isSynced(): boolean {
    return this.#synced;
  }

  /** Number of full lists so far. */
  get lists(): number {
    return this.#lists;
  }

  get(key: string): KubeObject | undefined {
    return this.#objects.get(key);
  }

  get size(): number {
    return this.#objects.size;
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }

  values(): IterableIterator<KubeObject> {
    return this.#objects.values();
  }

  /**
   * Adds the answer to a write, which the watch will deliver again; no callback. Ignored if the
   * watch has passed this version: it has already reported the object, which may be gone by now.
   */
  record(object: KubeObject): void {
    if (!isLater(object.metadata.resourceVersion, this.#version)) return;
    const key = objectId(object);
    const old = this.#objects.get(key);
    if (old === undefined || isNewer(object, old)) this.#objects.set(key, object);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const started = performance.now();
      try {
        if (this.#version === '') await this.#list();
        await this.#watch();
        const lasted = performance.now() - started;
        this.#failures = lasted < SHORTEST_WATCH_MS ? this.#failures + 1 : 0;
      } catch (error) {
        if (signal.aborted) return;
        this.#failed(error);
      }
      if (this.#failures === 0) continue;
      await pause(backoffAfter(this.#failures, this.#options.backoff ?? BACKOFF), signal);
    }
  }

  #failed(error: unknown): void {
    this.#failures += 1;
    if (
      hasReason(error, 'Expired', 'Gone') ||
      (error instanceof ApiFailure && error.code === 410)
    ) {
      this.#version = '';
      this.#failures = Math.min(this.#failures, 1);
      return;
    }
    const unknown = { code: 0, reason: 'Unreachable', message: String(error) };
    this.#options.problem(error instanceof ApiFailure ? error : new ApiFailure(unknown));
  }

  async #list(): Promise<void> {
    const { client, of, synced } = this.#options;
    const list = await this.#paced(() => client.list(of, this.#stop.signal));
    this.#lists += 1;
    this.#replace(list);
    this.#options.problem(undefined);
    if (this.#synced) return;
    this.#synced = true;
    synced();
  }

  /** A server that ends each watch would have the daemon do nothing else. */
  async #paced<T>(list: () => Promise<T>): Promise<T> {
    const wait = this.#nextList - performance.now();
    if (wait > 0) await pause(wait, this.#stop.signal);
    const begun = performance.now();
    try {
      return await list();
    } finally {
      const now = performance.now();
      this.#nextList = now + Math.min((now - begun) * LIST_REST, LONGEST_REST_MS);
    }
  }

  #replace({ items, resourceVersion }: FullList): void {
    const there = new Map(items.map((item) => [objectId(item), item]));
    for (const key of [...this.#objects.keys()]) if (!there.has(key)) this.#remove(key);
    for (const [key, object] of there) this.#set(key, object);
    this.#version = resourceVersion;
    this.#watched.clear();
    this.#watchedMemory = 0;
  }

  async #watch(): Promise<void> {
    const { client, of, watchSeconds = WATCH_SECONDS } = this.#options;
    const seconds = Math.ceil(watchSeconds * (1 + Math.random()));
    const { signal } = this.#stop;
    const opened = (): void => this.#options.problem(undefined);
    const options = { resourceVersion: this.#version, seconds, signal, opened };
    for await (const event of client.watch(of, options)) {
      this.#failures = 0;
      this.#take(event);
    }
  }

  #take(event: WatchEvent): void {
    if (event.type === 'ERROR') throw event.failure;
    const { type, object, memory = 0 } = event;
    this.#version = object.metadata.resourceVersion ?? this.#version;
    if (type === 'BOOKMARK') return;
    const key = objectId(object);
    if (type === 'DELETED') this.#remove(key);
    else this.#set(key, object);
    this.#measure(key, type === 'DELETED' ? 0 : memory);
  }

  /** Throws ApiFailure 410 beyond the limit. */
  #measure(key: string, memory: number): void {
    this.#watchedMemory += memory - (this.#watched.get(key) ?? 0);
    if (memory === 0) this.#watched.delete(key);
    else this.#watched.set(key, memory);
    if (this.#watchedMemory <= (this.#options.maxWatched ?? MAX_WATCHED)) return;
    const message = 'the watch brought too much since the last list';
    throw new ApiFailure({ code: 410, reason: 'Expired', message });
  }

  #set(key: string, object: KubeObject): void {
    const old = this.#objects.get(key);
    if (old !== undefined && !isNewer(object, old)) return;
    this.#objects.set(key, object);
    this.#options.changed(key, object);
  }

  #remove(key: string): void {
    if (this.#objects.delete(key)) this.#options.changed(key, undefined);
  }
}

/** Versions of one cluster are compared as numbers; otherwise the later arrival wins. */
function isNewer({ metadata }: KubeObject, old: KubeObject): boolean {
  if (metadata.uid !== old.metadata.uid) return true;
  return isLater(metadata.resourceVersion, old.metadata.resourceVersion);
}

function isLater(now = '', before = ''): boolean {
  // Longer numbers are of no cluster, and slow to compare.
  if (!/^\d{1,20}$/.test(now) || !/^\d{1,20}$/.test(before)) return now !== before;
  return BigInt(now) > BigInt(before);
}
