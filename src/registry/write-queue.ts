/**
 * API writes, in the order they came. Many become one commit each and share one flush, and while one
 * group is on its way to the disk the next one is built on top of it (invariants 1 and 2).
 *
 * What readers see and who is answered follows the order of the commits. When a group cannot be
 * published, those that were built on it cannot either: all of them are undone, newest first, and
 * their writes are decided anew on what the branch then is.
 */
import { setImmediate } from 'node:timers/promises';
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
import type { BranchObserver, DesiredState, SealedGroup, StagedWrite } from './desired-state.ts';
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

/** Writes that were built together and that readers do not see yet. */
interface Group {
  readonly staged: readonly Staged[];
  /** Of the objects that are written. */
  readonly keys: ReadonlySet<string>;
  readonly sealed: SealedGroup;
  readonly commits: number;
  /** The last commit; where the branch was when there is none. */
  readonly tip: string | undefined;
  readonly started: number;
  /** Never rejects: `outcome` says how it ended. */
  settled: Promise<void>;
  outcome: 'published' | 'on its way' | { readonly error: unknown };
}

/** Commits that share one flush; more would only make the first ones wait. */
const LARGEST_BATCH = 256;
/** Groups that may be on their way to the disk at once, beside the one that is being built. */
const MOST_FLYING = 2;
/** A smaller group is not built ahead: each costs a flush, whatever is in it. */
const SMALLEST_AHEAD = 8;
/** So often the groups that are on their way get on while one is built. */
const LONGEST_HOLD_MS = 2;
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
  /** Holds at least what the groups under way have written: that cannot be read back yet. */
  readonly #texts = new TextCache(4 * MOST_FLYING * LARGEST_BATCH);
  #waiting: QueuedWrite[] = [];
  /** In the order of their commits. */
  #flying: Group[] = [];
  /** A group failed: it and what was built on it has to be undone before anything else. */
  #broken = false;
  #building = false;
  /** Where the last group that readers see left the branch. */
  #reached: string | undefined;
  /** Writes that were outstanding at once, lately. */
  #usual = 0;
  /** What the last group took to build, and to publish. */
  #buildMs = 0;
  #publishMs = 0;
  #lookAgain: NodeJS.Timeout | undefined;
  readonly #answering = new Set<Promise<void>>();
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

  /** Whether the branch was moved there by groups that readers do not see, or have just seen. */
  isOwn(head: string): boolean {
    if (this.#flying.some(({ tip }) => tip === head)) return true;
    return (this.#building || this.#flying.length > 0) && head === this.#reached;
  }

  /**
   * For whoever has the turn: resolves when nothing is on its way any more, and catalog and state
   * are where the branch is, as far as writes of ours are concerned.
   */
  async settle(): Promise<void> {
    while (this.#broken || this.#flying.length > 0) {
      await Promise.all(this.#flying.map(({ settled }) => settled));
      this.#land();
      if (this.#broken) await this.#repair();
    }
  }

  /** Refuses new writes and resolves when those in flight are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#scheduled || this.#waiting.length > 0 || this.#flying.length > 0) {
      await this.#options.turns.run(() => this.settle());
    }
    await Promise.all(this.#answering);
  }

  #schedule(): void {
    if (this.#scheduled || !this.#isDue()) return;
    this.#scheduled = true;
    void this.#options.turns.run(async () => {
      try {
        // What arrived together is read first, so that it goes together.
        await setImmediate();
        await this.#turn();
      } finally {
        this.#scheduled = false;
      }
      this.#schedule();
    });
  }

  #isDue(): boolean {
    if (this.#broken) return true;
    if (this.#flying.length === 0) return this.#waiting.length > 0;
    if (this.#flying.length >= MOST_FLYING) return false;
    const enough = Math.max(SMALLEST_AHEAD, this.#usual / 2);
    if (this.#waiting.length < enough) return false;
    // Where building takes longer than the disk, larger groups are worth more than early ones.
    const sinceFirst = performance.now() - (this.#flying[0]?.started ?? 0);
    const early = this.#buildMs - Math.max(this.#publishMs, sinceFirst);
    if (early > 0) {
      this.#lookAgain ??= setTimeout(() => {
        this.#lookAgain = undefined;
        this.#schedule();
      }, early).unref();
      return false;
    }
    let ready = 0;
    // However long the queue is, deciding must cost little: it is asked for each write.
    for (const { write } of this.#waiting.slice(0, 2 * LARGEST_BATCH)) {
      if (!this.#isBusy(keyString(write.key))) ready += 1;
      if (ready >= enough) return true;
    }
    return false;
  }

  #isBusy(key: string): boolean {
    return this.#flying.some(({ keys }) => keys.has(key));
  }

  async #turn(): Promise<void> {
    if (this.#broken) await this.settle();
    const batch = this.#take();
    if (batch.length === 0) return;
    this.#building = true;
    try {
      await this.#build(batch);
    } catch (error) {
      for (const queued of batch) queued.reject(error);
    }
    this.#building = false;
    this.#land();
  }

  /** The next writes, each to an object of its own: a second one must see how the first ended. */
  #take(): QueuedWrite[] {
    const batch: QueuedWrite[] = [];
    const later: QueuedWrite[] = [];
    const keys = new Set<string>();
    const flying = this.#flying.reduce((sum, { staged }) => sum + staged.length, 0);
    this.#usual = Math.max(this.#waiting.length + flying, this.#usual * 0.9);
    for (const queued of this.#waiting) {
      const id = keyString(queued.write.key);
      const waits = batch.length >= LARGEST_BATCH || keys.has(id) || this.#isBusy(id);
      if (waits) later.push(queued);
      else batch.push(queued);
      keys.add(id);
    }
    this.#waiting = later;
    return batch;
  }

  async #build(writes: readonly QueuedWrite[]): Promise<void> {
    const { repository, state } = this.#options;
    if (this.#flying.length === 0) await state.recover();
    const batch = repository.begin(state.revision);
    const staged: Staged[] = [];
    const started = performance.now();
    let held = started;
    for (const queued of writes) {
      if (this.#flying.length > 0 && performance.now() - held > LONGEST_HOLD_MS) {
        await setImmediate();
        held = performance.now();
      }
      try {
        staged.push(await this.#stage(batch, queued));
      } catch (error) {
        queued.reject(error);
      }
    }
    this.#buildMs = performance.now() - started;
    if (staged.length === 0) return;
    try {
      this.#launch(batch, staged, state.seal(staged));
    } catch (error) {
      undoAll(staged);
      throw error;
    }
  }

  /** Sends a group on its way, unless one that it is built on has failed meanwhile. */
  #launch(batch: CommitBatch, staged: readonly Staged[], sealed: SealedGroup): void {
    const commits = staged.filter(({ commit }) => commit !== undefined).length;
    const { tip } = batch;
    const group: Group = {
      staged,
      keys: new Set(staged.map(({ queued }) => keyString(queued.write.key))),
      sealed,
      commits,
      tip,
      started: performance.now(),
      settled: Promise.resolve(),
      outcome: 'published',
    };
    this.#flying.push(group);
    if (this.#broken) group.outcome = { error: new HeadMovedError(tip, undefined) };
    else if (commits > 0) {
      group.outcome = 'on its way';
      group.settled = batch.publish().then(
        () => this.#ended(group, 'published'),
        (error: unknown) => this.#ended(group, { error }),
      );
    }
  }

  #ended(group: Group, outcome: Group['outcome']): void {
    group.outcome = outcome;
    this.#land();
  }

  /** Shows readers every group that is published, up to the first that is not, and answers. */
  #land(): void {
    for (let [first] = this.#flying; first !== undefined && !this.#broken; [first] = this.#flying) {
      if (first.outcome === 'on its way') break;
      if (first.outcome !== 'published') this.#broken = true;
      else {
        this.#flying.shift();
        this.#show(first);
      }
    }
    this.#schedule();
  }

  #show(group: Group): void {
    const { staged, sealed, commits, started } = group;
    const { observer, state } = this.#options;
    this.#publishMs = performance.now() - started;
    if (commits > 0) observer.published(commits, this.#publishMs);
    this.#reached = group.tip;
    try {
      state.show(sealed);
    } catch (error) {
      // The commits are there. What readers see is mended before anything more is built on it.
      this.#broken = true;
      for (const { queued } of staged) queued.reject(error);
      return;
    }
    this.#answer(staged);
  }

  #answer(staged: readonly Staged[]): void {
    const { store } = this.#options;
    for (const { queued, commit, inState } of staged) {
      const written = { stored: store.get(queued.write.key), commit };
      if (inState !== true) queued.resolve(written);
      else {
        const answering = store
          .flush()
          .then(() => queued.resolve(written), queued.reject)
          .finally(() => this.#answering.delete(answering));
        this.#answering.add(answering);
      }
    }
  }

  /** Goes back to before the group that failed, then to where the branch is. */
  async #repair(): Promise<void> {
    const groups = this.#flying;
    const { state } = this.#options;
    this.#flying = [];
    this.#broken = false;
    for (const { staged } of groups.toReversed()) undoAll(staged);
    const failed = groups.filter(({ outcome }) => outcome !== 'published');
    try {
      await state.catchUp();
    } catch (error) {
      for (const { staged } of groups) for (const { queued } of staged) queued.reject(error);
      return;
    }
    // It was published all the same where the branch had moved before its predecessor failed.
    for (const { staged, outcome } of groups) if (outcome === 'published') this.#answer(staged);
    this.#again(failed);
  }

  /** Someone else moved the branch first: every write is decided anew. */
  #again(failed: readonly Group[]): void {
    const again: QueuedWrite[] = [];
    for (const { staged, outcome } of failed) {
      const error = typeof outcome === 'object' ? outcome.error : undefined;
      for (const { queued } of staged) {
        queued.attempts++;
        if (!(error instanceof HeadMovedError)) queued.reject(error);
        else if (queued.attempts < MOST_ATTEMPTS) again.push(queued);
        else queued.reject(unavailable('The branch keeps moving; please try again'));
      }
    }
    this.#waiting = [...again, ...this.#waiting];
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
}

/** The newest step first. */
function undoAll(staged: readonly Staged[]): void {
  for (const { undo } of staged.toReversed()) undo?.();
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
