/**
 * A watch that survives connections and members: it stores the next revision and resumes there after a
 * reconnect. Responses that etcd split into fragments are joined, so that a revision is always complete.
 */
import { type ClientDuplexStream, status } from '@grpc/grpc-js';
import type { EtcdWatch, WatchBatch, WatchEvent, WatchRequest } from './etcd.ts';
import { CompactedRevisionError } from './etcd-error.ts';
import { failure, isFailure, type Member } from './member.ts';
import type { Members, TokenRetry } from './members.ts';
import { keyRange, keyValue } from './translate.ts';
import { WATCH, type WireEvent, type WireWatch, type WireWatchResponse } from './wire.ts';

/** Batches in the buffer before the stream is paused. */
const MAX_BUFFERED = 256;
/** A connection of at least this duration resets the backoff. */
const LASTING_MS = 1000;

type WatchStream = ClientDuplexStream<WireWatch, WireWatchResponse>;

/** `now` returns the current revision, for a watch that starts with the next one. */
export class Watch implements EtcdWatch {
  readonly #members: Members;
  readonly #request: WatchRequest;
  readonly #batches: WatchBatch[] = [];
  #next: bigint | undefined;
  #stream: WatchStream | undefined;
  /** Events of a response whose last fragment has not arrived. */
  #fragments: WireEvent[] = [];
  #failure: Error | undefined;
  readonly #closing = new AbortController();
  #wake: (() => void) | undefined;

  constructor(members: Members, request: WatchRequest, now: () => Promise<bigint>) {
    this.#members = members;
    this.#request = request;
    this.#next = request.from;
    this.#run(now).catch((error: Error) => this.#end(error));
  }

  /** Aborted when the watch has ended, for any reason. */
  get ended(): AbortSignal {
    return this.#closing.signal;
  }

  get #ended(): boolean {
    return this.#closing.signal.aborted;
  }

  close(): void {
    this.#batches.length = 0;
    this.#end(undefined);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<WatchBatch> {
    try {
      for (;;) {
        const batch = this.#batches.shift();
        if (batch !== undefined) {
          if (this.#batches.length === 0) this.#stream?.resume();
          yield batch;
        } else if (this.#failure !== undefined) throw this.#failure;
        else if (this.#ended) return;
        else await this.#nextBatch();
      }
    } finally {
      this.close();
    }
  }

  #nextBatch(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #end(failure: Error | undefined): void {
    if (this.#ended) return;
    this.#failure = failure;
    this.#closing.abort();
    this.#stream?.cancel();
    this.#wake?.();
  }

  async #run(now: () => Promise<bigint>): Promise<void> {
    this.#next ??= (await now()) + 1n;
    let tokenRetry = this.#members.tokenRetry();
    for (let attempt = 1; !this.#ended; attempt++) {
      if (this.#members.closed) return this.#end(undefined);
      const start = performance.now();
      if (!(await this.#followOne(tokenRetry))) continue;
      if (performance.now() - start > LASTING_MS) {
        attempt = 0;
        tokenRetry = this.#members.tokenRetry();
      }
      if (!this.#ended) await this.#members.pause(attempt);
    }
  }

  /** Returns when another member must be used; false: retry the same one with a new token. */
  async #followOne(tokenRetry: TokenRetry): Promise<boolean> {
    const member = this.#members.current;
    try {
      await this.#follow(member);
    } catch (error) {
      if (!isFailure(error)) throw error;
      const kind = tokenRetry.classify(error);
      if (kind === 'sign-in') return false;
      if (kind === 'refused' && !this.#members.closed) throw this.#members.errorOf(error, kind);
    }
    this.#members.leave(member);
    return true;
  }

  /** Resolves when this member has ended the watch. */
  async #follow(member: Member): Promise<void> {
    const stream = await member.stream(WATCH, { metadata: await this.#members.metadata() });
    this.#fragments = [];
    this.#stream = stream;
    const lost = new Promise<void>((resolve, reject) => {
      stream.on('data', (response: WireWatchResponse) => {
        try {
          if (!this.#take(response)) stream.cancel();
        } catch (error) {
          stream.cancel();
          reject(error);
        }
      });
      stream.on('error', (error) => reject(error));
      stream.on('end', () => resolve());
    });
    // The iteration may have ended while the connection was established.
    if (this.#ended) stream.cancel();
    else stream.write({ create_request: this.#create() });
    try {
      await lost;
    } finally {
      this.#stream = undefined;
      stream.cancel();
    }
  }

  #create(): WireWatch['create_request'] {
    return { ...keyRange(this.#request), start_revision: String(this.#next), fragment: true };
  }

  /** Returns false if the member has ended the watch, and another one may continue it. */
  #take(response: WireWatchResponse): boolean {
    this.#members.checkCluster(response);
    if (response.canceled) return this.#canceled(response);
    for (const event of response.events) this.#fragments.push(event);
    if (response.fragment) return true;
    const events = this.#fragments;
    this.#fragments = [];
    for (const batch of inRevisions(events)) this.#deliver(batch);
    return true;
  }

  #canceled({ compact_revision: compacted, cancel_reason: reason }: WireWatchResponse): boolean {
    if (compacted !== '0') throw new CompactedRevisionError(this.#next ?? 0n);
    if (!reason.includes('permission denied')) return false;
    // etcd reports an expired token in the same way.
    throw failure(status.UNAUTHENTICATED, reason);
  }

  #deliver(batch: WatchBatch): void {
    if (this.#ended || this.#next === undefined || batch.revision < this.#next) return;
    this.#next = batch.revision + 1n;
    this.#batches.push(batch);
    if (this.#batches.length >= MAX_BUFFERED) this.#stream?.pause();
    this.#wake?.();
  }
}

/** Groups events, which arrive in the order of revisions, by revision. */
function inRevisions(events: readonly WireEvent[]): WatchBatch[] {
  const batches: { revision: bigint; events: WatchEvent[] }[] = [];
  for (const { type, kv } of events) {
    const event: WatchEvent = { type: type === 'PUT' ? 'put' : 'delete', kv: keyValue(kv) };
    const revision = event.kv.modRevision;
    const last = batches.at(-1);
    if (last?.revision === revision) last.events.push(event);
    else batches.push({ revision, events: [event] });
  }
  return batches;
}
