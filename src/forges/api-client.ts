/** JSON over HTTP to the API of a forge. The token is read at each request, so that it can be replaced. */
import { readFile } from 'node:fs/promises';
import type { Clock } from '../apimachinery/index.ts';
import { HttpClient, type HttpRequest, UnreachableError } from '../outbound/index.ts';
import { assertAccepted, DeliveryError } from '../outbox/index.ts';

export interface ForgeAccess {
  readonly token?: string | undefined;
  /** Used in place of `token`. */
  readonly tokenFile?: string | undefined;
  /** File with certificates to trust (PEM), beside those of Node. */
  readonly caFile?: string | undefined;
}

export interface ApiCall {
  readonly method?: HttpRequest['method'];
  /** Below the base URL, with its query. */
  readonly path: string;
  readonly body?: object;
}

export interface ApiClientOptions {
  /** As in `GitHub`, for messages. */
  readonly name: string;
  readonly api: string;
  readonly access: ForgeAccess;
  readonly clock: Clock;
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

const MOST_PAGES = 4;
const PAGE_SIZE = 50;
/** Pages that a search reads. Comments are found early, since their lists begin with the oldest. */
const SEARCHED_PAGES = 40;

export class ApiClient {
  readonly #options: ApiClientOptions;
  readonly #ended = new AbortController();
  #client: { readonly ca: string | undefined; readonly http: HttpClient } | undefined;

  constructor(options: ApiClientOptions) {
    this.#options = options;
  }

  /** Answer of a successful call. Throws DeliveryError, without anything that the forge said. */
  async call(call: ApiCall): Promise<unknown> {
    const { name, clock } = this.#options;
    const { status, headers, text } = await this.#send(call);
    assertAccepted(
      `${name} (${call.method ?? 'GET'} ${pathOf(call)})`,
      { status, headers },
      clock.now(),
    );
    if (text === '') return undefined;
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw new DeliveryError(`${name} answered no JSON`, { problem: 'unavailable', cause });
    }
  }

  /** Items of a list, from its first pages. `query` is appended to the path. */
  async list(path: string, query = ''): Promise<readonly unknown[]> {
    const items: unknown[] = [];
    for await (const page of this.pages(path, { query, most: MOST_PAGES })) items.push(...page);
    return items;
  }

  /** A list page by page, so that a search ends at the page with its result. */
  async *pages(
    path: string,
    { query = '', most = SEARCHED_PAGES } = {},
  ): AsyncGenerator<readonly unknown[]> {
    for (let page = 1; page <= most; page++) {
      // Gitea reads `limit`, the others `per_page`.
      const paging = `per_page=${PAGE_SIZE}&limit=${PAGE_SIZE}&page=${page}`;
      const found = await this.call({ path: `${path}?${query}${query && '&'}${paging}` });
      if (!Array.isArray(found)) return;
      yield found;
      if (found.length < PAGE_SIZE) return;
    }
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#client?.http.close();
  }

  async #send({ method = 'GET', path, body }: ApiCall): ReturnType<HttpClient['send']> {
    const { api, headers, name } = this.#options;
    try {
      const http = await this.#http();
      return await http.send({
        method,
        url: `${api}${path}`,
        headers: {
          accept: 'application/json',
          'user-agent': 'gitplane',
          authorization: `Bearer ${await this.#token()}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: this.#ended.signal,
      });
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      throw new DeliveryError(`${name}: ${error.message}`, {
        problem: 'unavailable',
        cause: error,
      });
    }
  }

  async #token(): Promise<string> {
    const { token, tokenFile } = this.#options.access;
    const text = tokenFile === undefined ? (token ?? '') : await readText(tokenFile);
    const secret = text.trim();
    if (secret !== '' && !/[^\x21-\x7e]/.test(secret)) return secret;
    throw new DeliveryError(`${tokenFile ?? 'GITPLANE_FORGE_TOKEN'} holds no token`, {
      problem: 'unavailable',
    });
  }

  /** Another client when the file of the authorities has changed. */
  async #http(): Promise<HttpClient> {
    const { caFile } = this.#options.access;
    const ca = caFile === undefined ? undefined : await readText(caFile);
    if (this.#client !== undefined && this.#client.ca === ca) return this.#client.http;
    const former = this.#client?.http;
    this.#client = { ca, http: new HttpClient({ ca }) };
    await former?.close();
    return this.#client.http;
  }
}

/** Without the query. */
function pathOf({ path }: ApiCall): string {
  return path.split('?')[0] ?? '';
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const { code = 'no reason' } = cause as NodeJS.ErrnoException;
    throw new DeliveryError(`Cannot read ${file} (${code})`, { problem: 'unavailable', cause });
  }
}
