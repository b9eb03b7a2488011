/**
 * HTTP requests to servers that the operator configured: no redirects, a deadline, a size limit, and
 * refused addresses. Errors name the origin alone, since the path of a URL may be a secret.
 */
import { rootCertificates } from 'node:tls';
import type { Agent, Dispatcher } from 'undici';
import { deadline } from '../apimachinery/index.ts';
import { guardedLookup, refuseAddress } from './address-guard.ts';
import { AnswerBody, hintLimit } from './answer-limits.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Aborts the request, in addition to the deadline. */
  readonly signal?: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Empty if the client ignores bodies. */
  readonly text: string;
}

export interface HttpClientOptions {
  /** PEM certificates to trust beside the authorities of Node. Absent: those alone. */
  readonly ca?: string | undefined;
  /** Time limit of one request with its answer. */
  readonly deadlineMs?: number;
  /** Size limit of an answer; 0: the status is enough, and the body is not read. */
  readonly maxBytes?: number;
}

const DEADLINE_MS = 20_000;
const MAX_BYTES = 4 * 1024 * 1024;
/** A page of a forge has some 20,000. */
const MAX_VALUES = 200_000;
const CONNECTIONS = 4;

/** The server cannot be reached, or its answer exceeds a limit. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

export class HttpClient {
  readonly #ca: string | undefined;
  readonly #deadlineMs: number;
  readonly #maxBytes: number;
  #agent: Dispatcher | undefined;

  constructor({ ca, deadlineMs = DEADLINE_MS, maxBytes = MAX_BYTES }: HttpClientOptions = {}) {
    this.#ca = ca;
    this.#deadlineMs = deadlineMs;
    this.#maxBytes = maxBytes;
  }

  /** Resolves with an answer of any status. Throws UnreachableError. */
  async send({ url, method, headers = {}, body, signal }: HttpRequest): Promise<HttpResponse> {
    const limit = deadline(this.#deadlineMs, ...(signal === undefined ? [] : [signal]));
    try {
      refuseAddress(new URL(url).hostname);
      // Loaded at the first request: most daemons send none.
      const undici = await import('undici');
      this.#agent ??= this.#newAgent(undici.Agent);
      const answer = await undici.request(url, {
        dispatcher: this.#agent,
        method,
        headers,
        signal: limit,
        ...(body === undefined ? {} : { body }),
      });
      const text = await this.#read(answer.body);
      const fields = Object.entries(answer.headers).map(([name, value]) => [name, String(value)]);
      return { status: answer.statusCode, headers: Object.fromEntries(fields), text };
    } catch (cause) {
      const why = isTimeout(limit) ? `no answer within ${this.#deadlineMs} ms` : reasonOf(cause);
      throw new UnreachableError(`Cannot reach ${originOf(url)}: ${why}`, { cause });
    }
  }

  async close(): Promise<void> {
    await this.#agent?.destroy();
  }

  #newAgent(Constructor: typeof Agent): Dispatcher {
    const ca = this.#ca;
    const agent = new Constructor({
      connections: CONNECTIONS,
      connect: {
        timeout: this.#deadlineMs,
        lookup: guardedLookup,
        ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
      },
    });
    return agent.compose(hintLimit);
  }

  async #read(body: AsyncIterable<Buffer> & { destroy(): unknown; on: OnError }): Promise<string> {
    if (this.#maxBytes === 0) {
      body.on('error', () => undefined);
      body.destroy();
      return '';
    }
    const answer = new AnswerBody(this.#maxBytes, MAX_VALUES);
    for await (const chunk of body) answer.add(chunk);
    return answer.text();
  }
}

type OnError = (event: 'error', listener: () => void) => unknown;

function isTimeout({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'an address that is not a URL';
}

/** Messages of undici repeat no URL; those of other causes have a code. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'no answer';
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
  return cause.message !== '' && cause.name !== 'TypeError' ? cause.message : (code ?? 'no answer');
}
