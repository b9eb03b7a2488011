/**
 * How new what a follower shows is, and who waits for it to be newer. What was written last is asked
 * of whoever writes, who knows it without asking anybody, and of the place of the records when that
 * one has no answer soon: both answers are of a moment after the question.
 */
import { deferred, within } from '../deferred.ts';
import { Waiters } from '../journal/waiters.ts';
import { StateError } from '../state-error.ts';
import type { Newest } from './record-feed.ts';
import { SingleFlight } from './single-flight.ts';

/** Whoever writes the records. Revisions are those that everything is in that anybody may have seen before. */
export interface Writer {
  /** Undefined: somebody has to be asked. */
  known(): bigint | undefined;
  /** Undefined: it cannot be told. Must not reject. */
  ask(): Promise<bigint | undefined>;
}

export interface FreshnessOptions {
  /** Where the records are, for messages. */
  readonly place: string;
  /** Asks where the records are. */
  readonly newest: () => Promise<Newest>;
  readonly writer?: Writer | undefined;
  /** The newest revision that was received, shown or not. */
  readonly received: () => bigint;
  /** The records are older than what was received of them. */
  readonly onRewound: () => void;
}

const PATIENCE_MS = 3000;
/** Whoever writes, and is asked, may take so long until the place of the records is asked as well. */
const WRITER_MS = 25;
const NOTHING = -1n;

export class Freshness {
  readonly #options: FreshnessOptions;
  readonly #revisions = new Waiters<bigint>();
  readonly #versions = new Waiters<number>();
  readonly #looks: SingleFlight<bigint>;
  readonly #loading = deferred<void>();
  /** The revision that is shown: less than what was received while a state comes in parts. */
  #shown = NOTHING;
  #head = 0;
  #confirmed: number | undefined;

  constructor(options: FreshnessOptions) {
    this.#options = options;
    this.#looks = new SingleFlight(() => this.#look());
    this.#loading.promise.catch(() => undefined);
  }

  get shown(): bigint {
    return this.#shown;
  }

  /** Whether something whole is shown. */
  get isShowing(): boolean {
    return this.#shown !== NOTHING;
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

  /** `head`: the newest version that can be read. */
  show(revision: bigint, head: number): void {
    this.#shown = revision;
    this.#head = head;
    this.#revisions.reached(revision);
    this.#versions.reached(head);
  }

  /** There is nothing whole to show. */
  hide(): void {
    this.#shown = NOTHING;
  }

  async barrier(patienceMs = PATIENCE_MS): Promise<void> {
    const asked = performance.now();
    const written = this.#options.writer?.known() ?? (await this.#looks.look());
    if (this.#shown < written) await this.#reach(written, patienceMs);
    this.#confirm(asked);
  }

  /** The same, by the place of the records itself: it also tells when that was put back. */
  async check(): Promise<void> {
    const asked = performance.now();
    await this.#reach(await this.#askRecords(), PATIENCE_MS);
    this.#confirm(asked);
  }

  async reached(version: number, patienceMs = PATIENCE_MS): Promise<void> {
    await this.#versions.reach(version, () => this.#head, this.#patience(patienceMs));
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

  async #reach(written: bigint, patienceMs: number): Promise<void> {
    await this.#revisions.reach(written, () => this.#shown, this.#patience(patienceMs));
  }

  #patience(patienceMs: number): Parameters<Waiters<bigint>['reach']>[2] {
    return { patienceMs, late: () => this.#late() };
  }

  async #look(): Promise<bigint> {
    const { writer } = this.#options;
    if (writer === undefined) return await this.#askRecords();
    return await within(PATIENCE_MS, this.#askBoth(writer.ask()), () => this.#late());
  }

  async #askBoth(answer: Promise<bigint | undefined>): Promise<bigint> {
    const told = await Promise.race([answer, afterwards(WRITER_MS)]);
    if (told !== undefined) return told;
    const records = this.#askRecords();
    const writer = answer.then((late) => late ?? records);
    return await Promise.race([writer, records]).catch(() => writer);
  }

  async #askRecords(): Promise<bigint> {
    const { newest, received, onRewound } = this.#options;
    const before = received();
    const { written, clock } = await within(PATIENCE_MS, newest(), () => this.#late());
    if (clock < before) onRewound();
    return written;
  }

  #late(): StateError {
    return new StateError(`the state in ${this.#options.place} cannot be followed at the moment`);
  }
}

async function afterwards(milliseconds: number): Promise<undefined> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds).unref());
}
