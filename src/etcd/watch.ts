/**
 * A watch that outlives connections and members: it remembers the next revision that it wants and
 * asks for it wherever it connects. Answers that etcd cut into fragments are put together, so that a
 * revision is always whole.
 */
import { type ClientDuplexStream, status } from '@grpc/grpc-js';
import type { EtcdWatch, WatchBatch, WatchEvent, WatchRequest } from './etcd.ts';
import { CompactedRevisionError } from './etcd-error.ts';
import { failure, isFailure, type Member } from './member.ts';
import type { Members, Renewal } from './members.ts';
import { keyValue, spanOf } from './translate.ts';
import { WATCH, type WireEvent, type WireWatch, type WireWatchAnswer } from './wire.ts';

/** What may wait for the reader before etcd is told to wait. */
const MOST_WAITING = 256;
/** A connection that lasted so long was a good one. */
const LASTING_MS = 1000;

type WatchStream = ClientDuplexStream<WireWatch, WireWatchAnswer>;

/** `now` tells the newest revision, for a watch that begins with what comes next. */
export class Watch implements EtcdWatch {
  readonly #members: Members;
  readonly #request: WatchRequest;
  readonly #batches: WatchBatch[] = [];
  #next: bigint | undefined;
  #stream: WatchStream | undefined;
  /** Of an answer whose last fragment is still to come. */
  #fragments: WireEvent[] = [];
  #failure: Error | undefined;
  readonly #over = new AbortController();
  #wake: (() => void) | undefined;

  constructor(members: Members, request: WatchRequest, now: () => Promise<bigint>) {
    this.#members = members;
    this.#request = request;
    this.#next = request.from;
    this.#run(now).catch((error: Error) => this.#end(error));
  }

  /** Aborted when it has ended, for whatever reason. */
  get ended(): AbortSignal {
    return this.#over.signal;
  }

  get #ended(): boolean {
    return this.#over.signal.aborted;
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
        else await this.#news();
      }
    } finally {
      this.close();
    }
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #end(failure: Error | undefined): void {
    if (this.#ended) return;
    this.#failure = failure;
    this.#over.abort();
    this.#stream?.cancel();
    this.#wake?.();
  }

  async #run(now: () => Promise<bigint>): Promise<void> {
    this.#next ??= (await now()) + 1n;
    let renewal = this.#members.renewal();
    for (let attempt = 1; !this.#ended; attempt++) {
      if (this.#members.closed) return this.#end(undefined);
      const start = performance.now();
      if (!(await this.#followOne(renewal))) continue;
      if (performance.now() - start > LASTING_MS) {
        attempt = 0;
        renewal = this.#members.renewal();
      }
      if (!this.#ended) await this.#members.pause(attempt);
    }
  }

  /** Until another member has to be asked; false: the same one again, with a new token. */
  async #followOne(renewal: Renewal): Promise<boolean> {
    const member = this.#members.current;
    try {
      await this.#follow(member);
    } catch (error) {
      if (!isFailure(error)) throw error;
      const fate = renewal.fate(error);
      if (fate === 'sign-in') return false;
      if (fate === 'refused' && !this.#members.closed) throw this.#members.refusal(error, fate);
    }
    this.#members.leave(member);
    return true;
  }

  /** Resolves when this member does not serve the watch any more. */
  async #follow(member: Member): Promise<void> {
    const stream = await member.stream(WATCH, { metadata: await this.#members.metadata() });
    this.#fragments = [];
    this.#stream = stream;
    const lost = new Promise<void>((resolve, reject) => {
      stream.on('data', (answer: WireWatchAnswer) => {
        try {
          if (!this.#take(answer)) stream.cancel();
        } catch (error) {
          stream.cancel();
          reject(error as Error);
        }
      });
      stream.on('error', (error) => reject(error));
      stream.on('end', () => resolve());
    });
    // The iteration may have ended while the connection was made.
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
    return { ...spanOf(this.#request), start_revision: String(this.#next), fragment: true };
  }

  /** False: the member has ended the watch, and another may go on with it. */
  #take(answer: WireWatchAnswer): boolean {
    this.#members.checkCluster(answer);
    if (answer.canceled) return this.#canceled(answer);
    for (const event of answer.events) this.#fragments.push(event);
    if (answer.fragment) return true;
    const events = this.#fragments;
    this.#fragments = [];
    for (const batch of inRevisions(events)) this.#deliver(batch);
    return true;
  }

  #canceled({ compact_revision: compacted, cancel_reason: reason }: WireWatchAnswer): boolean {
    if (compacted !== '0') throw new CompactedRevisionError(this.#next ?? 0n);
    if (!reason.includes('permission denied')) return false;
    // etcd says the same of a token that it does not know any more.
    throw failure(status.UNAUTHENTICATED, reason);
  }

  #deliver(batch: WatchBatch): void {
    if (this.#ended || this.#next === undefined || batch.revision < this.#next) return;
    this.#next = batch.revision + 1n;
    this.#batches.push(batch);
    if (this.#batches.length >= MOST_WAITING) this.#stream?.pause();
    this.#wake?.();
  }
}

/** Events come in the order of revisions, and those of one revision together. */
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
