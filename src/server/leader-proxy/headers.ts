/** Headers on their way through: what is for the next hop only stays behind (RFC 9110, section 7.6.1). */
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';

/** On the peer listener: the newest version of the state when the answer was made. */
export const VERSION_HEADER = 'gitplane-state-version';
/**
 * On the peer listener: who answers does not lead any more. `refused`: it has done nothing;
 * `unknown`: the request may have taken effect.
 */
export const NOT_LEADER_HEADER = 'gitplane-not-leader';

/** On every request that a front hands on, and on no other: where the client is. */
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
/** What only we say. */
const OURS = new Set([
  'forwarded',
  CLIENT_HEADER,
  'x-forwarded-host',
  'x-forwarded-proto',
  VERSION_HEADER,
  NOT_LEADER_HEADER,
]);

/**
 * Whether a request at the peer listener is that of a client, which a front hands on, and not a
 * replica's own: what only replicas may have is not given out by way of a front.
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
 * Where a client is. Behind an ingress, which alone can reach the listener, it is what the ingress
 * says: the last address, since those before it are the client's words.
 */
export function clientAddress(request: IncomingMessage, isBehindProxy: boolean): string {
  const said = isBehindProxy ? request.headers[CLIENT_HEADER] : undefined;
  const last = String(said ?? '')
    .split(',')
    .at(-1)
    ?.trim();
  return last || (request.socket.remoteAddress ?? '');
}
