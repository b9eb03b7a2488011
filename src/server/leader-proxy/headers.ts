/** Forwarded headers, without hop-by-hop ones (RFC 9110, section 7.6.1). */
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';

/** On the peer listener: the newest version of the state when the answer was made. */
export const VERSION_HEADER = 'gitplane-state-version';
/**
 * On the peer listener: the answering replica has lost the lead. `refused`: it did nothing; `unknown`:
 * the request may have taken effect.
 */
export const NOT_LEADER_HEADER = 'gitplane-not-leader';

/** Address of the client. Set on forwarded requests only. */
export const CLIENT_HEADER = 'x-forwarded-for';

const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Headers that clients must not set. */
const OURS = new Set([
  'forwarded',
  CLIENT_HEADER,
  'x-forwarded-host',
  'x-forwarded-proto',
  VERSION_HEADER,
  NOT_LEADER_HEADER,
]);

/**
 * True if a request at the peer listener is the forwarded request of a client and not one of a replica:
 * clients must not get what only replicas may read.
 */
export function isHandedOn({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers[CLIENT_HEADER] !== undefined;
}

export function requestHeaders(
  headers: IncomingHttpHeaders,
  more: Readonly<Record<string, string>>,
): OutgoingHttpHeaders {
  return { ...passing(headers), ...more };
}

export function answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return passing(headers);
}

function passing(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = String(headers.connection ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase());
  const passed: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (HOP_BY_HOP.has(name) || OURS.has(name) || named.includes(name)) continue;
    passed[name] = value;
  }
  return passed;
}

/**
 * Address of the client. Behind an ingress, which alone can reach the listener, it is the last address
 * of X-Forwarded-For: the client can forge the ones before.
 */
export function clientAddress(request: IncomingMessage, isBehindProxy: boolean): string {
  const said = isBehindProxy ? request.headers[CLIENT_HEADER] : undefined;
  const last = String(said ?? '')
    .split(',')
    .at(-1)
    ?.trim();
  return last || (request.socket.remoteAddress ?? '');
}
