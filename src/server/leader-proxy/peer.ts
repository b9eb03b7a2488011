/**
 * Requests of other replicas to the leader. Each answer carries the version of the state that it is
 * computed from. A replica that leads no longer refuses with 503.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isHandedOn, NOT_LEADER_HEADER, VERSION_HEADER } from './headers.ts';
import { SAFE_METHODS } from './local-requests.ts';

export interface PeerService {
  /** True while this replica leads. */
  isHeld(): boolean;
  /** The newest version of the state. */
  version(): number;
  /** Last uses of access keys by name, in milliseconds since the epoch, as another replica saw them. */
  noteUses(uses: ReadonlyMap<string, number>): Promise<void>;
}

export const USES_PATH = '/peer/uses';
const MOST_BYTES = 1024 * 1024;

/** Returns true when the request is answered. */
export function handlePeer(
  peer: PeerService,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (!peer.isHeld()) {
    response.writeHead(503, { [NOT_LEADER_HEADER]: 'refused', 'retry-after': '1' });
    response.end();
    return true;
  }
  announce(peer, request, response);
  if (request.url !== USES_PATH || isHandedOn(request)) return false;
  takeUses(peer, request)
    .then(() => response.writeHead(204).end())
    .catch(() => response.writeHead(400).end());
  return true;
}

/** Adds the version to the head, and to the trailers, since the state may change after the head is sent. */
function announce(
  peer: PeerService,
  { method = '' }: IncomingMessage,
  response: ServerResponse,
): void {
  const { writeHead, end } = response;
  response.writeHead = function head(this: ServerResponse, ...args: unknown[]) {
    const more: [string, string][] = [[VERSION_HEADER, String(peer.version())]];
    // Reads and refusals depend on the current state: the next leader answers them.
    const tells = Number(args[0]) >= 400 || SAFE_METHODS.includes(method);
    if (tells && !peer.isHeld()) {
      more.push([NOT_LEADER_HEADER, 'unknown']);
      args[0] = 503;
    }
    // A list of headers stays one: names may be in it more than once.
    const list = args.findIndex((given) => Array.isArray(given));
    if (list >= 0) args[list] = [args[list], ...more].flat();
    else for (const [name, value] of more) this.setHeader(name, value);
    return Reflect.apply(writeHead, this, args);
  };
  response.end = function last(this: ServerResponse, ...args: unknown[]) {
    if (this.headersSent) this.addTrailers({ [VERSION_HEADER]: String(peer.version()) });
    return Reflect.apply(end, this, args);
  };
}

async function takeUses(peer: PeerService, request: IncomingMessage): Promise<void> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length > MOST_BYTES) throw new Error('too large');
    parts.push(part);
  }
  const uses = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>;
  const known = Object.entries(uses).filter(([, at]) => Number.isFinite(at));
  await peer.noteUses(new Map(known.map(([name, at]) => [name, Number(at)])));
}
