/** HTTP to one API server: persistent connections, limits, and Status bodies as errors. */
import * as http from 'node:http';
import * as https from 'node:https';
import { isRecord } from '../apimachinery/index.ts';
import { AnswerBody, guardedLookup, limitHints, refuseAddress } from '../outbound/index.ts';
import { ApiFailure, TOO_LARGE, unreachable } from './api-failure.ts';
import type { ClusterAccess } from './cluster-access.ts';

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path on the server, with its query. */
  readonly path: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Time limit of the request with its whole answer. */
  readonly deadlineMs: number;
  /** Limit of the answers of several calls together. */
  readonly budget?: AnswerBudget | undefined;
}

/** Rest of a limit. */
interface AnswerBudget {
  bytes: number;
  values: number;
}

const MOST_CONNECTIONS = 16;
/** An object of Kubernetes is smaller. Parsing stops all other requests. */
export const MAX_BYTES = 8 * 1024 * 1024;
/** An empty list takes three bytes of an answer, and some ten times as many when it is parsed. */
export const MAX_VALUES = 1_000_000;
/** Of a Status: its message becomes a condition and lines of the log. */
const MAX_MESSAGE = 1024;
/** Of a delay that a server asks for: a timer of more than 24 days ends at once. */
const MAX_WAIT_SECONDS = 3600;

export class Transport {
  readonly #access: ClusterAccess;
  readonly #base: URL;
  readonly #agent: http.Agent;

  constructor(access: ClusterAccess) {
    this.#access = access;
    this.#base = new URL(access.server);
    const options = { keepAlive: true, maxSockets: MOST_CONNECTIONS, lookup: guardedLookup };
    this.#agent =
      this.#base.protocol === 'https:'
        ? new https.Agent({ ...options, ...tlsOf(access) })
        : new http.Agent(options);
  }

  close(): void {
    this.#agent.destroy();
  }

  /** The body as JSON. Throws ApiFailure. */
  async json(call: Call): Promise<unknown> {
    const response = await this.open(call);
    const text = await readAll(response, call.budget).catch((error: unknown) => {
      throw error instanceof ApiFailure ? error : unreachable(error);
    });
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw unreachable(new Error(`the answer to ${call.method} is not JSON`, { cause }));
    }
  }

  /** Resolves when the server has answered with success. Throws ApiFailure. */
  async open(call: Call): Promise<http.IncomingMessage> {
    if (call.method !== 'GET') this.#access.assertMayAct?.();
    const response = await this.#send(call).catch((error: unknown) => {
      throw unreachable(error);
    });
    const { statusCode: code = 0 } = response;
    if (code >= 200 && code < 300) return response;
    const text = await readAll(response).catch(() => '');
    throw failureOf(code, text, response.headers['retry-after']);
  }

  async #send(call: Call): Promise<http.IncomingMessage> {
    const { token, socketPath } = this.#access;
    if (socketPath === undefined) refuseAddress(this.#base.hostname);
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const options: http.RequestOptions = {
      method: call.method,
      path: `${this.#base.pathname.replace(/\/$/, '')}${call.path}`,
      agent: this.#agent,
      ...(socketPath === undefined
        ? { hostname: hostOf(this.#base), port: this.#base.port }
        : { socketPath }),
      ...(call.signal === undefined ? {} : { signal: call.signal }),
      headers: {
        accept: 'application/json',
        'user-agent': 'gitplane-endpoint-sync',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      },
    };
    const { request } = this.#base.protocol === 'https:' ? https : http;
    return await new Promise((resolve, reject) => {
      let answer: http.IncomingMessage | undefined;
      const sent = request(options, (response) => {
        answer = response;
        resolve(response);
      });
      const { deadlineMs } = call;
      const timer = setTimeout(() => {
        (answer ?? sent).destroy(new Error(`no whole answer within ${deadlineMs} ms`));
      }, deadlineMs);
      sent.once('close', () => clearTimeout(timer));
      sent.on('error', reject);
      limitHints(sent);
      sent.on('upgrade', (_response, socket) => {
        socket.destroy();
        reject(new Error('the server changes to another protocol'));
      });
      sent.end(body);
    });
  }
}

function tlsOf(access: ClusterAccess): https.AgentOptions {
  return {
    ...(access.ca === undefined ? {} : { ca: access.ca }),
    ...(access.certificate === undefined ? {} : { cert: access.certificate }),
    ...(access.key === undefined ? {} : { key: access.key }),
    ...(access.serverName === undefined ? {} : { servername: access.serverName }),
    rejectUnauthorized: access.skipVerification !== true,
  };
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** Takes each part as it arrives: an iteration over the response would join small parts without a limit. */
function readAll(response: http.IncomingMessage, budget?: AnswerBudget): Promise<string> {
  const answer = new AnswerBody(MAX_BYTES);
  let [bytes, values] = [0, 0];
  const take = (chunk: Buffer): void => {
    const more = countValues(chunk);
    bytes += chunk.length;
    values += more;
    if (bytes > MAX_BYTES) throw tooLarge(`the answer has more than ${MAX_BYTES} bytes`);
    if (values > MAX_VALUES) throw tooLarge(`the answer has more than ${MAX_VALUES} values`);
    if (budget !== undefined) {
      budget.bytes -= chunk.length;
      budget.values -= more;
      if (budget.bytes < 0) throw new Error('the answers have more bytes than the limit');
      if (budget.values < 0) throw new Error('the answers have more values than the limit');
    }
    answer.add(chunk);
  };
  return new Promise((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (error) {
        reject(error);
        response.destroy();
      }
    });
    response.on('end', () => resolve(answer.text()));
    response.on('error', reject);
    response.on('close', () => reject(new Error('the answer breaks off')));
  });
}

const [COMMA, LIST, MAP] = [0x2c, 0x5b, 0x7b];

/** Bound of the values in a part of a JSON text: marks in texts count too. */
export function countValues(part: Uint8Array): number {
  let values = 0;
  for (const byte of part) if (byte === COMMA || byte === LIST || byte === MAP) values++;
  return values;
}

function tooLarge(message: string): ApiFailure {
  return new ApiFailure({ code: 0, reason: TOO_LARGE, message });
}

/** The message of a Status, if the server gives one. */
function failureOf(code: number, text: string, retryAfter: string | undefined): ApiFailure {
  let status: unknown;
  try {
    status = JSON.parse(text);
  } catch {
    status = undefined;
  }
  const { reason, message } = isRecord(status) ? status : {};
  const wait = Number(retryAfter);
  return new ApiFailure({
    code,
    reason: textOf(reason) || `Http${code}`,
    message: textOf(message) || `the server answered with ${code}`,
    ...(wait > 0 ? { retryAfterSeconds: Math.min(wait, MAX_WAIT_SECONDS) } : {}),
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_MESSAGE) : '';
}
