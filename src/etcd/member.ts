/**
 * One member of etcd and the connection to it. While anything is under way the member is asked
 * something that it can answer by itself. One that does not answer for a while (it is stopped, or
 * the network swallows everything), or knows no leader for as long (it is cut off from the others),
 * is given up with all that waits for it.
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

/** A member is dead when it did not answer well for this many ticks in a row, so far apart. */
const TICK_MS = 500;
const SILENT_TICKS = 4;
const CONNECT_MS = 2000;
const NO_LEADER = 'etcdserver: no leader';

const OPTIONS: ChannelOptions = {
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2000,
  // A connection of our own: giving it up makes a new one.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc-node.flow_control_window': 4 * 1024 * 1024,
};

export interface CallOptions {
  readonly metadata: Metadata;
  /** Milliseconds that the answer may take. */
  readonly within: number;
}

export interface StreamOptions {
  readonly metadata: Metadata;
  /** Absent: it may last for ever. */
  readonly within?: number;
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
  /** Since a question that is not answered well yet. */
  #ticks: number | undefined;
  #question: Pending | undefined;
  /** There was no connection when somebody wanted one last. */
  #why = 'No connection established in time';
  #closed = false;

  constructor(address: string, credentials: ChannelCredentials) {
    this.address = address;
    this.#credentials = credentials;
    this.#client = new Client(address, credentials, OPTIONS);
  }

  /** Rejects with a ServiceError. Nothing is sent before there is a connection. */
  async call<Request, Answer>(
    method: Method<Request, Answer>,
    request: Request,
    { metadata, within }: CallOptions,
  ): Promise<Answer> {
    const start = performance.now();
    await this.#connected(Math.min(CONNECT_MS, within));
    const left = within - (performance.now() - start);
    return await new Promise<Answer>((resolve, reject) => {
      const done = (error: ServiceError | null, answer?: Answer): void => {
        this.#settled(call);
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
      this.#begun(call);
    });
  }

  /** A stream that is counted as under way until it ends. It needs a listener for `error`. */
  async stream<Request, Answer>(
    method: Method<Request, Answer>,
    { metadata, within }: StreamOptions,
  ): Promise<ClientDuplexStream<Request, Answer>> {
    await this.#connected(Math.min(CONNECT_MS, within ?? CONNECT_MS));
    const stream = this.#open((client) =>
      client.makeBidiStreamRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        metadata,
        within === undefined ? {} : { deadline: Date.now() + within },
      ),
    );
    this.#begun(stream);
    const settled = (): void => this.#settled(stream);
    stream.on('status', settled).on('error', settled).on('close', settled);
    return stream;
  }

  /** Connects anew, with these credentials; calls and streams of the connection before go on. */
  secure(credentials: ChannelCredentials): void {
    if (this.#closed) return;
    const before = this.#client;
    this.#question?.cancel();
    this.#question = undefined;
    this.#credentials = credentials;
    this.#client = new Client(this.address, credentials, OPTIONS);
    before.close();
  }

  close(): void {
    this.#closed = true;
    this.#cancelAll();
    this.#client.close();
  }

  /** The library throws when the connection was closed by us; nothing was sent then. */
  #open<T>(make: (client: Client) => T): T {
    try {
      return make(this.#client);
    } catch (cause) {
      throw Object.assign(closedBefore(), { cause });
    }
  }

  #begun(pending: Pending): void {
    this.#pending.add(pending);
    this.#ticking ??= setInterval(() => this.#tick(), TICK_MS).unref();
  }

  #settled(pending: Pending): void {
    this.#pending.delete(pending);
    if (this.#pending.size > 0) return;
    clearInterval(this.#ticking);
    this.#ticking = undefined;
    this.#ticks = undefined;
  }

  /** Ticks are counted, not milliseconds: a process that was stopped itself blames nobody. */
  #tick(): void {
    this.#ticks = (this.#ticks ?? -1) + 1;
    if (this.#ticks > SILENT_TICKS) this.#giveUp();
    else if (this.#question === undefined) this.#ask();
  }

  #ask(): void {
    const client = this.#client;
    const answered = (error: ServiceError | null): void => {
      if (client !== this.#client) return;
      this.#question = undefined;
      // A refusal for want of a token is an answer, too.
      if (error?.details !== NO_LEADER) this.#ticks = undefined;
    };
    const { path, requestSerialize, responseDeserialize } = RANGE;
    this.#question = client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      { key: Buffer.of(0), serializable: true, count_only: true },
      withLeader(),
      answered,
    );
  }

  #giveUp(): void {
    const client = this.#client;
    const question = this.#question;
    this.#ticks = undefined;
    this.#question = undefined;
    question?.cancel();
    if (!this.#closed) this.#client = new Client(this.address, this.#credentials, OPTIONS);
    this.#cancelAll();
    client.close();
  }

  #cancelAll(): void {
    this.#question?.cancel();
    for (const pending of [...this.#pending]) {
      this.#settled(pending);
      pending.cancel();
    }
  }

  async #connected(within: number): Promise<void> {
    if (this.#closed) throw closedBefore();
    const until = Date.now() + within;
    const channel = this.#client.getChannel();
    for (let state = channel.getConnectivityState(true); ; ) {
      if (state === connectivityState.READY) return;
      if (state === connectivityState.SHUTDOWN) throw closedBefore();
      await new Promise<void>((resolve, reject) => {
        channel.watchConnectivityState(state, until, (error) => {
          if (error === undefined) resolve();
          else reject(failure(status.UNAVAILABLE, this.#why));
        });
      });
      state = channel.getConnectivityState(true);
      if (state !== connectivityState.TRANSIENT_FAILURE) continue;
      this.#why = await this.#whyNot();
      throw failure(status.UNAVAILABLE, this.#why);
    }
  }

  /** The library tells only those who call. */
  #whyNot(): Promise<string> {
    return new Promise((resolve) => {
      const { path, requestSerialize, responseDeserialize } = RANGE;
      const told = (error: ServiceError | null): void =>
        resolve(error === null ? this.#why : notSent(error.details));
      const question = { key: Buffer.of(0), serializable: true, count_only: true };
      const options = { deadline: Date.now() + TICK_MS };
      this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        question,
        options,
        told,
      );
    });
  }
}

/** A member that was cut off from the others says so, instead of answering for itself or waiting. */
export function withLeader(): Metadata {
  const metadata = new Metadata();
  metadata.set('hasleader', 'true');
  return metadata;
}

function notSent(details: string): string {
  const why = /Last error: (.*?)\. Resolution note/.exec(details)?.[1] ?? details;
  return `No connection established: ${why}`;
}

function closedBefore(): CallFailure & Error {
  return failure(status.UNAVAILABLE, 'Channel closed before call started');
}

export type CallFailure = Pick<ServiceError, 'code' | 'details'>;

export function failure(code: status, details: string): CallFailure & Error {
  return Object.assign(new Error(details), { code, details });
}

/** Whether a member, or the way to it, is to blame. */
export function isFailure(error: unknown): error is CallFailure & Error {
  return error instanceof Error && 'details' in error && 'code' in error;
}
