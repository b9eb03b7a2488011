/** One of two servers of the same API that take the same requests in turns, and the figures found. */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_GROUP } from './corpus.ts';
import { diskBelow } from './disk.ts';
import { type Endpoint, HttpConnection, requestBytes } from './http-connection.ts';
import { openHttp2Streams } from './http2-streams.ts';
import { assertStatus, throughput } from './load.ts';
import { nextEvent, openStreams } from './rows/watch.ts';
import { summarize } from './statistics.ts';

export const WRITERS = 64;
export const READERS = 50;
export const PAGE = 1000;
/** Readers of the whole collection. kube-apiserver works for seconds on one answer of 100,000 objects. */
export function listersOf(size: number): number {
  return size > 10_000 ? 2 : 10;
}
/** Made and deleted before anything is measured: until then compilers of both work. */
const WARM_UP = 3000;
const READ_MS = 2000;
const CHANGES_OF_WARM_UP = 10;
/** Creates or deletes a second. A server that is slower ends the run, which would take too long. */
const SLOWEST = 50;
/** Checkpoints, compactions and the removal of what they replace are done. */
export const REST_MS = 5000;

/** Samples of one server. */
export interface Found {
  readonly filling: number[];
  readonly alone: number[];
  readonly get: number[];
  readonly listPage: number[];
  readonly listAll: number[];
  /** Of each change, until 99% of the watches had it. */
  readonly spread: number[];
  /** Bytes of its folder, and those since the first create. */
  disk: number;
  grown: number;
  memory: number | undefined;
  watchMemory: number | undefined;
}

/** HTTP/1.1 has a connection for each watch, HTTP/2 one for a hundred. */
export type Protocol = 'HTTP/1.1' | 'HTTP/2';

export interface Server {
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly api: string;
  readonly token: string;
  readonly dataDir: string;
  memory(): number | undefined;
  end(): Promise<unknown>;
}

export class ComparedServer {
  readonly endpoint: Endpoint;
  readonly found: Found = {
    filling: [],
    alone: [],
    get: [],
    listPage: [],
    listAll: [],
    spread: [],
    disk: 0,
    grown: 0,
    memory: undefined,
    watchMemory: undefined,
  };
  readonly #server: Server;
  readonly #teams: string;
  #made = 0;
  #changed = 0;
  #diskBefore = 0;

  constructor(server: Server) {
    this.#server = server;
    this.endpoint = server.endpoint;
    this.#teams = `${server.api}/teams`;
  }

  /** Creates and deletes. */
  async warmUp(): Promise<void> {
    const { token } = this.#server;
    const names = Array.from({ length: WARM_UP }, (_, i) => `warm-up-${i}`);
    const creates = names.map((name) => this.#create(name));
    await this.#sendAll(creates, 201);
    const deletes = names.map((name) =>
      requestBytes({ method: 'DELETE', path: `${this.#teams}/${name}`, token }),
    );
    await this.#sendAll(deletes, 200);
  }

  /** Growth of the disk counts from here. */
  async begin(): Promise<void> {
    this.#diskBefore = await diskBelow(this.#server.dataDir);
  }

  async fill(count: number): Promise<void> {
    const requests = Array.from({ length: count }, () => this.nextCreate());
    this.found.filling.push(await this.#sendAll(requests, 201));
  }

  async rest(): Promise<void> {
    this.found.disk = await diskBelow(this.#server.dataDir);
    this.found.grown = this.found.disk - this.#diskBefore;
    this.found.memory = this.#server.memory();
  }

  async read(size: number): Promise<void> {
    const { found } = this;
    found.get.push(await this.#rate(READERS, `/${teamName(Math.floor(size / 2))}`));
    found.listPage.push(await this.#rate(READERS, `?limit=${PAGE}`));
  }

  async listAll(size: number): Promise<void> {
    if (size > PAGE) this.found.listAll.push(await this.#rate(listersOf(size), ''));
  }

  /** The memory of `count` watches, and how fast each change reaches them. */
  async watch(of: { count: number; changes: number; protocol?: Protocol }): Promise<void> {
    const since = await this.#newestVersion();
    const path = `${this.#teams}?watch=true&resourceVersion=${since}`;
    const before = this.#server.memory();
    const { streams, close } = await this.#open({ path, ...of });
    const connection = await HttpConnection.open(this.endpoint);
    try {
      await sleep(REST_MS);
      const after = this.#server.memory();
      const isKnown = before !== undefined && after !== undefined;
      this.found.watchMemory = isKnown ? (after - before) / of.count : undefined;
      for (let i = 0; i < CHANGES_OF_WARM_UP; i++) await this.#spread(streams, connection);
      for (let i = 0; i < of.changes; i++) {
        this.found.spread.push(await this.#spread(streams, connection));
      }
    } finally {
      connection.close();
      close();
    }
  }

  async #open(of: {
    path: string;
    count: number;
    protocol?: Protocol;
  }): Promise<{ streams: readonly Readable[]; close(): void }> {
    const { path, count, protocol } = of;
    const { token } = this.#server;
    if (protocol === 'HTTP/2') return await openHttp2Streams(this.endpoint, { path, token }, count);
    const request = requestBytes({ method: 'GET', path, token });
    const sockets = await openStreams(this.endpoint, request, count);
    const close = (): void => {
      for (const socket of sockets) socket.destroy();
    };
    return { streams: sockets, close };
  }

  nextCreate(): Buffer {
    return this.#create(teamName(this.#made++));
  }

  async close(): Promise<void> {
    await this.#server.end();
  }

  /** Milliseconds from the request, until 99% of the watches have the change. */
  async #spread(streams: readonly Readable[], connection: HttpConnection): Promise<number> {
    const arrivals = streams.map((socket) => nextEvent(socket));
    const request = requestBytes({
      method: 'PATCH',
      path: `${this.#teams}/${teamName(0)}`,
      token: this.#server.token,
      type: 'application/merge-patch+json',
      body: Buffer.from(JSON.stringify({ spec: { displayName: `Changed ${this.#changed++}` } })),
    });
    const started = performance.now();
    const [reply, ...arrived] = await Promise.allSettled([connection.send(request), ...arrivals]);
    if (reply.status === 'rejected') throw reply.reason;
    assertStatus(reply.value, 200);
    const failed = arrived.filter((one) => one.status === 'rejected');
    if (failed[0] !== undefined) {
      const { message } = failed[0].reason as Error;
      const count = `${failed.length} of ${streams.length} watches of ${this.#server.name}`;
      throw new Error(`${count} did not have a change: ${message}`);
    }
    const times = arrived.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    return summarize(times).p99 - started;
  }

  async #newestVersion(): Promise<string> {
    const connection = await HttpConnection.open(this.endpoint);
    const { token } = this.#server;
    const path = `${this.#teams}?limit=1`;
    const reply = await connection.send(requestBytes({ method: 'GET', path, token }), true);
    connection.close();
    assertStatus(reply, 200);
    return JSON.parse(reply.body?.toString('utf8') ?? '').metadata.resourceVersion;
  }

  #rate(connections: number, query: string): Promise<number> {
    const { token } = this.#server;
    const request = requestBytes({ method: 'GET', path: `${this.#teams}${query}`, token });
    const { endpoint } = this;
    return throughput({ endpoint, connections, ms: READ_MS, status: 200, next: () => request });
  }

  /** Requests a second. Throws if the server is slower than `SLOWEST`. */
  async #sendAll(requests: Buffer[], status: number): Promise<number> {
    let sent = 0;
    const next = (): Buffer | undefined => requests[sent++];
    const { endpoint } = this;
    const ms = (requests.length / SLOWEST) * 1000 + REST_MS;
    const rate = await throughput({ endpoint, connections: WRITERS, ms, status, next });
    if (sent >= requests.length) return rate;
    const progress = `${sent} of ${requests.length} requests of ${WRITERS} writers`;
    throw new Error(
      `${this.#server.name} answered ${progress} within ${Math.round(ms / 1000)} s: use a smaller --manifests, or a machine with less load`,
    );
  }

  #create(name: string): Buffer {
    const { token } = this.#server;
    return requestBytes({ method: 'POST', path: this.#teams, token, body: teamBody(name) });
  }
}

function teamName(i: number): string {
  return `team-${String(i).padStart(6, '0')}`;
}

const BODY_BYTES = 1024;

/** 1 KiB, most of it text that does not compress. */
function teamBody(name: string): Buffer {
  const body = (description: string): string =>
    JSON.stringify({
      apiVersion: `${API_GROUP}/v1`,
      kind: 'Team',
      metadata: { name, labels: { 'app.kubernetes.io/part-of': 'bench' } },
      spec: { displayName: name, description, owner: { team: name }, users: ['ada', 'grace'] },
    });
  const text = Array.from({ length: 32 }, (_, i) =>
    createHash('sha256').update(`${name} ${i}`).digest('base64'),
  ).join('');
  return Buffer.from(body(text.slice(0, BODY_BYTES - body('').length)));
}
