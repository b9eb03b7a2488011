/**
 * A list that stays current: one list by pages, then one watch, resumed after its last event. It begins
 * again by itself after a restart of the server (410), and tells whether it is connected.
 */
import { ApiError, linesOf, sleep } from '../../client/index.ts';
import type { Client, ListOptions } from './client.ts';
import type { Column, KubeObject, Moment, ObjectRef, Resource, Table } from './objects.ts';
import { type LiveRow, Rows } from './rows.ts';

export type Connection = 'loading' | 'connected' | 'disconnected' | 'refused';

export interface LiveListOptions extends Pick<ListOptions, 'namespace' | 'labelSelector'> {
  readonly client: Client;
  readonly resource: Resource;
  readonly signal: AbortSignal;
  /** A moment of the past, which is listed and not watched. */
  readonly moment?: Moment;
  /** Called with the changes since the last call, at most once per frame. */
  readonly onChange: (list: LiveList) => void;
}

/** The state of the list. A row is replaced when it changes; the array is the same one. */
export interface LiveList {
  readonly columns: readonly Column[];
  readonly rows: readonly LiveRow[];
  /** Objects that are not loaded yet. */
  readonly remaining: number;
  readonly connection: Connection;
  /** Reason of a refusal. */
  readonly error: Error | undefined;
}

/** The first page is small, so that it is there soon. */
const FIRST_PAGE_SIZE = 200;
/** Larger pages take longer to decode than a frame may. */
const PAGE_SIZE = 1000;
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 10_000;
/** A watch that ends earlier than this counts as a failure. */
const SHORTEST_WATCH_MS = 1000;

/** Runs until the signal is aborted. Never rejects. */
export async function followList(options: LiveListOptions): Promise<void> {
  const follower = new Follower(options);
  await follower.run();
}

class Follower {
  readonly #options: LiveListOptions;
  #columns: readonly Column[] = [];
  #rows = new Rows();
  #remaining = 0;
  #connection: Connection = 'loading';
  #error: Error | undefined;
  #resourceVersion = '';

  constructor(options: LiveListOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    let delay = FIRST_DELAY_MS;
    while (!signal.aborted) {
      const began = performance.now();
      try {
        if (this.#resourceVersion === '') await this.#list();
        // The past does not change.
        if (this.#resourceVersion === '') return;
        await this.#watch();
      } catch (error) {
        if (signal.aborted) return;
        if (this.#isFinal(error)) return;
      }
      const isHealthy = performance.now() - began > SHORTEST_WATCH_MS;
      delay = isHealthy ? FIRST_DELAY_MS : Math.min(2 * delay, LONGEST_DELAY_MS);
      await sleep(delay, signal);
    }
  }

  /** True: asking again has no use. */
  #isFinal(error: unknown): boolean {
    if (error instanceof ApiError && error.code === 410) {
      this.#resourceVersion = '';
      return false;
    }
    if (error instanceof ApiError && [400, 401, 403, 404, 405].includes(error.code)) {
      this.#error = error;
      this.#tell('refused');
      return true;
    }
    this.#tell('disconnected');
    return false;
  }

  async #list(): Promise<void> {
    const rows = new Rows();
    // The rows of before stay until the new ones are there.
    const isFirst = this.#rows.all.length === 0;
    let token: string | undefined;
    do {
      const page = await this.#page(token);
      if (page.columnDefinitions.length > 0) this.#columns = page.columnDefinitions;
      for (const row of page.rows) rows.put(row);
      const { metadata } = page;
      token = metadata.continue || undefined;
      this.#remaining = token === undefined ? 0 : (metadata.remainingItemCount ?? 0);
      this.#resourceVersion = metadata.resourceVersion ?? '';
      if (isFirst || token === undefined) this.#rows = rows;
      if (isFirst) this.#tell('loading');
    } while (token !== undefined);
    this.#tell('connected');
  }

  async #page(token: string | undefined): Promise<Table> {
    const { client, resource, namespace, labelSelector, moment, signal } = this.#options;
    const isFirst = token === undefined;
    const limit = isFirst ? FIRST_PAGE_SIZE : PAGE_SIZE;
    const asked = { namespace, labelSelector, limit, signal, continue: token };
    return await client.table(resource, isFirst ? { ...moment, ...asked } : asked);
  }

  async #watch(): Promise<void> {
    const { client, resource, namespace, labelSelector, signal } = this.#options;
    const response = await client.send(client.pathOf(resource, namespace), {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
      query: {
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion: this.#resourceVersion,
        labelSelector,
      },
      signal,
    });
    this.#tell('connected');
    for await (const line of linesOf(response)) {
      const { type, object }: WatchEvent = JSON.parse(line);
      if (type === 'ERROR') throw new ApiError(object.code ?? 500, object);
      this.#apply(type, object);
    }
  }

  #apply(
    type: WatchEvent['type'],
    { metadata, columnDefinitions, rows }: WatchEvent['object'],
  ): void {
    if ((columnDefinitions?.length ?? 0) > 0) this.#columns = columnDefinitions ?? [];
    for (const row of rows ?? []) {
      this.#resourceVersion = row.object.metadata.resourceVersion ?? this.#resourceVersion;
      if (type === 'BOOKMARK') continue;
      if (type === 'DELETED') this.#rows.delete(row.object.metadata);
      else this.#rows.put(row);
    }
    if (metadata?.resourceVersion) this.#resourceVersion = metadata.resourceVersion;
    if (type !== 'BOOKMARK') this.#tell('connected');
  }

  #tell(connection: Connection): void {
    this.#connection = connection;
    this.#options.onChange({
      columns: this.#columns,
      rows: this.#rows.all,
      remaining: this.#remaining,
      connection: this.#connection,
      error: this.#error,
    });
  }
}

export interface LiveObjectOptions {
  readonly client: Client;
  readonly resource: Resource;
  readonly ref: ObjectRef;
  readonly signal: AbortSignal;
  readonly onChange: (object: KubeObject | undefined, error: Error | undefined) => void;
  readonly onConnection: (connection: Connection) => void;
}

/**
 * One object, read and then watched by its name. Without the right to watch it is read again each 10 s.
 * Runs until the signal is aborted. Never rejects.
 */
export async function followObject(options: LiveObjectOptions): Promise<void> {
  const { resource, signal } = options;
  let delay = FIRST_DELAY_MS;
  let mayWatch = true;
  while (!signal.aborted) {
    const began = performance.now();
    try {
      const object = await readObject(options);
      if (!resource.verbs.includes('watch')) return;
      mayWatch &&= await watchObject(options, object);
    } catch (error) {
      if (signal.aborted || isOver(options, error)) return;
    }
    if (!mayWatch) {
      await sleep(LONGEST_DELAY_MS, signal);
      continue;
    }
    const isHealthy = performance.now() - began > SHORTEST_WATCH_MS;
    delay = isHealthy ? FIRST_DELAY_MS : Math.min(2 * delay, LONGEST_DELAY_MS);
    await sleep(delay, signal);
  }
}

async function readObject(options: LiveObjectOptions): Promise<KubeObject> {
  const { client, resource, ref, signal, onChange, onConnection } = options;
  const object = await client.get(resource, ref, { signal });
  onConnection('connected');
  onChange(object, undefined);
  return object;
}

/** Ends with the watch. False: the person may read the object, and not watch it. */
async function watchObject(options: LiveObjectOptions, { metadata }: KubeObject): Promise<boolean> {
  const { client, resource, ref, signal, onChange } = options;
  const { resourceVersion } = metadata;
  const query = { watch: true, fieldSelector: `metadata.name=${ref.name}`, resourceVersion };
  const path = client.pathOf(resource, ref.namespace);
  const response = await client.send(path, { query, signal }).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 403) return undefined;
    throw error;
  });
  if (response === undefined) return false;
  for await (const line of linesOf(response)) {
    const event: { type: WatchEvent['type']; object: KubeObject } = JSON.parse(line);
    if (event.type === 'ERROR') return true;
    if (event.type === 'DELETED') onChange(undefined, new Error('The object was deleted'));
    else if (event.type !== 'BOOKMARK') onChange(event.object, undefined);
  }
  return true;
}

/** True: asking again has no use. An object that is gone may come back. */
function isOver({ onChange, onConnection }: LiveObjectOptions, error: unknown): boolean {
  if (!(error instanceof ApiError) || error.code >= 500) {
    onConnection('disconnected');
    return false;
  }
  onConnection('refused');
  onChange(undefined, error);
  return error.code !== 404 && error.code !== 410;
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: Partial<Table> & { readonly code?: number; readonly message?: string };
}
