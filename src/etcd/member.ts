/**
 * One member of etcd and the connection to it. While calls are pending, the client probes the member
 * with a request that it can answer by itself. If it does not answer for a while (it is stopped, or the
 * network drops all packets), or has no leader for as long (it is partitioned), the connection is
 * dropped with all pending calls.
 */
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  connectivityState,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { type Method, RANGE } from './wire.ts';

/** A member counts as dead after this many ticks in a row without a good answer. */
const TICK_MS = 500;
const SILENT_TICKS = 4;
const CONNECT_MS = 2000;
const NO_LEADER = 'etcdserver: no leader';

const OPTIONS: ChannelOptions = {
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2000,
  // A connection pool of its own, so that dropping a connection makes a new one.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc-node.flow_control_window': 4 * 1024 * 1024,
};

export interface CallOptions {
  readonly metadata: Metadata;
  /** Time limit for the response in milliseconds. */
  readonly timeoutMs: number;
}

export interface StreamOptions {
  readonly metadata: Metadata;
  /** Absent: no time limit. */
  readonly timeoutMs?: number;
}

interface Pending {
  cancel(): void;
}

export class Member {
  readonly address: string;
  #credentials: ChannelCredentials;
  #client: Client;
  readonly #pending = new Set<Pending>();
  #ticking: NodeJS.Timeout | undefined;
  /** Ticks since the probe that has no good answer yet. */
  #ticks: number | undefined;
  #probe: Pending | undefined;
  /** Reason for the last missing connection. */
  #lastError = 'No connection established in time';
  #closed = false;

  constructor(address: string, credentials: ChannelCredentials) {
    this.address = address;
    this.#credentials = credentials;
    this.#client = new Client(address, credentials, OPTIONS);
  }

  /** Rejects with a ServiceError. Nothing is sent before the connection is established. */
  async call<Request, Reply>(
    method: Method<Request, Reply>,
    request: Request,
    { metadata, timeoutMs }: CallOptions,
  ): Promise<Reply> {
    const start = performance.now();
    await this.#connected(Math.min(CONNECT_MS, timeoutMs));
    const left = timeoutMs - (performance.now() - start);
    return await new Promise<Reply>((resolve, reject) => {
      const done = (error: ServiceError | null, answer?: Reply): void => {
        this.#untrack(call);
        if (error !== null) reject(error);
        else if (answer === undefined) reject(failure(status.INTERNAL, 'No answer'));
        else resolve(answer);
      };
      const call = this.#open((client) =>
        client.makeUnaryRequest(
          method.path,
          method.requestSerialize,
          method.responseDeserialize,
          request,
          metadata,
          { deadline: Date.now() + Math.max(left, 1) },
          done,
        ),
      );
      this.#track(call);
    });
  }

  /** Opens a stream, which counts as pending until it ends. It needs a listener for `error`. */
  async stream<Request, Reply>(
    method: Method<Request, Reply>,
    { metadata, timeoutMs }: StreamOptions,
  ): Promise<ClientDuplexStream<Request, Reply>> {
    await this.#connected(Math.min(CONNECT_MS, timeoutMs ?? CONNECT_MS));
    const stream = this.#open((client) =>
      client.makeBidiStreamRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        metadata,
        timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs },
      ),
    );
    this.#track(stream);
    const untrack = (): void => this.#untrack(stream);
    stream.on('status', untrack).on('error', untrack).on('close', untrack);
    return stream;
  }

  /** Reconnects with these credentials; calls and streams of the old connection continue. */
  secure(credentials: ChannelCredentials): void {
    if (this.#closed) return;
    const before = this.#client;
    this.#probe?.cancel();
    this.#probe = undefined;
    this.#credentials = credentials;
    this.#client = new Client(this.address, credentials, OPTIONS);
    before.close();
  }

  close(): void {
    this.#closed = true;
    this.#cancelAll();
    this.#client.close();
  }

  /** The library throws if the connection was closed by this client; then nothing was sent. */
  #open<T>(make: (client: Client) => T): T {
    try {
      return make(this.#client);
    } catch (cause) {
      throw Object.assign(closedBefore(), { cause });
    }
  }

  #track(pending: Pending): void {
    this.#pending.add(pending);
    this.#ticking ??= setInterval(() => this.#tick(), TICK_MS).unref();
  }

  #untrack(pending: Pending): void {
    this.#pending.delete(pending);
    if (this.#pending.size > 0) return;
    clearInterval(this.#ticking);
    this.#ticking = undefined;
    this.#ticks = undefined;
  }

  /** Counts ticks instead of milliseconds, so that a pause of this process blames no member. */
  #tick(): void {
    this.#ticks = (this.#ticks ?? -1) + 1;
    if (this.#ticks > SILENT_TICKS) this.#dropConnection();
    else if (this.#probe === undefined) this.#sendProbe();
  }

  #sendProbe(): void {
    const client = this.#client;
    const answered = (error: ServiceError | null): void => {
      if (client !== this.#client) return;
      this.#probe = undefined;
      // A refusal for a missing token is a good answer too.
      if (error?.details !== NO_LEADER) this.#ticks = undefined;
    };
    const { path, requestSerialize, responseDeserialize } = RANGE;
    this.#probe = client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      { key: Buffer.of(0), serializable: true, count_only: true },
      withLeader(),
      answered,
    );
  }

  #dropConnection(): void {
    const client = this.#client;
    const probe = this.#probe;
    this.#ticks = undefined;
    this.#probe = undefined;
    probe?.cancel();
    if (!this.#closed) this.#client = new Client(this.address, this.#credentials, OPTIONS);
    this.#cancelAll();
    client.close();
  }

  #cancelAll(): void {
    this.#probe?.cancel();
    for (const pending of [...this.#pending]) {
      this.#untrack(pending);
      pending.cancel();
    }
  }

  async #connected(timeoutMs: number): Promise<void> {
    if (this.#closed) throw closedBefore();
    const until = Date.now() + timeoutMs;
    const channel = this.#client.getChannel();
    for (let state = channel.getConnectivityState(true); ; ) {
      if (state === connectivityState.READY) return;
      if (state === connectivityState.SHUTDOWN) throw closedBefore();
      await new Promise<void>((resolve, reject) => {
        channel.watchConnectivityState(state, until, (error) => {
          if (error === undefined) resolve();
          else reject(failure(status.UNAVAILABLE, this.#lastError));
        });
      });
      state = channel.getConnectivityState(true);
      if (state !== connectivityState.TRANSIENT_FAILURE) continue;
      this.#lastError = await this.#connectError();
      throw failure(status.UNAVAILABLE, this.#lastError);
    }
  }

  /** Finds the reason for a missing connection: the library reports it only to a call. */
  #connectError(): Promise<string> {
    return new Promise((resolve) => {
      const { path, requestSerialize, responseDeserialize } = RANGE;
      const done = (error: ServiceError | null): void =>
        resolve(error === null ? this.#lastError : notSent(error.details));
      const probe = { key: Buffer.of(0), serializable: true, count_only: true };
      const options = { deadline: Date.now() + TICK_MS };
      this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        probe,
        options,
        done,
      );
    });
  }
}

/** Makes a partitioned member fail the call, instead of waiting or answering from old data. */
export function withLeader(): Metadata {
  const metadata = new Metadata();
  metadata.set('hasleader', 'true');
  return metadata;
}

function notSent(details: string): string {
  const reason = /Last error: (.*?)\. Resolution note/.exec(details)?.[1] ?? details;
  return `No connection established: ${reason}`;
}

function closedBefore(): CallFailure & Error {
  return failure(status.UNAVAILABLE, 'Channel closed before call started');
}

export type CallFailure = Pick<ServiceError, 'code' | 'details'>;

export function failure(code: status, details: string): CallFailure & Error {
  return Object.assign(new Error(details), { code, details });
}

/** True if the call failed because of the member or the connection to it. */
export function isFailure(error: unknown): error is CallFailure & Error {
  return error instanceof Error && 'details' in error && 'code' in error;
}
