/**
 * The one place where the branch, the catalog and the state move. What moves them takes turns:
 * groups of API writes, pushes that moved the branch, pushes under judgement. Readers never wait.
 */

import { unavailable } from '../apimachinery/index.ts';
import { Mutex } from '../concurrency/index.ts';
import type { Problem } from '../manifests/index.ts';
import type { BranchOptions } from './branch-options.ts';
import { DesiredState } from './desired-state.ts';
import { type LeakSource, leaksOf } from './pushes/plaintext-secrets.ts';
import type { Approval } from './pushes/prune-approvals.ts';
import type { Hold } from './pushes/prune-budget.ts';
import {
  type DryRunContext,
  dryRunPush,
  type PushDryRun,
  type PushedRange,
} from './pushes/push-dry-run.ts';
import type { Sealer } from './writes/sealer.ts';
import type { Write, Written } from './writes/write.ts';
import { WriteQueue } from './writes/write-queue.ts';

/** Whatever refuses writes takes a person, or a disk that comes back. */
const RETRY_REFUSED_SECONDS = 5;

export class Branch {
  readonly #options: BranchOptions;
  readonly #turns: Mutex;
  readonly #state: DesiredState;
  readonly #queue: WriteQueue;
  #refusal: string | undefined;

  private constructor(options: BranchOptions, turns: Mutex, state: DesiredState) {
    this.#options = options;
    this.#turns = turns;
    this.#state = state;
    this.#queue = new WriteQueue({ ...options, turns, state });
  }

  /** Continues where the last run ended, or reads history; then catches up with the branch. */
  static async open(options: BranchOptions): Promise<Branch> {
    const branch = new Branch(options, new Mutex(), await DesiredState.open(options));
    await branch.sync();
    return branch;
  }

  /** The desired state, for those who have the turn or only look. */
  get state(): DesiredState {
    return this.#state;
  }

  /** Opens and encrypts secrets; undefined: neither is done. */
  get sealer(): Sealer | undefined {
    return this.#options.sealer;
  }

  /** Why readers do not see where the branch is; undefined: they do. */
  get hold(): Hold | undefined {
    return this.#state.consent.hold;
  }

  /** Writes that wait for a turn. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Reason why no write is taken; undefined: they are. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** Refuses API writes and pushes from now on; undefined: takes them again. */
  refuseWrites(reason: string | undefined): void {
    this.#refusal = reason;
  }

  /** Throws 503 while no write is taken. */
  assertTakesWrites(): void {
    if (this.#refusal !== undefined) throw unavailable(this.#refusal, RETRY_REFUSED_SECONDS);
  }

  async submit(write: Write): Promise<Written> {
    this.assertTakesWrites();
    return await this.#queue.submit(write);
  }

  /** Whether the branch got there by writes that readers see, or are about to. */
  isOwn(head: string | undefined): boolean {
    // Whoever ends a hold by moving the branch back must be heard.
    if (head === undefined || this.hold !== undefined) return false;
    return head === this.#state.revision || this.#queue.isOwn(head);
  }

  /** Catches up with the branch, wherever others moved it. */
  async sync(): Promise<void> {
    await this.inTurn((state) => state.catchUp());
  }

  /** Agrees to a revision that is held, or will be when the branch gets there. */
  async approve(approval: Approval): Promise<void> {
    await this.inTurn(async (state) => {
      await state.consent.approve(approval);
      await state.catchUp();
    });
  }

  /** Runs something while nothing else moves the branch, the catalog or the state. */
  inTurn<T>(work: (state: DesiredState) => Promise<T>): Promise<T> {
    return this.#turns.run(async () => {
      await this.#queue.settle();
      return await work(this.#state);
    });
  }

  /**
   * Reads what commits in quarantine would do; takes no turn, so that large pushes delay nobody.
   * Undefined: the branch is, or goes, elsewhere meanwhile.
   */
  async foresee(
    repository: DryRunContext['repository'],
    range: PushedRange,
  ): Promise<PushDryRun | undefined> {
    const { under, reader, kinds, sealer } = this.#options;
    const { catalog, view } = this.#state;
    const context = { repository, under, reader, kinds, sealer };
    return await dryRunPush(context, { catalog, view }, range);
  }

  /**
   * Secrets in the clear in commits that the tips bring and no ref has. None where the repository
   * does not encrypt.
   */
  async leaksOf(source: LeakSource, tips: readonly string[]): Promise<readonly Problem[]> {
    const { view } = this.#state;
    if (view.sealing === undefined || tips.length === 0) return [];
    return await leaksOf({ source, reader: this.#options.reader, view }, tips);
  }

  /** Refuses new writes and resolves when those in flight are answered. */
  async close(): Promise<void> {
    await this.#queue.close();
    await this.#turns.idle();
  }
}
