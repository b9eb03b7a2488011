/**
 * API writes, in the order they came. Many become one commit each and share one flush: while one
 * group is on its way to the disk the next one gathers (invariants 1 and 2).
 */
import type { Clock } from '../apimachinery/clock.ts';
import { keyString, type ObjectKey } from '../apimachinery/key.ts';
import { StatusError, unavailable } from '../apimachinery/status-error.ts';
import type { FileReader } from '../catalog/file.ts';
import {
  type CommitBatch,
  HeadMovedError,
  type Person,
  type Repository,
} from '../git/repository.ts';
import type { Change, Store, StoredObject } from '../state/store.ts';
import { COMMITTER } from './commit-message.ts';
import { refuseWhileHeld } from './consent.ts';
import type { BranchObserver, DesiredState, StagedWrite } from './desired-state.ts';
import { asConflict, editFile, type ObjectEdit, TextCache } from './file-edits.ts';
import type { Deletion } from './served.ts';
import type { Turns } from './turns.ts';

/** What a write wants, decided in its turn on the newest state. */
export type Prepared =
  | { readonly do: 'nothing' }
  | {
      readonly do: 'commit';
      readonly edit: ObjectEdit;
      readonly author: Person;
      readonly message: string;
      /** Of an object that something holds: from here on only the state knows it. */
      readonly deletion?: Deletion;
    }
  /** A change of what is not in git, such as finalizers of an object whose manifest is gone. */
  | {
      readonly do: 'state';
      readonly changes: readonly Change[];
      /** Whether it must outlive a crash; what is only observed comes back by itself. */
      readonly durable?: true;
    };

export interface Write {
  readonly key: ObjectKey;
  /** Called in the write's turn, and again after the branch moved. Throws StatusError to refuse. */
  prepare(): Prepared;
}

/** How a write ended: the object as it is now stored, if it still is, and the commit. */
export interface Written {
  readonly stored: StoredObject | undefined;
  readonly commit: string | undefined;
}

interface QueuedWrite {
  readonly write: Write;
  attempts: number;
  resolve(written: Written): void;
  reject(error: unknown): void;
}

interface Staged extends StagedWrite {
  readonly queued: QueuedWrite;
  readonly commit?: string;
  readonly undo?: () => void;
  /** What the state says of it is nowhere else, and must be durable before the answer. */
  readonly inState?: boolean;
}

/** Commits that share one flush; more would only make the first ones wait. */
const LARGEST_BATCH = 256;
const MOST_ATTEMPTS = 8;
const MOST_QUEUED = 10_000;

export interface WriteQueueOptions {
  readonly turns: Turns;
  readonly state: DesiredState;
  readonly repository: Repository;
  readonly store: Store;
  readonly reader: FileReader;
  readonly clock: Clock;
  readonly observer: BranchObserver;
}

export class WriteQueue {
  readonly #options: WriteQueueOptions;
  readonly #texts = new TextCache();
  #waiting: QueuedWrite[] = [];
  #scheduled = false;
  #closed = false;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Resolves when the write is durable and visible; rejects with the reason it was refused. */
  submit(write: Write): Promise<Written> {
    if (this.#closed) return Promise.reject(unavailable('The server is shutting down'));
    if (this.#waiting.length >= MOST_QUEUED) return Promise.reject(tooManyRequests());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, attempts: 0, resolve, reject });
      this.#schedule();
    });
  }

  /** Refuses new writes and resolves when those in flight are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#scheduled || this.#waiting.length > 0) await this.#options.turns.idle();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    void this.#options.turns.run(async () => {
      const batch = this.#take();
      try {
        await this.#run(batch);
      } catch (error) {
        for (const queued of batch) queued.reject(error);
      }
      this.#scheduled = false;
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  /** The next writes, each to an object of its own: a second one must see how the first ended. */
  #take(): QueuedWrite[] {
    const batch: QueuedWrite[] = [];
    const later: QueuedWrite[] = [];
    const keys = new Set<string>();
    for (const queued of this.#waiting) {
      const id = keyString(queued.write.key);
      if (batch.length >= LARGEST_BATCH || keys.has(id)) later.push(queued);
      else batch.push(queued);
      keys.add(id);
    }
    this.#waiting = later;
    return batch;
  }

  async #run(writes: readonly QueuedWrite[]): Promise<void> {
    const { repository, state } = this.#options;
    await state.recover();
    const batch = repository.begin(state.revision);
    const staged: Staged[] = [];
    for (const queued of writes) {
      try {
        staged.push(await this.#stage(batch, queued));
      } catch (error) {
        queued.reject(error);
      }
    }
    const commits = staged.filter(({ commit }) => commit !== undefined).length;
    if (commits > 0 && !(await this.#publish(batch, staged, commits))) return;
    state.show(staged);
    const { store } = this.#options;
    for (const { queued, commit, inState } of staged) {
      const written = { stored: store.get(queued.write.key), commit };
      if (inState === true) store.flush().then(() => queued.resolve(written), queued.reject);
      else queued.resolve(written);
    }
    // Whoever stops the daemon waits for these answers too.
    if (staged.some(({ inState }) => inState)) await store.flush().catch(() => undefined);
  }

  async #stage(batch: CommitBatch, queued: QueuedWrite): Promise<Staged> {
    const prepared = queued.write.prepare();
    if (prepared.do === 'nothing') return { queued, changes: [], state: [], paths: [] };
    const inState = keepsInState(prepared);
    // Refused while the state cannot be written; and what is about to leave git must be in there.
    if (inState) await this.#options.store.flush();
    if (prepared.do === 'state') {
      return { queued, changes: [], state: prepared.changes, paths: [], inState };
    }
    const { repository, reader, clock, state } = this.#options;
    refuseWhileHeld(state.consent.hold);
    const { catalog, view } = state;
    const context = { repository, reader, catalog, view, texts: this.#texts };
    const edited = await editFile(context, prepared.edit);
    const committerTime = Math.floor(clock.now() / 1000);
    const commit = {
      changes: [{ path: edited.path, content: edited.content }],
      author: prepared.author,
      committer: COMMITTER,
      time: committerTime,
      message: prepared.message,
    };
    const { id } = await batch.add(commit).catch((error: unknown) => {
      throw asConflict(queued.write.key, error);
    });
    const { changes, undo } = state.stage({ id, committerTime }, edited);
    const paths = [edited.path];
    const { deletion } = prepared;
    return { queued, commit: id, changes, undo, state: [], paths, deletion, inState };
  }

  /** False when nothing was published; then every write was answered or waits again. */
  async #publish(batch: CommitBatch, staged: readonly Staged[], commits: number): Promise<boolean> {
    const started = performance.now();
    try {
      await batch.publish();
    } catch (error) {
      for (const { undo } of staged.toReversed()) undo?.();
      const writes = staged.map(({ queued }) => queued);
      if (error instanceof HeadMovedError) await this.#replay(writes);
      else for (const queued of writes) queued.reject(error);
      return false;
    }
    this.#options.observer.published(commits, performance.now() - started);
    return true;
  }

  /** Someone else moved the branch first: catch up, then decide every write anew. */
  async #replay(writes: readonly QueuedWrite[]): Promise<void> {
    await this.#options.state.catchUp();
    const again: QueuedWrite[] = [];
    for (const queued of writes) {
      queued.attempts++;
      if (queued.attempts < MOST_ATTEMPTS) again.push(queued);
      else queued.reject(unavailable('The branch keeps moving; please try again'));
    }
    this.#waiting = [...again, ...this.#waiting];
  }
}

function keepsInState(prepared: Prepared): boolean {
  if (prepared.do === 'state') return prepared.durable === true;
  return prepared.do === 'commit' && prepared.deletion !== undefined;
}

function tooManyRequests(): StatusError {
  return new StatusError(429, 'TooManyRequests', 'Too many requests, please try again later.', {
    retryAfterSeconds: 1,
  });
}
