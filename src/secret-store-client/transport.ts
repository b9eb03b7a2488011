/**
 * HTTP client for a store: limited in time and size, follows no redirects, trusts only the
 * configured authorities.
 */
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import {
  AddressRefusedError,
  AnswerBody,
  guardedLookup,
  limitHints,
  refuseAddress,
} from '../outbound/index.ts';

export interface StoreRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path from the root of the store, encoded, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface StoreResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  /** Bound of the values in the text, if it was counted. */
  readonly values?: number;
}

/** Rejects with `TransportError`. */
export interface Transport {
  /** Scheme, host and port, for messages and redirect checks. */
  readonly origin: string;
  /** Path before `/v1/` in every request, without a trailing slash; absent: none. */
  readonly prefix?: string;
  send(request: StoreRequest): Promise<StoreResponse>;
  close(): void;
}

export class TransportError extends Error {
  override readonly name = 'TransportError';
  /** True if the store may have executed the request. */
  readonly mayHaveHappened: boolean;

  constructor(message: string, mayHaveHappened: boolean, cause?: unknown) {
    super(message, { cause });
    this.mayHaveHappened = mayHaveHappened;
  }
}

export interface TransportOptions {
  /** `https://host:port`, perhaps with a path prefix. */
  readonly address: string;
  readonly tls?: TransportTls;
  readonly skipTLSVerify?: boolean;
  readonly timeoutMs?: number;
}

export interface TransportTls {
  /** PEM of the authorities to trust instead of the default ones. */
  readonly ca?: string;
  /** PEM of the client certificate with its chain, and of its private key: both or none. */
  readonly cert?: string;
  readonly key?: string;
}

const TIMEOUT_MS = 20_000;
const CONNECTIONS = 8;
/** A value in Raft has at most 1 MiB; JSON escapes can multiply its size by six. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
/** A page of a listing has a thousand keys with some versions each. */
const MAX_ANSWER_VALUES = 200_000;

/** Error codes before the request was sent: no connection, or an untrusted peer. */
const BEFORE_SENDING =
  /^(ADDRESS_REFUSED|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CERT_.*|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_.*|ERR_TLS_CERT_ALTNAME_INVALID)$/;

const UNTRUSTED = /^(CERT_.*|DEPTH_ZERO_.*|SELF_SIGNED_.*|UNABLE_TO_.*)$/;
const WANTS_CERTIFICATE =
  /^ERR_SSL_.*ALERT_(BAD_CERTIFICATE|CERTIFICATE_REQUIRED|CERTIFICATE_UNKNOWN|HANDSHAKE_FAILURE|UNKNOWN_CA)$/;

function remedyOf(code: string): string {
  if (UNTRUSTED.test(code)) return '; name the authority of its certificate with caFile or caData';
  if (!WANTS_CERTIFICATE.test(code)) return '';
  return '; it takes no connection without a client certificate that it trusts (clientCertFile)';
}

/** Throws a one-sentence error for an invalid address. */
export function httpTransport(options: TransportOptions): Transport {
  const { address, tls = {}, skipTLSVerify = false, timeoutMs = TIMEOUT_MS } = options;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    throw new Error(
      'The address of the secret store must be like "https://store.example.com:8200"',
    );
  }
  if (url.search !== '' || url.hash !== '') {
    throw new Error(
      `The address of the secret store must end with the port or a path: ${url.origin}`,
    );
  }
  const isSecure = url.protocol === 'https:';
  const limits = {
    keepAlive: true,
    maxSockets: CONNECTIONS,
    maxFreeSockets: CONNECTIONS,
    lookup: guardedLookup,
  };
  const trust = { rejectUnauthorized: !skipTLSVerify, ...tls };
  const agent = isSecure ? new HttpsAgent({ ...limits, ...trust }) : new HttpAgent(limits);
  const start = isSecure ? httpsRequest : httpRequest;

  const send = ({ method, path, headers, body }: StoreRequest): Promise<StoreResponse> =>
    new Promise((resolve, reject) => {
      const refusal = refusedAddress(url);
      if (refusal !== undefined) return reject(refusal);
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const request = start(new URL(path, url), {
        method,
        agent,
        headers: { ...headers, ...length },
      });
      const fail = (error: NodeJS.ErrnoException): void => {
        clearTimeout(timer);
        const code = error.code ?? 'no answer';
        const happened = !BEFORE_SENDING.test(code);
        const why = error instanceof AddressRefusedError ? error.message : code;
        const text = `Cannot reach ${url.origin}: ${why}${remedyOf(code)}`;
        reject(new TransportError(text, happened, error));
      };
      const timer = setTimeout(() => {
        request.destroy(
          Object.assign(new Error('timeout'), { code: `no answer in ${timeoutMs} ms` }),
        );
      }, timeoutMs);
      request.on('error', fail);
      limitHints(request);
      request.on('upgrade', (_response, socket) => {
        socket.destroy();
        fail(Object.assign(new Error('upgrade'), { code: 'it changes to another protocol' }));
      });
      request.on('response', (response) => {
        const answer = new AnswerBody(MAX_ANSWER_BYTES, MAX_ANSWER_VALUES);
        response.on('data', (chunk: Buffer) => {
          try {
            answer.add(chunk);
          } catch (error) {
            const code = error instanceof Error ? error.message : String(error);
            request.destroy(Object.assign(new Error(code), { code }));
          }
        });
        response.on('error', fail);
        response.on('end', () => {
          clearTimeout(timer);
          const fields = Object.entries(response.headers).map(([name, value]): [string, string] => [
            name,
            String(value),
          ]);
          resolve({
            status: response.statusCode ?? 0,
            headers: Object.fromEntries(fields),
            text: answer.text(),
            values: answer.values,
          });
        });
      });
      request.end(body);
    });
  const prefix = url.pathname.replace(/\/+$/, '');
  return { origin: url.origin, prefix, send, close: () => agent.destroy() };
}

function refusedAddress({ hostname, origin }: URL): TransportError | undefined {
  try {
    refuseAddress(hostname);
    return undefined;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    return new TransportError(`Cannot reach ${origin}: ${message}`, false, cause);
  }
}
