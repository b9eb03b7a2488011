/**
 * Requests to one store in one namespace: headers, the token, redirects, the circuit breaker, and
 * the meaning of a status. Errors never quote answers and only recognise known phrases, since a
 * store may repeat the request.
 */
import { StoreError } from '../secrets-merge/index.ts';
import { Breaker, type BreakerOptions } from './breaker.ts';
import {
  type StoreRequest,
  type StoreResponse,
  type Transport,
  TransportError,
} from './transport.ts';

export interface ClientOptions extends BreakerOptions {
  readonly transport: Transport;
  /**
   * Called for each request, and again after a 403. Undefined: none. `refused`: a token that the
   * store no longer accepts; return another one if possible.
   */
  readonly token: (refused?: string) => Promise<string | undefined>;
  readonly namespace?: string;
}

export interface Call {
  readonly method: StoreRequest['method'];
  /** Relative to `/v1/`, encoded. */
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
}

/** Check-and-set failures are not errors: the caller reads again. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  /** Bound of the values in the text, if it was counted. */
  readonly values?: number;
  readonly isOutrun: boolean;
}

interface Identity {
  readonly token: string | undefined;
  readonly namespace?: string | undefined;
}

const MOST_REDIRECTS = 2;
const CAS = 'check-and-set parameter did not match';

export class StoreClient {
  readonly #options: ClientOptions;
  readonly #breaker: Breaker;
  constructor(options: ClientOptions) {
    this.#options = options;
    this.#breaker = new Breaker(options);
  }

  get isAvailable(): boolean {
    return !this.#breaker.isOpen;
  }

  /** Milliseconds until the next request may be sent; 0: now. */
  get pauseMs(): number {
    return this.#breaker.remaining;
  }

  /** Allows a trial request now, whatever failed before. */
  tryAgain(): void {
    this.#breaker.succeeded();
  }

  get origin(): string {
    return this.#options.transport.origin;
  }

  get namespace(): string | undefined {
    return this.#options.namespace;
  }

  /** Resolves for 2xx, for 404 and for a failed check-and-set; rejects with `StoreError`. */
  async call(call: Call): Promise<Answer> {
    return await this.#guarded(() => this.#authorized(call));
  }

  /** Makes sure that there is a token other than the refused one. Rejects with `StoreError`. */
  async authenticate(refused?: string): Promise<void> {
    await this.#guarded(() => this.#identity(refused));
  }

  /** For logins. The circuit breaker applies to the request that needs the token. */
  async callWithoutToken(call: Call): Promise<Answer> {
    const identity = { token: undefined, namespace: this.namespace };
    return this.#judge(await this.#exchange(call, identity), call);
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    const wait = this.#breaker.wait();
    if (wait > 0) {
      const seconds = Math.ceil(wait / 1000);
      throw this.#error(
        'Unavailable',
        `is not asked for another ${seconds} s, because it failed before`,
      );
    }
    try {
      const answer = await work();
      this.#breaker.succeeded();
      return answer;
    } catch (error) {
      if (error instanceof StoreError && STORE_WIDE.has(error.reason)) {
        this.#breaker.failed(error instanceof Postponed ? error.retryAfterMs : 0);
      } else this.#breaker.succeeded();
      throw error;
    }
  }

  /** Without the namespace; for requests about the whole store. */
  async callRoot(call: Call): Promise<Answer> {
    const token = await this.#options.token();
    return this.#judge(await this.#exchange(call, { token }), call);
  }

  close(): void {
    this.#options.transport.close();
  }

  async #authorized(call: Call): Promise<Answer> {
    const used = await this.#identity();
    const response = await this.#exchange(call, used);
    if (response.status !== 403) return this.#judge(response, call);
    const now = await this.#successor(call, used);
    const again = await this.#exchange(call, now);
    if (again.status !== 403) return this.#judge(again, call);
    throw await this.#refused(call, now);
  }

  /** Returns another token than the refused one. Rejects with the refusal if there is none. */
  async #successor(call: Call, used: Identity): Promise<Identity> {
    const now = await this.#identity();
    if (now.token !== used.token) return now;
    const refusal = await this.#refused(call, used);
    if (refusal.reason !== 'TokenInvalid') throw refusal;
    const other = await this.#identity(used.token);
    if (other.token === used.token) throw refusal;
    return other;
  }

  async #identity(refused?: string): Promise<Identity> {
    const token = await this.#options.token(refused);
    if (token !== undefined) return { token, namespace: this.namespace };
    throw this.#error('TokenMissing', 'needs a token, and there is none');
  }

  /** Distinguishes an invalid token from a missing capability. */
  async #refused({ method, path }: Call, as: Identity): Promise<StoreError> {
    const self: Call = { method: 'GET', path: 'auth/token/lookup-self' };
    const lookup = await this.#exchange(self, as);
    // A token without the default policy can neither look itself up nor ask for its capabilities,
    // and is still valid: the store words that refusal differently.
    if (lookup.status === 200 || isOfPolicy(lookup)) {
      return this.#error(
        'Forbidden',
        `does not let the token ${method} ${path}; its policies lack it`,
      );
    }
    const body = JSON.stringify({ paths: [decodeURI(path)] });
    const ask: Call = { method: 'POST', path: 'sys/capabilities-self', body };
    const capabilities = await this.#exchange(ask, as);
    return capabilities.status === 200
      ? this.#error('Forbidden', `does not let the token ${method} ${path}; its policies lack it`)
      : this.#error('TokenInvalid', 'does not know the token (any more); replace it');
  }

  async #exchange(call: Call, { token, namespace }: Identity): Promise<StoreResponse> {
    const { transport } = this.#options;
    const headers = {
      accept: 'application/json',
      'x-vault-request': 'true',
      ...(token !== undefined && { 'x-vault-token': token }),
      ...(namespace !== undefined && namespace !== '' && { 'x-vault-namespace': namespace }),
      ...(call.body !== undefined && { 'content-type': call.contentType ?? 'application/json' }),
    };
    const root = `${transport.prefix ?? ''}/v1/`;
    let path = root + call.path;
    for (let hop = 0; hop <= MOST_REDIRECTS; hop += 1) {
      const { method, body } = call;
      const response = await this.#send({
        method,
        path,
        headers,
        ...(body !== undefined && { body }),
      });
      if (response.status !== 307 && response.status !== 308) return response;
      // The error of the parser would quote the text, in which a store may repeat the token.
      const location = response.headers['location'] ?? '';
      if (!URL.canParse(location, transport.origin)) {
        throw this.#error('Redirected', 'redirects to an address that is not a URL');
      }
      const target = new URL(location, transport.origin);
      if (target.origin !== transport.origin || !target.pathname.startsWith(root)) {
        // The redirect would get the token. Another path of the same host may be another service.
        const [base = ''] = target.pathname.split('/v1/');
        const address = target.origin + base;
        throw this.#error('Redirected', `redirects to ${address}; set that as the address`);
      }
      path = target.pathname + target.search;
    }
    throw this.#error('Redirected', 'redirects in a circle');
  }

  async #send(request: StoreRequest): Promise<StoreResponse> {
    try {
      return await this.#options.transport.send(request);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      const mayHaveHappened = error.mayHaveHappened && request.method !== 'GET';
      throw new StoreError(error.message, { reason: 'Unreachable', mayHaveHappened, cause: error });
    }
  }

  #judge(response: StoreResponse, call: Call): Answer {
    const { status, text, values = 0 } = response;
    if (status >= 200 && status < 300) return { status, text, values, isOutrun: false };
    if (status === 404) return { status, text, isOutrun: false };
    if (status === 400 && text.includes(CAS)) return { status, text, isOutrun: true };
    if (status === 429) {
      const detail = 'asks for fewer requests';
      throw new Postponed(this.#text(detail), retryAfterMs(response, this.#options.clock.now()));
    }
    const [reason, detail] = MEANINGS.find((meaning) => meaning.is(status, text))?.says ?? [
      status >= 500 ? 'StoreFailed' : 'Rejected',
      `answered ${status}`,
    ];
    const unsure = status >= 500 && !NEVER_DONE.has(reason) && call.method !== 'GET';
    throw this.#error(reason, `${detail} (${call.method} ${call.path})`, unsure);
  }

  #error(reason: string, detail: string, mayHaveHappened = false): StoreError {
    return new StoreError(this.#text(detail), { reason, mayHaveHappened });
  }

  #text(detail: string): string {
    const { transport, namespace } = this.#options;
    const where = namespace ? `${transport.origin}, namespace ${namespace},` : transport.origin;
    return `The secret store ${where} ${detail}`;
  }
}

class Postponed extends StoreError {
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super(message, { reason: 'RateLimited' });
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Wording of OpenBao and Vault for a missing capability; for invalid tokens they use other texts.
 */
function isOfPolicy({ status, text }: StoreResponse): boolean {
  const isPolicy = text.includes('1 error occurred') || text.includes('preflight capability check');
  return status === 403 && isPolicy && !/(bad|invalid) token/.test(text);
}

interface Meaning {
  readonly is: (status: number, text: string) => boolean;
  readonly says: readonly [reason: string, detail: string];
}

const MEANINGS: readonly Meaning[] = [
  {
    is: (status, text) => status === 400 && text.includes('Upgrading from non-versioned'),
    says: ['Upgrading', 'is upgrading the mount'],
  },
  {
    is: (status, text) => status === 400 && text.includes('check-and-set parameter required'),
    says: ['WrongEngine', 'demands check-and-set; the mount is KV v2'],
  },
  {
    is: (status, text) => status === 503 && text.includes('sealed'),
    says: ['Sealed', 'is sealed'],
  },
  {
    // OpenBao 2.4 only reports that it cannot parse the body, which is valid JSON.
    is: (status, text) =>
      status === 400 && /exceeded maximum number of strings|error parsing JSON/.test(text),
    says: ['TooLarge', 'finds too many strings in the request'],
  },
  { is: (status) => status === 501, says: ['NotInitialized', 'is not initialised'] },
  { is: (status) => status === 503, says: ['StoreFailed', 'answered 503'] },
  { is: (status) => status === 405, says: ['WrongEngine', 'has no such operation there'] },
  { is: (status) => status === 412, says: ['NotReady', 'has not caught up yet'] },
  { is: (status) => status === 413, says: ['TooLarge', 'finds the request too large'] },
  {
    is: (status, text) => status === 500 && text.includes('value being too large'),
    says: ['TooLarge', 'finds the value too large'],
  },
];

/** Failures that every request would have. */
const STORE_WIDE = new Set([
  'Unreachable',
  'Sealed',
  'NotInitialized',
  'StoreFailed',
  'RateLimited',
  'TokenInvalid',
  'TokenMissing',
  'LoginRefused',
  'FileUnreadable',
  'Redirected',
  'Reconfigured',
  'NamespaceMissing',
]);

/** True if a failure concerns the whole store, so that other requests would fail too. */
export function isStoreWide(error: unknown): error is StoreError {
  return (
    error instanceof StoreError && (STORE_WIDE.has(error.reason) || error.reason === 'Unavailable')
  );
}

const NEVER_DONE = new Set(['Sealed', 'NotInitialized', 'TooLarge']);
const LONGEST_RETRY_AFTER_MS = 5 * 60_000;

/** Milliseconds from RFC 9110 section 10.2.3: seconds or a date; 0 if absent. */
export function retryAfterMs({ headers }: StoreResponse, now: number): number {
  const value = headers['retry-after'];
  if (value === undefined) return 0;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS);
}
