/**
 * The network between processes of a test, and what can happen to it. Two kinds: namespaces of the
 * kernel, with an address and a link for each process, where the system allows that; or one address
 * for all and a TCP proxy on every way between two.
 */
import { NamespaceNetwork, namespacesMissing } from './namespaces.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** Where a process lives. */
export interface Place {
  readonly name: string;
  /** What it listens on. */
  readonly host: string;
  /** What runs it. */
  readonly via: readonly string[];
}

/** From some places to a port of another. */
export type Way = Pick<TcpProxy, 'address' | 'blackhole' | 'cut' | 'delay' | 'heal' | 'close'>;

export interface Network {
  readonly kind: 'namespaces' | 'proxies';
  /** Why it is not the other kind; undefined: it is the better one, or what was asked for. */
  readonly reason: string | undefined;
  place(name: string): Place;
  way(from: readonly Place[], to: Place, port: number): Promise<Way>;
  /** Nothing passes between these, in either direction, until what is returned is called. */
  part(some: readonly Place[], others: readonly Place[]): () => void;
  /** Nothing passes from the ones to the others until what is returned is called. */
  hold(from: readonly Place[], to: readonly Place[]): () => void;
  /** Makes the cable of a place slow, and fast again. */
  slow(place: Place, milliseconds: number): void;
  hurry(place: Place): void;
  /** A cable: without it nobody reaches the place, clients neither. */
  plug(place: Place, isIn: boolean): void;
  /** Ends what still runs in its places. */
  close(): Promise<void>;
}

/** GITPLANE_FAULTS_NETWORK=namespaces or proxies asks for one of them. */
export async function openNetwork(): Promise<Network> {
  const wanted = process.env['GITPLANE_FAULTS_NETWORK'];
  if (wanted === 'proxies') return new ProxyNetwork(undefined);
  const missing = await namespacesMissing();
  if (missing === undefined) return NamespaceNetwork.open();
  if (wanted === 'namespaces') throw new Error(missing);
  return new ProxyNetwork(missing);
}

const LOOPBACK = '127.0.0.1';

export class ProxyNetwork implements Network {
  readonly kind = 'proxies';
  readonly reason: string | undefined;

  constructor(reason: string | undefined) {
    this.reason = reason;
  }

  place(name: string): Place {
    return { name, host: LOOPBACK, via: [] };
  }

  way(_from: readonly Place[], to: Place, port: number): Promise<Way> {
    return startTcpProxy(`${to.host}:${port}`);
  }

  part(): () => void {
    throw new Error('Places that share an address cannot be parted');
  }

  hold(): () => void {
    throw new Error('Places that share an address cannot be parted');
  }

  slow(): void {
    throw new Error('Places that share an address have no cable');
  }

  hurry(): void {
    throw new Error('Places that share an address have no cable');
  }

  plug(): void {
    throw new Error('Places that share an address have no cable');
  }

  async close(): Promise<void> {}
}
