/** Client for objects of one cluster: of core/v1, or of v1 of another group. */

import type { Readable } from 'node:stream';
import { isRecord, type KubeObject, valueAt } from '../apimachinery/index.ts';
import { AnswerBody } from '../outbound/index.ts';
import { ApiFailure, hasReason, TOO_LARGE, unreachable } from './api-failure.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { type Call, countValues, MAX_BYTES, MAX_VALUES, Transport } from './transport.ts';

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
  | {
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
      readonly object: KubeObject;
      /** Estimate of the memory that the object takes, in bytes. */
      readonly memory?: number;
    }
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
  /** Values of all pages: texts, numbers, lists and maps. Absent: as many as the bytes allow. */
  readonly values?: number;
  /** Objects per page. A page beyond the limits of an answer is requested in smaller ones. */
  readonly page: number;
}

const PAGE = 500;
/** A server may name a next page without end. Reflectors hold all objects in memory. */
const MAX_LIST: ListLimits = {
  items: 100_000,
  bytes: 256 * 1024 * 1024,
  values: 4_000_000,
  page: PAGE,
};
const SMALLER = 10;
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
    const { bytes, values = Number.POSITIVE_INFINITY } = limits;
    let budget = { bytes, values };
    let size = limits.page;
    let left = limits.items;
    let next = '';
    for (;;) {
      const query = { limit: String(size), labelSelector: of.labelSelector, continue: next };
      const before = { ...budget };
      const call = { method: 'GET', path: pathOf(of, query), signal, budget } as const;
      const page = await this.#call(call).catch((error: unknown) => {
        if (!hasReason(error, TOO_LARGE) || size === 1) throw error;
        return undefined;
      });
      if (page === undefined) {
        // Nothing of it is in the list. It happens a few times at most.
        budget = before;
        size = Math.max(1, Math.floor(size / SMALLER));
        continue;
      }
      const type = typeOfItems(page);
      const items = listIn(page, 'items').map((item) => ({ ...type, ...(item as KubeObject) }));
      // A server may filter out a whole page, but not without end.
      left -= items.length || limits.page;
      if (left < 0)
        throw unreachable(new Error(`there are more than ${limits.items} ${of.plural}`));
      yield { resourceVersion: textAt(page, ['metadata', 'resourceVersion']), items };
      next = textAt(page, ['metadata', 'continue']);
      if (next === '') return;
    }
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

/** Lines that are not empty. Ends with the stream; throws ApiFailure for an interrupted one. */
async function* linesOf(stream: Readable): AsyncIterable<Buffer> {
  let rest = new AnswerBody(MAX_BYTES);
  try {
    for await (const chunk of stream) {
      let start = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
        rest.add(chunk.subarray(start, end));
        const line = rest.bytes();
        rest = new AnswerBody(MAX_BYTES);
        start = end + 1;
        if (line.length > 0) yield line;
      }
      if (start < chunk.length) rest.add(chunk.subarray(start));
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

/** Memory of an object beside its text, and of each value in it. */
const OBJECT_MEMORY = 1024;
const VALUE_MEMORY = 64;

function eventOf(line: Buffer): WatchEvent {
  const values = countValues(line);
  if (values > MAX_VALUES) throw unreachable(new Error('a line of the watch has too many values'));
  const event = parsed(line);
  const type = isRecord(event) ? event['type'] : undefined;
  const object = isRecord(event) ? event['object'] : undefined;
  if (type === 'ERROR') {
    const code = Number(valueAt(object, ['code']) ?? 500);
    const reason = textAt(object, ['reason']);
    const failure = new ApiFailure({ code, reason, message: textAt(object, ['message']) });
    return { type, failure };
  }
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED' || type === 'BOOKMARK') {
    const memory = OBJECT_MEMORY + line.length + values * VALUE_MEMORY;
    return { type, object: object as KubeObject, memory };
  }
  throw unreachable(new Error('the watch sent something that is not an event'));
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch (cause) {
    throw unreachable(new Error('a line of the watch is not JSON', { cause }));
  }
}

function textAt(value: unknown, path: readonly string[]): string {
  const found = valueAt(value, path);
  return typeof found === 'string' ? found : '';
}

function listIn(value: unknown, field: string): unknown[] {
  const found = valueAt(value, [field]);
  return Array.isArray(found) ? found : [];
}
