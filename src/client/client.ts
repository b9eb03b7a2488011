/** Typed client of the API: `client.get('/summary')`. Paths and types are those of the OpenAPI document. */
import type { List, Operations } from './api.ts';
import { ApiError } from './api-error.ts';
import { type Ask, linesOf, sleep, Transport, type TransportOptions } from './transport.ts';

export interface ClientOptions extends TransportOptions {
  /** Root of the Kubernetes API. */
  readonly root?: string;
  /** Group of the kinds, where the daemon has another one than the types. */
  readonly apiGroup?: string;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type PathsOf<M extends Method> = keyof Operations extends infer K
  ? K extends `${M} ${infer P}`
    ? P
    : never
  : never;
type OperationAt<M extends Method, P extends string> = `${M} ${P}` extends keyof Operations
  ? Operations[`${M} ${P}`]
  : never;
type Answer<M extends Method, P extends string> = OperationAt<M, P>['answer'];

/** Lists that can be watched, by the type of their items. */
type ItemOf<P extends string> = Answer<'GET', P> extends List<infer Item> ? Item : never;

interface Common {
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly contentType?: string;
}
/** Parameters are optional if all of them are. */
type Parameters<Name extends string, T> =
  Record<never, never> extends T ? { readonly [N in Name]?: T } : { readonly [N in Name]: T };
type Body<T> = undefined extends T ? { readonly body?: T } : { readonly body: T };
type Options<M extends Method, P extends string> = Common &
  Parameters<'path', OperationAt<M, P>['path']> &
  Parameters<'query', OperationAt<M, P>['query']> &
  Body<OperationAt<M, P>['body']>;
type Arguments<M extends Method, P extends string> =
  Record<never, never> extends Options<M, P> ? [options?: Options<M, P>] : [options: Options<M, P>];

export interface WatchEvent<Item> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: Item;
}

/** The parts that each request has, whatever its types. */
interface Given extends Common {
  readonly path?: object | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
}

const ROOT = '/kubernetes/management';
const TYPED_GROUP = '/apis/management.gitplane.dev/';
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 10_000;

export class ApiClient {
  readonly transport: Transport;
  readonly #root: string;
  readonly #apiGroup: string | undefined;

  constructor({ root = ROOT, apiGroup, ...options }: ClientOptions) {
    this.transport = new Transport(options);
    this.#root = root;
    this.#apiGroup = apiGroup;
  }

  async get<P extends PathsOf<'GET'>>(
    path: P,
    ...[options]: Arguments<'GET', P>
  ): Promise<Answer<'GET', P>> {
    return await this.#ask('GET', path, options);
  }

  async post<P extends PathsOf<'POST'>>(
    path: P,
    ...[options]: Arguments<'POST', P>
  ): Promise<Answer<'POST', P>> {
    return await this.#ask('POST', path, options);
  }

  async put<P extends PathsOf<'PUT'>>(
    path: P,
    ...[options]: Arguments<'PUT', P>
  ): Promise<Answer<'PUT', P>> {
    return await this.#ask('PUT', path, options);
  }

  /** A list is sent as a JSON Patch (RFC 6902), another body as a merge patch (RFC 7386). */
  async patch<P extends PathsOf<'PATCH'>>(
    path: P,
    ...[options]: Arguments<'PATCH', P>
  ): Promise<Answer<'PATCH', P>> {
    return await this.#ask('PATCH', path, options);
  }

  async delete<P extends PathsOf<'DELETE'>>(
    path: P,
    ...[options]: Arguments<'DELETE', P>
  ): Promise<Answer<'DELETE', P>> {
    return await this.#ask('DELETE', path, options);
  }

  /** Every object of a list, page by page. */
  async *list<P extends PathsOf<'GET'>>(
    path: P,
    ...[options]: Arguments<'GET', P>
  ): AsyncGenerator<ItemOf<P>> {
    const given: Given = { ...options };
    let token: string | undefined;
    do {
      const query = { limit: 500, ...given.query, continue: token };
      const page: List<ItemOf<P>> = await this.#ask('GET', path, { ...given, query });
      yield* page.items;
      token = page.metadata.continue || undefined;
    } while (token !== undefined);
  }

  /**
   * Changes of a list, from `resourceVersion` on, or with all of its objects first. It goes on after the
   * end of a connection, until the signal is aborted. Throws if the first connection fails, and ApiError
   * with 410 if the changes since the last one are not stored any more: begin anew then.
   */
  async *watch<P extends PathsOf<'GET'>>(
    path: P,
    ...[options]: Arguments<'GET', P>
  ): AsyncGenerator<WatchEvent<ItemOf<P>>> {
    const given: Given = { ...options };
    const { signal } = given;
    const isOver = (): boolean => signal?.aborted === true;
    let query: VersionQuery = { ...given.query };
    let isConnected = false;
    let delay = FIRST_DELAY_MS;
    while (!isOver()) {
      try {
        for await (const event of this.#events<ItemOf<P>>(path, { ...given, query })) {
          [isConnected, delay] = [true, FIRST_DELAY_MS];
          query = { ...query, resourceVersion: event.object.metadata.resourceVersion };
          if (event.type !== 'BOOKMARK') yield event;
        }
        isConnected = true;
      } catch (error) {
        if (isOver()) return;
        const isFinal = error instanceof ApiError && error.code < 500;
        if (!isConnected || isFinal) throw error;
      }
      await sleep(delay, signal);
      delay = Math.min(2 * delay, LONGEST_DELAY_MS);
    }
  }

  /** One connection of a watch. */
  async *#events<Item>(path: string, options: Given): AsyncGenerator<WatchEvent<Item & Versioned>> {
    const query = { ...options.query, watch: true, allowWatchBookmarks: true };
    const response = await this.#send('GET', path, { ...options, query });
    for await (const line of linesOf(response)) {
      const event: WatchEvent<Item & Versioned> | Failure = JSON.parse(line);
      if (event.type === 'ERROR') throw new ApiError(event.object.code ?? 500, event.object);
      yield event;
    }
  }

  async #ask<T>(method: Method, path: string, options: Given = {}): Promise<T> {
    const response = await this.#send(method, path, options);
    const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '');
    return (await (isJson ? response.json() : response.text())) as T;
  }

  async #send(method: Method, path: string, options: Given): Promise<Response> {
    const { path: parts = {}, body, contentType = typeOf(method, body), ...rest } = options;
    const ask: Ask = { ...rest, method, body, ...(contentType ? { contentType } : {}) };
    return await this.transport.send(this.#url(path, parts), ask);
  }

  #url(path: string, parts: object): string {
    const values = new Map<string, unknown>(Object.entries(parts));
    const filled = path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
      const value = values.get(name) ?? '';
      if (value === '') throw new TypeError(`${path}: ${name} is missing`);
      return encodeURIComponent(String(value));
    });
    const isKubernetes = /^\/apis?\//.test(filled);
    if (!isKubernetes) return filled;
    const own = this.#apiGroup;
    const inGroup =
      own === undefined ? filled : filled.replace(TYPED_GROUP, `/apis/${encodeURIComponent(own)}/`);
    return `${this.#root}${inGroup}`;
  }
}

interface VersionQuery {
  readonly resourceVersion?: string | undefined;
}
interface Versioned {
  readonly metadata: VersionQuery;
}
interface Failure {
  readonly type: 'ERROR';
  readonly object: { readonly code?: number };
}

function typeOf(method: Method, body: unknown): string | undefined {
  if (method !== 'PATCH') return undefined;
  return `application/${Array.isArray(body) ? 'json-patch' : 'merge-patch'}+json`;
}

export function createClient(options: ClientOptions): ApiClient {
  return new ApiClient(options);
}
