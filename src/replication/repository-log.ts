/**
 * The repository log, written by the leader. A branch update is valid when etcd has its record, in
 * one transaction that compares the term and the previous head; a failure of the local disk cannot
 * undo it. One update at a time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Mutex } from '../concurrency/index.ts';
import { type Compare, type Etcd, EtcdError, type Operation } from '../etcd/index.ts';
import { GitError, HeadMovedError } from '../git/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { sequenceKey } from './keys.ts';
import {
  type BranchHead,
  type Move,
  type RecordContext,
  readHead,
  recordOf,
} from './log-record.ts';
import { type Term, TermEndedError } from './term.ts';
import { transact, transactInTerm } from './transact.ts';

export interface RepositoryLogOptions extends RecordContext {
  readonly etcd: Etcd;
  readonly term: Term;
  readonly logger: Logger;
  /** Time limit in ms for one update, including the wait for earlier ones. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;
const RETRY_MS = 50;

/** State of the attempts for one update. */
interface Attempts {
  /** By performance.now(). */
  readonly deadline: number;
  /** An attempt may have taken effect, or still may. */
  isUnsure: boolean;
}

export class RepositoryLog {
  readonly #options: RepositoryLogOptions;
  /** The head in etcd, and its revision. */
  #head: { readonly value: BranchHead; readonly revision: bigint } | undefined;
  #previous: string | undefined;
  readonly #mutex = new Mutex();

  private constructor(options: RepositoryLogOptions) {
    this.#options = options;
  }

  /** Removes unfinished records of an earlier leader. Throws TermEndedError. */
  static async open(options: RepositoryLogOptions): Promise<RepositoryLog> {
    const log = new RepositoryLog(options);
    const { etcd, keys, term } = options;
    log.#head = await log.#readHead();
    const next = (log.#head?.value.sequence ?? 0) + 1;
    await transactInTerm(etcd, term.fence, [
      { remove: sequenceKey(keys.log, next), end: endOf(keys.log) },
      { remove: sequenceKey(keys.packs, next), end: endOf(keys.packs) },
    ]);
    return log;
  }

  /** Head of the branch; undefined before the first commit. */
  get head(): BranchHead | undefined {
    return this.#head?.value;
  }

  /** The commit before the last update in this term. */
  get previous(): string | undefined {
    return this.#previous;
  }

  /** Sets the branch of an empty etcd to the commit on the disk of this replica. */
  async begin(commit: string): Promise<void> {
    const { etcd, keys, term } = this.#options;
    const value: BranchHead = { commit, sequence: 1, bytes: 0 };
    const put = { put: keys.head, value: Buffer.from(JSON.stringify(value)) };
    this.#head = { value, revision: await transactInTerm(etcd, term.fence, [put]) };
  }

  /** Continues from the local commit after etcd was restored from an older snapshot. */
  async resume(commit: string): Promise<void> {
    const { etcd, keys, term } = this.#options;
    const before = this.#head?.value;
    const value: BranchHead = {
      commit,
      sequence: (before?.sequence ?? 0) + 1,
      bytes: before?.bytes ?? 0,
    };
    // The old records do not lead to this commit: other replicas fetch it instead.
    const revision = await transactInTerm(etcd, term.fence, [
      { remove: keys.log, prefix: true },
      { remove: keys.packs, prefix: true },
      { remove: keys.candidates, prefix: true },
      { put: keys.recovering, value: Buffer.from(commit) },
      { put: keys.head, value: Buffer.from(JSON.stringify(value)) },
    ]);
    this.#head = { value, revision };
  }

  /**
   * Resolves when the update is durable in etcd. Throws HeadMovedError when the branch is not at
   * `from`; GitError when etcd certainly refused it; TermEndedError when the term is over, perhaps
   * after the update.
   */
  append(move: Move): Promise<void> {
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    const attempts = { deadline: performance.now() + timeoutMs, isUnsure: false };
    return this.#mutex.run(() => this.#append(move, attempts));
  }

  async #append(move: Move, attempts: Attempts): Promise<void> {
    const { etcd, term } = this.#options;
    const before = this.#head;
    if (before?.value.commit !== move.from) {
      throw new HeadMovedError(move.from, before?.value.commit);
    }
    const { parts, last, head } = recordOf(this.#options, before?.value, move);
    for (const part of parts) {
      await this.#persist(() => transactInTerm(etcd, term.fence, [part]), attempts);
    }
    await this.#persist(() => this.#commit(head, last), attempts);
  }

  /** Tries again until the deadline what may be otherwise in a moment. */
  async #persist(work: () => Promise<unknown>, attempts: Attempts): Promise<void> {
    const { term, logger } = this.#options;
    for (let tries = 0; ; tries++) {
      if (!term.isHeld()) throw new TermEndedError();
      const failure = await this.#attempt(work, attempts);
      if (failure === undefined) return;
      const isLate = performance.now() + RETRY_MS >= attempts.deadline;
      if (term.isHeld() && (isLate || !isPassing(failure))) throw this.#notTaken(failure, attempts);
      if (tries === 0) logger.warn({ err: failure }, 'etcd did not accept a commit; trying again');
      await sleep(RETRY_MS);
    }
  }

  /** Returns why etcd did not say that it was done; undefined: it did. */
  async #attempt(work: () => Promise<unknown>, attempts: Attempts): Promise<Error | undefined> {
    const { signal } = this.#options.term;
    try {
      await unlessOver(work(), { signal, deadline: attempts.deadline });
      return undefined;
    } catch (err) {
      if (err instanceof TermEndedError || err instanceof HeadMovedError) throw err;
      attempts.isUnsure ||= !(err instanceof EtcdError) || err.unknown;
      return err instanceof Error ? err : new Error(String(err));
    }
  }

  /**
   * An attempt with an unknown result could still move the branch after a later update. Only the
   * end of the term, which every transaction compares, prevents that.
   */
  #notTaken(err: Error, { isUnsure }: Attempts): Error {
    const { term, logger } = this.#options;
    if (!isUnsure) {
      logger.warn({ err }, 'etcd did not accept a commit');
      return new GitError('etcd did not accept the commit', { remedy: err.message, cause: err });
    }
    logger.error({ err }, 'etcd did not say in time whether it took a commit: the term ends');
    term.end();
    return new TermEndedError();
  }

  async #commit(head: BranchHead, operations: readonly Operation[]): Promise<void> {
    const { etcd, keys, term } = this.#options;
    const before = this.#head;
    const compare: Compare[] = [
      ...term.fence,
      { key: keys.head, modRevision: before?.revision ?? 0n },
    ];
    const { succeeded, revision, found } = await transact(etcd, compare, operations, keys.head);
    if (succeeded) {
      this.#moved({ value: head, revision });
      return;
    }
    const [kv] = found;
    // An attempt without an answer may have succeeded.
    if (kv !== undefined && isSame(readHead(kv.value), head)) {
      this.#moved({ value: head, revision: kv.modRevision });
      return;
    }
    // Only a leader moves the head: an attempt of this term may have succeeded before another
    // leader continued.
    throw new TermEndedError();
  }

  #moved(head: { value: BranchHead; revision: bigint }): void {
    this.#previous = this.#head?.value.commit;
    this.#head = head;
  }

  async #readHead(): Promise<{ value: BranchHead; revision: bigint } | undefined> {
    const { etcd, keys } = this.#options;
    const [kv] = (await etcd.range({ key: keys.head })).kvs;
    return kv && { value: readHead(kv.value), revision: kv.modRevision };
  }
}

/** True if another attempt may succeed. */
function isPassing(error: unknown): boolean {
  return error instanceof EtcdError && (error.unknown || error.code === 'EUNREACH');
}

/** Rejects when the term is over or the deadline has passed; the request may still succeed. */
async function unlessOver(
  work: Promise<unknown>,
  of: { readonly signal: AbortSignal; readonly deadline: number },
): Promise<void> {
  const { signal, deadline } = of;
  let timer: NodeJS.Timeout | undefined;
  let over = (): void => undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      over = () => reject(new TermEndedError());
      const late = (): void =>
        reject(new EtcdError('etcd did not answer in time', { unknown: true, code: 'EUNREACH' }));
      signal.addEventListener('abort', over, { once: true });
      if (signal.aborted) over();
      timer = setTimeout(late, Math.max(deadline - performance.now(), 1));
      work.then(() => resolve(), reject);
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', over);
  }
}

function isSame(one: BranchHead, other: BranchHead): boolean {
  return one.commit === other.commit && one.sequence === other.sequence;
}

/** The first key after a prefix that ends with a slash. */
export function endOf(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}
