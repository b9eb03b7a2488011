/** Requests over `fetch`, in Node and browsers: credentials, repetition without an answer, refusals. */
import { ConnectionError, refusalOf } from './api-error.ts';

export interface TransportOptions {
  /** Address of the daemon: `https://platform.example`. Empty in a browser: its own host. */
  readonly url?: string;
  /** Access key. */
  readonly token?: string;
  readonly fetch?: typeof fetch;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the session of a browser: proof that a page of the host asks for a change. */
  readonly csrfToken?: string;
  /** Called for 401. */
  readonly onUnauthorized?: () => void;
}

export interface Ask {
  readonly method?: string;
  /** Texts, numbers and booleans; undefined is left out. */
  readonly query?: object | undefined;
  readonly accept?: string;
  /** Sent as it is if it is a text, else as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

const JSON_TYPE = 'application/json';
/** Delays before the second and the third attempt. */
const RETRY_DELAYS_MS = [300, 1000];

export class Transport {
  readonly #options: TransportOptions;
  readonly #url: string;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#url = (options.url ?? '').replace(/\/+$/, '');
  }

  /**
   * Sends a request, again if no answer comes: browsers drop connections when a network interface
   * changes. The idempotency key makes a repeated write one commit. Throws ApiError for a refusal and
   * ConnectionError without an answer.
   */
  async send(path: string, ask: Ask = {}): Promise<Response> {
    const { token, csrfToken, onUnauthorized } = this.#options;
    const { method = 'GET', signal } = ask;
    const isChange = method !== 'GET';
    const headers: Record<string, string> = {
      accept: ask.accept ?? JSON_TYPE,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...this.#options.headers,
      ...(isChange ? { 'idempotency-key': randomKey() } : {}),
      ...ask.headers,
      ...(isChange && csrfToken !== undefined ? { 'x-csrf-token': csrfToken } : {}),
      ...(ask.body === undefined ? {} : { 'content-type': ask.contentType ?? JSON_TYPE }),
    };
    const body = bodyOf(ask.body);
    const response = await this.#fetched(`${this.#url}${path}${queryOf(ask.query)}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.ok) return response;
    if (response.status === 401) onUnauthorized?.();
    throw await refusalOf(response);
  }

  /** The answer as JSON. `T` is what the API documents for the path. */
  async json<T>(path: string, ask?: Ask): Promise<T> {
    const response = await this.send(path, ask);
    return (await response.json()) as T;
  }

  async #fetched(url: string, init: RequestInit): Promise<Response> {
    const request = this.#options.fetch ?? globalThis.fetch;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await request(url, init);
      } catch (error) {
        if (init.signal?.aborted === true) throw error;
        const delay = RETRY_DELAYS_MS[attempt];
        if (delay === undefined) {
          throw new ConnectionError('The server cannot be reached', { cause: error });
        }
        await sleep(delay);
      }
    }
  }
}

/** Also where the page came by plain HTTP, without `crypto.randomUUID`. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function bodyOf(body: unknown): string | undefined {
  return body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
}

function queryOf(query: object = {}): string {
  const given = Object.entries<unknown>({ ...query }).filter(
    ([, value]) => value !== undefined && value !== '',
  );
  const pairs = given.map(([name, value]): [string, string] => [name, String(value)]);
  const text = new URLSearchParams(pairs).toString();
  return text === '' ? '' : `?${text}`;
}

/** Lines of a stream of JSON documents. */
export async function* linesOf(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      yield* lines.filter((line) => line !== '');
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Ends early when the signal is aborted. */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
  });
}
