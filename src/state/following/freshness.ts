/**
 * Age of the state that a follower shows, and the callers that wait for a newer one. The newest
 * written revision comes from the writer, which knows it without a request, or from the records if
 * the writer does not answer soon. Both answers are from a moment after the question.
 */
import { deferred, SingleFlight } from '../../concurrency/index.ts';
import { Waiters } from '../journal/waiters.ts';
import { StateError } from '../state-error.ts';
import type { Newest } from './record-feed.ts';

/**
 * The process that writes the records. A revision includes every change that a client may have
 * seen.
 */
export interface Writer {
  /** Undefined: a request is needed. */
  known(): bigint | undefined;
  /** Undefined: not known. Must not reject. */
  ask(): Promise<bigint | undefined>;
}

export interface FreshnessOptions {
  /** Location of the records, for messages. */
  readonly place: string;
  /** Reads from the records. */
  readonly newest: () => Promise<Newest>;
  readonly writer?: Writer | undefined;
  /** The newest received revision, shown or not. */
  readonly received: () => bigint;
  /** Called when the records are older than those already received. */
  readonly onRewound: () => void;
}

const TIMEOUT_MS = 3000;
/** Time in ms after which the records are asked as well as the writer. */
const WRITER_MS = 25;
const NONE = -1n;

export class Freshness {
  readonly #options: FreshnessOptions;
  readonly #revisions = new Waiters<bigint>();
  readonly #versions = new Waiters<number>();
  readonly #newest: SingleFlight<bigint>;
  readonly #loading = deferred<void>();
  /** The shown revision: older than the received one while a state arrives in parts. */
  #shown = NONE;
  #head = 0;
  #confirmed: number | undefined;

  constructor(options: FreshnessOptions) {
    this.#options = options;
    this.#newest = new SingleFlight(() => this.#askNewest());
    this.#loading.promise.catch(() => undefined);
  }

  get shown(): bigint {
    return this.#shown;
  }

  /** True if a complete state is shown. */
  get isShowing(): boolean {
    return this.#shown !== NONE;
  }

  get loaded(): boolean {
    return this.#confirmed !== undefined;
  }

  get unconfirmedMs(): number {
    return performance.now() - (this.#confirmed ?? Number.NEGATIVE_INFINITY);
  }

  ready(): Promise<void> {
    return this.#loading.promise;
  }

  /** `head`: the newest readable version. */
  show(revision: bigint, head: number): void {
    this.#shown = revision;
    this.#head = head;
    this.#revisions.reached(revision);
    this.#versions.reached(head);
  }

  /** No complete state is available. */
  hide(): void {
    this.#shown = NONE;
  }

  async barrier(timeoutMs = TIMEOUT_MS): Promise<void> {
    const asked = performance.now();
    const written = this.#options.writer?.known() ?? (await this.#newest.look());
    if (this.#shown < written) await this.#reach(written, timeoutMs);
    this.#confirm(asked);
  }

  /** As `barrier`, but always asks the records, which also detects a restored backup. */
  async check(): Promise<void> {
    const asked = performance.now();
    await this.#reach(await this.#askRecords(), TIMEOUT_MS);
    this.#confirm(asked);
  }

  async reached(version: number, timeoutMs = TIMEOUT_MS): Promise<void> {
    await this.#versions.reach(version, () => this.#head, this.#limits(timeoutMs));
  }

  close(closed: Error): void {
    this.#loading.reject(closed);
    this.#revisions.fail(closed);
    this.#versions.fail(closed);
  }

  #confirm(asked: number): void {
    this.#confirmed = Math.max(this.#confirmed ?? asked, asked);
    this.#loading.resolve();
  }

  async #reach(written: bigint, timeoutMs: number): Promise<void> {
    await this.#revisions.reach(written, () => this.#shown, this.#limits(timeoutMs));
  }

  #limits(timeoutMs: number): Parameters<Waiters<bigint>['reach']>[2] {
    return { timeoutMs, timeoutError: () => this.#timeoutError() };
  }

  async #askNewest(): Promise<bigint> {
    const { writer } = this.#options;
    if (writer === undefined) return await this.#askRecords();
    return await within(TIMEOUT_MS, this.#askBoth(writer.ask()), () => this.#timeoutError());
  }

  async #askBoth(answer: Promise<bigint | undefined>): Promise<bigint> {
    const told = await Promise.race([answer, delay(WRITER_MS)]);
    if (told !== undefined) return told;
    const records = this.#askRecords();
    const writer = answer.then((late) => late ?? records);
    return await Promise.race([writer, records]).catch(() => writer);
  }

  async #askRecords(): Promise<bigint> {
    const { newest, received, onRewound } = this.#options;
    const before = received();
    const { written, clock } = await within(TIMEOUT_MS, newest(), () => this.#timeoutError());
    if (clock < before) onRewound();
    return written;
  }

  #timeoutError(): StateError {
    return new StateError(`the state in ${this.#options.place} cannot be followed at the moment`);
  }
}

/** Rejects with `late()` when `work` takes longer than `timeoutMs`. */
async function within<T>(timeoutMs: number, work: Promise<T>, late: () => Error): Promise<T> {
  const timer = deferred<never>();
  const timeout = setTimeout(() => timer.reject(late()), timeoutMs);
  try {
    return await Promise.race([work, timer.promise]);
  } finally {
    clearTimeout(timeout);
  }
}

async function delay(milliseconds: number): Promise<undefined> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds).unref());
}
