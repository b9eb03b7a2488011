/** One request of a command to a daemon, with the daemon's own authority where it has one. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text as readAll } from 'node:stream/consumers';
import { isRecord } from '../apimachinery/index.ts';

export interface CallOptions {
  readonly method?: string;
  readonly ca?: string | undefined;
  /** No certificate is looked at. */
  readonly insecure?: boolean | undefined;
  readonly token?: string | undefined;
  readonly body?: unknown;
  /** Media type of the body; JSON when absent. */
  readonly type?: string | undefined;
  /** Time limit for the response. */
  readonly timeoutMs?: number | undefined;
}

const TIMEOUT_MS = 30_000;

/** An answer that is none of 2xx. */
export class AnswerError extends Error {
  readonly code: number;
  /** The body as JSON; undefined: it is none. */
  readonly body: unknown;

  constructor(code: number, message: string, body?: unknown) {
    super(message);
    this.code = code;
    this.body = body;
  }
}

/** The body of a 2xx answer as JSON. Throws one sentence that names the URL for anything else. */
export async function getJson(url: string, options: CallOptions = {}): Promise<unknown> {
  const { code, text } = await call(url, options);
  const body = parse(text);
  if (code >= 200 && code < 300) {
    if (body === undefined) throw new Error(`${url} answered with something that is not JSON`);
    return body;
  }
  const message = isRecord(body) ? body['message'] : undefined;
  const why = typeof message === 'string' ? message : text.trim();
  // The message of the API comes first: it names the object and the reason.
  const isOfApi = typeof message === 'string' && why !== '';
  const { origin } = new URL(url);
  const shown = isOfApi ? `${why} (${code}, ${origin})` : `${url} answered ${code}: ${why}`;
  throw new AnswerError(code, shown, body);
}

function call(url: string, options: CallOptions): Promise<{ code: number; text: string }> {
  const { method = 'GET', ca, token, body, type = 'application/json' } = options;
  const { timeoutMs = TIMEOUT_MS, insecure = false } = options;
  const send = url.startsWith('https:') ? httpsRequest : httpRequest;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(text === undefined
      ? {}
      : { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
  };
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(new Error(`Cannot reach ${url}: ${error.message}`, { cause: error }));
    const trust = { ...(ca ? { ca } : {}), ...(insecure ? { rejectUnauthorized: false } : {}) };
    const request = send(url, { method, headers, timeout: timeoutMs, ...trust });
    request.on('response', (response) => {
      readAll(response).then(
        (answer) => resolve({ code: response.statusCode ?? 0, text: answer }),
        fail,
      );
    });
    request.on('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    request.on('error', fail);
    request.end(text);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
