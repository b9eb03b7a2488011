/** Client for objects of one cluster: of core/v1, or of v1 of another group. */

import type { Readable } from 'node:stream';
import { isRecord, type KubeObject, valueAt } from '../apimachinery/index.ts';
import { ApiFailure, unreachable } from './api-failure.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { type Call, Transport } from './transport.ts';

const MAX_LINE_BYTES = 16 * 1024 * 1024;

export interface ResourceCollection {
  /** Absent: the core group. */
  readonly group?: string | undefined;
  readonly plural: string;
  /** Absent: all namespaces, or a cluster-scoped kind. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
}

export interface ResourceName {
  /** Absent: the core group. */
  readonly group?: string | undefined;
  readonly plural: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface FullList {
  readonly resourceVersion: string;
  readonly items: readonly KubeObject[];
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: KubeObject }
  | { readonly type: 'ERROR'; readonly failure: ApiFailure };

export interface WatchOptions {
  readonly resourceVersion: string;
  /** Requested duration of the watch. */
  readonly seconds: number;
  readonly signal: AbortSignal;
  /** Called when the server has begun to answer; events may come much later. */
  opened(): void;
}

/** Limits of one list. */
export interface ListLimits {
  /** Objects. */
  readonly items: number;
  /** Bytes of all pages. */
  readonly bytes: number;
  /** Objects per page. */
  readonly page: number;
}

const PAGE = 500;
/** A server may name a next page without end. */
const MAX_LIST: ListLimits = { items: 500_000, bytes: 512 * 1024 * 1024, page: PAGE };
const ANSWER_MS = 60_000;
/** Time that a watch may exceed its requested duration. */
const WATCH_SLACK_MS = 30_000;
const FIELD_MANAGER = 'gitplane-endpoint-sync';

export class KubeClient {
  readonly #transport: Transport;

  constructor(access: ClusterAccess) {
    this.#transport = new Transport(access);
  }

  close(): void {
    this.#transport.close();
  }

  /** All pages together. Throws ApiFailure. */
  async list(of: ResourceCollection, signal?: AbortSignal): Promise<FullList> {
    const items: KubeObject[] = [];
    let resourceVersion = '';
    for await (const page of this.pages(of, { signal })) {
      for (const item of page.items) items.push(item);
      resourceVersion = page.resourceVersion;
    }
    return { resourceVersion, items };
  }

  /** Throws ApiFailure: also where the collection is larger than the limits. */
  async *pages(
    of: ResourceCollection,
    {
      signal,
      limits = MAX_LIST,
    }: { readonly signal?: AbortSignal | undefined; readonly limits?: ListLimits },
  ): AsyncIterable<FullList> {
    const budget = { bytes: limits.bytes };
    const limit = String(limits.page);
    let left = limits.items;
    let next = '';
    do {
      const query = { limit, labelSelector: of.labelSelector, continue: next };
      const page = await this.#call({ method: 'GET', path: pathOf(of, query), signal, budget });
      const type = typeOfItems(page);
      const items = listIn(page, 'items').map((item) => ({ ...type, ...(item as KubeObject) }));
      // A server may filter out a whole page, but not without end.
      left -= items.length || limits.page;
      if (left < 0)
        throw unreachable(new Error(`there are more than ${limits.items} ${of.plural}`));
      yield { resourceVersion: textAt(page, ['metadata', 'resourceVersion']), items };
      next = textAt(page, ['metadata', 'continue']);
    } while (next !== '');
  }

  async get(of: ResourceName): Promise<KubeObject> {
    return await this.#object({ method: 'GET', path: pathOf(of) });
  }

  /** `isTrial`: dry run on the server. */
  async create(of: ResourceCollection, object: KubeObject, isTrial = false): Promise<KubeObject> {
    const trial = isTrial ? { dryRun: 'All' } : {};
    const path = pathOf(of, { fieldManager: FIELD_MANAGER, ...trial });
    return await this.#object({ method: 'POST', path, body: object });
  }

  /** Fails with a conflict (409) unless the object is still at its `metadata.resourceVersion`. */
  async update(of: ResourceName, object: KubeObject): Promise<KubeObject> {
    const path = pathOf(of, { fieldManager: FIELD_MANAGER });
    return await this.#object({ method: 'PUT', path, body: object });
  }

  /** Deletes only the object that was read, in the version that was read. */
  async delete(of: ResourceName, seen: KubeObject): Promise<void> {
    const { uid, resourceVersion } = seen.metadata;
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: { uid, resourceVersion },
    };
    await this.#call({ method: 'DELETE', path: pathOf(of), body });
  }

  /** Events after a version, until the server or the signal ends it. Throws ApiFailure. */
  async *watch(of: ResourceCollection, options: WatchOptions): AsyncIterable<WatchEvent> {
    const { resourceVersion, seconds, signal } = options;
    const query = {
      watch: 'true',
      resourceVersion,
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(seconds),
      labelSelector: of.labelSelector,
    };
    const deadlineMs = seconds * 1000 + WATCH_SLACK_MS;
    const path = pathOf(of, query);
    const response = await this.#transport.open({ method: 'GET', path, signal, deadlineMs });
    options.opened();
    for await (const line of linesOf(response)) yield eventOf(line);
  }

  async #object(call: Omit<Call, 'deadlineMs'>): Promise<KubeObject> {
    return (await this.#call(call)) as KubeObject;
  }

  #call(call: Omit<Call, 'deadlineMs'>): Promise<unknown> {
    return this.#transport.json({ ...call, deadlineMs: ANSWER_MS });
  }
}

/** A stream of JSON values, one per line, as in a watch. Ends with the stream; throws ApiFailure for an interrupted or invalid one. */
async function* linesOf(stream: Readable): AsyncIterable<unknown> {
  let rest: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      let start = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
        const line = Buffer.concat([...rest, chunk.subarray(start, end)]);
        rest = [];
        size = 0;
        start = end + 1;
        if (line.length > 0) yield JSON.parse(line.toString('utf8'));
      }
      if (start < chunk.length) rest.push(chunk.subarray(start));
      size += chunk.length - start;
      if (size > MAX_LINE_BYTES) throw new Error('a line of the watch is too long');
    }
  } catch (error) {
    throw error instanceof ApiFailure ? error : unreachable(error);
  }
}

/** Servers leave out `apiVersion` and `kind` in the items of a list. */
function typeOfItems(page: unknown): { apiVersion?: string; kind?: string } {
  const [apiVersion, kind] = [textAt(page, ['apiVersion']), textAt(page, ['kind'])];
  if (apiVersion === '' || kind === 'List' || !kind.endsWith('List')) return {};
  return { apiVersion, kind: kind.slice(0, -'List'.length) };
}

function pathOf(
  of: ResourceCollection | ResourceName,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const inNamespace =
    of.namespace === undefined ? '' : `/namespaces/${encodeURIComponent(of.namespace)}`;
  const name = 'name' in of ? `/${encodeURIComponent(of.name)}` : '';
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') parameters.set(key, value);
  }
  const search = parameters.size === 0 ? '' : `?${parameters}`;
  const root = of.group === undefined ? '/api/v1' : `/apis/${of.group}/v1`;
  return `${root}${inNamespace}/${of.plural}${name}${search}`;
}

function eventOf(line: unknown): WatchEvent {
  const type = isRecord(line) ? line['type'] : undefined;
  const object = isRecord(line) ? line['object'] : undefined;
  if (type === 'ERROR') {
    const code = Number(valueAt(object, ['code']) ?? 500);
    const reason = textAt(object, ['reason']);
    const failure = new ApiFailure({ code, reason, message: textAt(object, ['message']) });
    return { type, failure };
  }
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED' || type === 'BOOKMARK') {
    return { type, object: object as KubeObject };
  }
  const message = 'the watch sent something that is not an event';
  throw new ApiFailure({ code: 0, reason: 'Unreachable', message });
}

function textAt(value: unknown, path: readonly string[]): string {
  const found = valueAt(value, path);
  return typeof found === 'string' ? found : '';
}

function listIn(value: unknown, field: string): unknown[] {
  const found = valueAt(value, [field]);
  return Array.isArray(found) ? found : [];
}
