/**
 * Groups of writes that are being written to disk, in commit order. Readers see a group when it and
 * all earlier groups are durable. If a group fails, no later group is shown.
 */
import { keyString } from '../../apimachinery/index.ts';
import { type CommitBatch, HeadMovedError } from '../../git/index.ts';
import type { BranchObserver } from '../branch-options.ts';
import type { ClosedGroup, DesiredState, StorePlan } from '../desired-state.ts';
import type { Staged } from './staging.ts';

/** Writes that were built together. */
export interface Group<S extends Staged> {
  readonly staged: readonly S[];
  /** Keys of the written objects. */
  readonly keys: ReadonlySet<string>;
  readonly changes: ClosedGroup;
  readonly commits: number;
  /** The last commit; without one, the former head of the branch. */
  readonly tip: string | undefined;
  readonly started: number;
  /** Never rejects: `outcome` has the result. */
  settled: Promise<void>;
  /** Planned changes of the store, once computed. */
  plan: StorePlan | undefined;
  outcome: 'published' | 'publishing' | { readonly error: unknown };
}

export interface InFlightCommitsOptions<S extends Staged> {
  readonly state: DesiredState;
  readonly observer: BranchObserver;
  /** Readers see the writes. */
  onShown(staged: readonly S[]): void;
  /** The writes are durable, but showing them failed. */
  onFailed(staged: readonly S[], error: unknown): void;
  /** A group has succeeded or failed. */
  onEnded(): void;
}

export class InFlightCommits<S extends Staged> {
  readonly #options: InFlightCommitsOptions<S>;
  #groups: Group<S>[] = [];
  #broken = false;
  /** Branch head after the last group that readers see. */
  #reached: string | undefined;

  constructor(options: InFlightCommitsOptions<S>) {
    this.#options = options;
  }

  /** Number of groups that readers do not see yet. */
  get size(): number {
    return this.#groups.length;
  }

  /** Number of writes that readers do not see yet. */
  get writes(): number {
    return this.#groups.reduce((sum, { staged }) => sum + staged.length, 0);
  }

  /** The same writes, oldest first. */
  get staged(): S[] {
    return this.#groups.flatMap(({ staged }) => staged);
  }

  /** True if a group failed: it and all later groups have to be undone first. */
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

  /** Publishes a group, unless an earlier group has failed meanwhile. */
  publish(batch: CommitBatch, staged: readonly S[], changes: ClosedGroup): void {
    const commits = staged.filter(({ commit }) => commit !== undefined).length;
    const { tip } = batch;
    const group: Group<S> = {
      staged,
      keys: new Set(staged.map(({ write }) => keyString(write.key))),
      changes,
      commits,
      tip,
      started: performance.now(),
      settled: Promise.resolve(),
      plan: undefined,
      outcome: 'published',
    };
    this.#groups.push(group);
    if (this.#broken) group.outcome = { error: new HeadMovedError(tip, undefined) };
    else if (commits > 0) {
      group.outcome = 'publishing';
      group.settled = batch.publish().then(
        () => this.#ended(group, 'published'),
        (error: unknown) => this.#ended(group, { error }),
      );
      this.#planFirst();
    }
  }

  /** Plans only the first group: the state before the others is not known yet. */
  #planFirst(): void {
    setImmediate(() => {
      const [first] = this.#groups;
      if (first?.outcome !== 'publishing' || first.plan !== undefined || this.#broken) return;
      try {
        first.plan = this.#options.state.plan(first.changes);
      } catch {
        // Showing the group will throw the same error.
      }
    });
  }

  /** Shows every published group, up to the first that is not published. */
  showPublished(): void {
    for (let [first] = this.#groups; first !== undefined && !this.#broken; [first] = this.#groups) {
      if (first.outcome === 'publishing') break;
      if (first.outcome !== 'published') this.#broken = true;
      else {
        this.#groups.shift();
        this.#show(first);
        this.#planFirst();
      }
    }
  }

  /** Resolves when every group in flight has succeeded or failed. */
  async ended(): Promise<void> {
    await Promise.all(this.#groups.map(({ settled }) => settled));
    this.showPublished();
  }

  /**
   * Removes and returns the groups that readers did not see, for repair. Call it after a failure,
   * when all have ended.
   */
  takeFailed(): readonly Group<S>[] {
    const groups = this.#groups;
    this.#groups = [];
    this.#broken = false;
    return groups;
  }

  #ended(group: Group<S>, outcome: Group<S>['outcome']): void {
    group.outcome = outcome;
    this.showPublished();
    this.#options.onEnded();
  }

  #show(group: Group<S>): void {
    const { staged, changes, commits, started, plan } = group;
    const { observer, state } = this.#options;
    if (commits > 0) observer.published(commits, performance.now() - started);
    this.#reached = group.tip;
    try {
      state.show(changes, plan);
    } catch (error) {
      // The commits exist. The state is repaired before anything more is built on it.
      this.#broken = true;
      this.#options.onFailed(staged, error);
      return;
    }
    this.#options.onShown(staged);
  }
}
