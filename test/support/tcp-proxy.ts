/**
 * A TCP proxy that harms connections as networks do: cuts them, holds their bytes back, delays them,
 * loses one direction. Each kind can be turned on for one direction and off again while connections
 * are open.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** `up`: from the client to the upstream. `down`: back. */
export type Direction = 'up' | 'down';

export interface TcpProxy {
  readonly port: number;
  /** `127.0.0.1:PORT`, where clients go. */
  readonly address: string;
  /** Connections that are open now. */
  readonly open: number;
  /** Where new connections go: `HOST:PORT`. */
  upstream: string;
  /** New connections are closed at once. */
  refuse(on?: boolean): void;
  /** Breaks what is open (a reset, not a polite end); new connections are taken. */
  cut(): void;
  /**
   * Nothing passes and nobody is told: bytes wait, new connections are taken and answer nothing.
   * One direction is a half-open connection. After `heal` what waited goes on, as TCP does.
   */
  blackhole(direction?: Direction | 'both'): void;
  /** Every chunk arrives that much later, in order. 0: at once. */
  delay(milliseconds: number, direction?: Direction | 'both'): void;
  /** No harm from now on. */
  heal(): void;
  close(): Promise<void>;
}

interface Harm {
  held: boolean;
  delayMs: number;
}

export async function startTcpProxy(upstream: string): Promise<TcpProxy> {
  const proxy = new HarmingProxy(upstream);
  await proxy.listen();
  return proxy;
}

class HarmingProxy implements TcpProxy {
  upstream: string;
  readonly #server: Server;
  readonly #harm: Record<Direction, Harm> = {
    up: { held: false, delayMs: 0 },
    down: { held: false, delayMs: 0 },
  };
  readonly #lanes = new Set<Lane>();
  readonly #clients = new Set<Socket>();
  #isRefusing = false;

  constructor(upstream: string) {
    this.upstream = upstream;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) =>
      this.#take(client),
    );
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get open(): number {
    return this.#clients.size;
  }

  refuse(on = true): void {
    this.#isRefusing = on;
  }

  cut(): void {
    for (const client of this.#clients) client.resetAndDestroy();
  }

  blackhole(direction: Direction | 'both' = 'both'): void {
    for (const one of directions(direction)) this.#harm[one].held = true;
  }

  delay(milliseconds: number, direction: Direction | 'both' = 'both'): void {
    for (const one of directions(direction)) this.#harm[one].delayMs = milliseconds;
  }

  heal(): void {
    this.#isRefusing = false;
    for (const harm of Object.values(this.#harm)) Object.assign(harm, { held: false, delayMs: 0 });
    for (const lane of this.#lanes) lane.flush();
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.cut();
    await closed;
  }

  #take(client: Socket): void {
    client.on('error', () => undefined);
    if (this.#isRefusing) {
      client.resetAndDestroy();
      return;
    }
    const at = this.upstream.lastIndexOf(':');
    const far = connect({
      host: this.upstream.slice(0, at),
      port: Number(this.upstream.slice(at + 1)),
      allowHalfOpen: true,
      noDelay: true,
    });
    const lanes = [new Lane(client, far, this.#harm.up), new Lane(far, client, this.#harm.down)];
    this.#clients.add(client);
    for (const lane of lanes) this.#lanes.add(lane);
    far.on('error', () => client.resetAndDestroy());
    client.on('close', () => {
      this.#clients.delete(client);
      for (const lane of lanes) this.#end(lane);
      far.destroy();
    });
    far.on('close', () => this.#ended(client, lanes[1]));
  }

  /** What the upstream said before it closed still arrives, once nothing holds it back. */
  #ended(client: Socket, lane: Lane | undefined): void {
    if (lane === undefined || lane.isEmpty) client.destroySoon();
    else lane.whenEmpty = () => client.destroySoon();
  }

  #end(lane: Lane): void {
    lane.stop();
    this.#lanes.delete(lane);
  }
}

/** One direction of one connection. */
class Lane {
  whenEmpty: (() => void) | undefined;
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #harm: Harm;
  /** undefined: the end. */
  readonly #waiting: { chunk: Buffer | undefined; due: number }[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, harm: Harm) {
    this.#from = from;
    this.#to = to;
    this.#harm = harm;
    from.on('data', (chunk: Buffer) => this.#push(chunk));
    from.on('end', () => this.#push(undefined));
    to.on('drain', () => from.resume());
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Passes on what is due. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (!this.#harm.held) {
      const [next] = this.#waiting;
      if (next === undefined) break;
      const left = this.#harm.delayMs === 0 ? 0 : next.due - performance.now();
      if (left > 0) {
        this.#timer = setTimeout(() => this.flush(), left);
        return;
      }
      this.#waiting.shift();
      this.#pass(next.chunk);
    }
    if (this.isEmpty) this.whenEmpty?.();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#waiting.length = 0;
  }

  #push(chunk: Buffer | undefined): void {
    this.#waiting.push({ chunk, due: performance.now() + this.#harm.delayMs });
    // As a full window would: a sender cannot push without end into a hole.
    if (this.#waiting.length > 256) this.#from.pause();
    if (this.#timer === undefined) this.flush();
  }

  #pass(chunk: Buffer | undefined): void {
    if (chunk === undefined) {
      this.#to.end();
      return;
    }
    if (!this.#to.write(chunk)) this.#from.pause();
    else if (this.#from.isPaused() && this.#waiting.length <= 256) this.#from.resume();
  }
}

function directions(of: Direction | 'both'): readonly Direction[] {
  return of === 'both' ? ['up', 'down'] : [of];
}
