/** Limits of every connection and headers of every answer. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type Readable, Transform } from 'node:stream';
import type { TlsOptions } from 'node:tls';
import { cutOff, endUnread } from '../http2.ts';

/** Time limit for the request headers, against slow clients. */
const HEADERS_WITHIN_MS = 30_000;
/** Time limit for a request: enough for a large push over a slow line. See `BODY_WITHIN_MS` for API bodies. */
const REQUEST_WITHIN_MS = 15 * 60_000;
/** A body of the API is 3 MiB at most. */
export const BODY_WITHIN_MS = 60_000;
/** An idle connection takes memory, too. */
const MOST_CONNECTIONS = 32_768;
/** Open files that connections leave for git, the state and peers, where the process may have many. */
const OTHER_FILES = 8192;
/** Share of the open files that connections may always take. */
const SHARE_OF_FILES = 0.25;
const MOST_HEADERS = 100;
/** Several times what any client of the API sends by mistake. */
const MOST_DISCARDED_BYTES = 16 * 1024 * 1024;

/** Browsers must not run, frame or cache answers of the API. */
export const SECURITY_HEADERS: readonly (readonly [string, string])[] = [
  ['x-content-type-options', 'nosniff'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['referrer-policy', 'no-referrer'],
];

/** TLS 1.2 with forward secrecy and authenticated encryption, or TLS 1.3 (RFC 9325, section 4). */
export function tlsOptions(context: TlsOptions): TlsOptions {
  return {
    ...context,
    minVersion: 'TLSv1.2',
    honorCipherOrder: true,
    ciphers: [
      'TLS_AES_256_GCM_SHA384',
      'TLS_CHACHA20_POLY1305_SHA256',
      'TLS_AES_128_GCM_SHA256',
      'ECDHE-ECDSA-AES256-GCM-SHA384',
      'ECDHE-RSA-AES256-GCM-SHA384',
      'ECDHE-ECDSA-CHACHA20-POLY1305',
      'ECDHE-RSA-CHACHA20-POLY1305',
      'ECDHE-ECDSA-AES128-GCM-SHA256',
      'ECDHE-RSA-AES128-GCM-SHA256',
    ].join(':'),
  };
}

export function limitConnections(server: Server): void {
  server.headersTimeout = HEADERS_WITHIN_MS;
  server.requestTimeout = REQUEST_WITHIN_MS;
  server.maxConnections = mostConnections(openFiles());
  server.maxHeadersCount = MOST_HEADERS;
}

/** Number of connections that a process with a limit of open files takes. */
export function mostConnections(files: number): number {
  const room = Math.max(Math.ceil(files * SHARE_OF_FILES), files - OTHER_FILES);
  return Math.min(MOST_CONNECTIONS, room);
}

/** Limit of open files of this process; infinite where the system does not tell. */
function openFiles(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

export function secureHeaders(response: ServerResponse): void {
  for (const [name, value] of SECURITY_HEADERS) response.setHeader(name, value);
}

/** Closes a connection whose body does not arrive in time. Answers have no limit. */
export function limitBody(request: IncomingMessage): void {
  const length = request.headers['content-length'];
  const chunked = request.headers['transfer-encoding'] !== undefined;
  if (!chunked && (length === undefined || length === '0')) return;
  // A connection that fails behind an early answer gives the request neither event below.
  const held = new WeakRef(request);
  const timer = setTimeout(() => {
    const late = held.deref();
    if (late !== undefined) cutOff(late);
  }, BODY_WITHIN_MS).unref();
  request.once('end', () => clearTimeout(timer));
  request.once('close', () => clearTimeout(timer));
}

/**
 * Reads and drops the rest of a body whose answer came early, then calls `done`: at its end, or when it
 * goes on for too long. A connection that is closed with unread bytes is reset, and its client may lose
 * the answer.
 */
export function discardBody(request: IncomingMessage, done: () => void): void {
  if (request.errored !== null) {
    endUnread(request, done);
    return;
  }
  let left = MOST_DISCARDED_BYTES;
  request.on('data', (part: Buffer) => {
    left -= part.length;
    if (left < 0) done();
  });
  request.once('end', done).once('close', done);
  // An iterator may have stopped it.
  request.resume();
}

/** Passes a body through and counts each chunk first. An error of `count` ends the body. */
export function counted(payload: Readable, count: (bytes: number) => void): Readable {
  const parts = new Transform({
    transform(part: Buffer, _encoding, done) {
      try {
        count(part.length);
      } catch (error) {
        // Discards the rest: destroying the request would close the connection before the answer.
        payload.unpipe(parts);
        payload.resume();
        done(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      done(null, part);
    },
  });
  payload.once('error', (error) => parts.destroy(error));
  // The body of a GET has no reader: without a listener its error would end the process.
  parts.on('error', () => undefined);
  return payload.pipe(parts);
}
