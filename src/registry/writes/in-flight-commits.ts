/**
 * Groups of writes on their way to the disk, in the order of their commits. Readers are shown each
 * when it is durable and all before it are; where one fails, none that was built on it is shown.
 */
import { keyString } from '../../apimachinery/index.ts';
import { type CommitBatch, HeadMovedError } from '../../git/index.ts';
import type { BranchObserver } from '../branch-options.ts';
import type { DesiredState, PlannedStep, SealedGroup } from '../desired-state.ts';
import type { Staged } from './staging.ts';

/** Writes that were built together. */
export interface Group<S extends Staged> {
  readonly staged: readonly S[];
  /** Of the objects that are written. */
  readonly keys: ReadonlySet<string>;
  readonly sealed: SealedGroup;
  readonly commits: number;
  /** The last commit; where the branch was when there is none. */
  readonly tip: string | undefined;
  readonly started: number;
  /** Never rejects: `outcome` says how it ended. */
  settled: Promise<void>;
  /** What showing it comes to, once that was worked out. */
  foreseen: PlannedStep | undefined;
  outcome: 'published' | 'on its way' | { readonly error: unknown };
}

export interface InFlightCommitsOptions<S extends Staged> {
  readonly state: DesiredState;
  readonly observer: BranchObserver;
  /** Readers see the writes. */
  onShown(staged: readonly S[]): void;
  /** The writes are durable, but showing them failed. */
  onFailed(staged: readonly S[], error: unknown): void;
  /** A group has ended, one way or the other. */
  onEnded(): void;
}

export class InFlightCommits<S extends Staged> {
  readonly #options: InFlightCommitsOptions<S>;
  #groups: Group<S>[] = [];
  #broken = false;
  /** Where the last group that readers see left the branch. */
  #reached: string | undefined;

  constructor(options: InFlightCommitsOptions<S>) {
    this.#options = options;
  }

  /** Groups that readers do not see yet. */
  get size(): number {
    return this.#groups.length;
  }

  /** Writes that readers do not see yet. */
  get writes(): number {
    return this.#groups.reduce((sum, { staged }) => sum + staged.length, 0);
  }

  /** A group failed: it and what was built on it has to be undone before anything else. */
  get broken(): boolean {
    return this.#broken;
  }

  get reached(): string | undefined {
    return this.#reached;
  }

  isBusy(key: string): boolean {
    return this.#groups.some(({ keys }) => keys.has(key));
  }

  endsAt(head: string): boolean {
    return this.#groups.some(({ tip }) => tip === head);
  }

  /** Sends a group on its way, unless one that it is built on has failed meanwhile. */
  launch(batch: CommitBatch, staged: readonly S[], sealed: SealedGroup): void {
    const commits = staged.filter(({ commit }) => commit !== undefined).length;
    const { tip } = batch;
    const group: Group<S> = {
      staged,
      keys: new Set(staged.map(({ write }) => keyString(write.key))),
      sealed,
      commits,
      tip,
      started: performance.now(),
      settled: Promise.resolve(),
      foreseen: undefined,
      outcome: 'published',
    };
    this.#groups.push(group);
    if (this.#broken) group.outcome = { error: new HeadMovedError(tip, undefined) };
    else if (commits > 0) {
      group.outcome = 'on its way';
      group.settled = batch.publish().then(
        () => this.#ended(group, 'published'),
        (error: unknown) => this.#ended(group, { error }),
      );
      this.#foreseeSoon();
    }
  }

  /** The first group, when it is on its way: only what comes before it is known. */
  #foreseeSoon(): void {
    setImmediate(() => {
      const [first] = this.#groups;
      if (first?.outcome !== 'on its way' || first.foreseen !== undefined || this.#broken) return;
      try {
        first.foreseen = this.#options.state.foresee(first.sealed);
      } catch {
        // Showing it will fail the same way, and say so.
      }
    });
  }

  /** Shows readers every group that is published, up to the first that is not. */
  land(): void {
    for (let [first] = this.#groups; first !== undefined && !this.#broken; [first] = this.#groups) {
      if (first.outcome === 'on its way') break;
      if (first.outcome !== 'published') this.#broken = true;
      else {
        this.#groups.shift();
        this.#show(first);
        this.#foreseeSoon();
      }
    }
  }

  /** Resolves when all that is on its way has ended, one way or the other. */
  async ended(): Promise<void> {
    await Promise.all(this.#groups.map(({ settled }) => settled));
    this.land();
  }

  /** After a failure, when all has ended: the groups that nobody was shown, for repair. */
  takeBack(): readonly Group<S>[] {
    const groups = this.#groups;
    this.#groups = [];
    this.#broken = false;
    return groups;
  }

  #ended(group: Group<S>, outcome: Group<S>['outcome']): void {
    group.outcome = outcome;
    this.land();
    this.#options.onEnded();
  }

  #show(group: Group<S>): void {
    const { staged, sealed, commits, started, foreseen } = group;
    const { observer, state } = this.#options;
    if (commits > 0) observer.published(commits, performance.now() - started);
    this.#reached = group.tip;
    try {
      state.show(sealed, foreseen);
    } catch (error) {
      // The commits are there. What readers see is mended before anything more is built on it.
      this.#broken = true;
      this.#options.onFailed(staged, error);
      return;
    }
    this.#options.onShown(staged);
  }
}
