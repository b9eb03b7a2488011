/**
 * Approvals of branch moves that remove many objects or rewrite history (invariant 6), and the
 * present hold. Approvals survive a restart; the hold is computed again.
 */
import {
  type Clock,
  type JsonObject,
  keyString,
  type ObjectKey,
  StatusError,
} from '../../apimachinery/index.ts';
import type { FoldedStep, ObjectChange } from '../../catalog/index.ts';
import type { Repository } from '../../git/index.ts';
import type { Store } from '../../state/index.ts';
import { COMMITTER } from '../writes/commit-message.ts';
import {
  allowedPrunes,
  describeExcess,
  exceeds,
  type Hold,
  missingHold,
  type Prune,
  type PruneBudget,
  type PruneCount,
  pruneHold,
  pushRefusal,
  rewrittenHold,
  tooLargeHold,
} from './prune-budget.ts';

export interface Approval {
  /** A full commit id; the commit may still be missing here. */
  readonly revision: string;
  /** The approver, and the reason. */
  readonly user: string;
  readonly reason: string;
  /** True if the verdict on a push approved it, and not a person. */
  readonly byVerdict?: boolean;
}

/** A branch move that was computed and that readers do not see yet. */
export interface Move {
  /** Head of the branch; `to` may be an ancestor of it. */
  readonly head: string;
  /** The revision that readers see; undefined if nothing was ever served. */
  readonly from: string | undefined;
  readonly to: string;
  /** True if `to` is known to descend from `from` without reading the history. */
  readonly follows: boolean;
  readonly prunes: readonly Prune[];
  readonly before: number;
  readonly after: number;
  /** Commits that removed the objects, if known. */
  readonly removals?: Removals;
}

export interface PruneApprovalsOptions {
  readonly repository: Pick<Repository, 'ref' | 'commitMetadata' | 'isAncestor' | 'history'>;
  readonly store: Pick<Store, 'apply' | 'document' | 'flush'>;
  readonly clock: Clock;
  /** Undefined: every move is allowed. */
  readonly budget: PruneBudget | undefined;
}

/** Metadata keys of the state store, next to those of the catalog. */
const APPROVALS = 'consent:approvals';
const BASE = 'consent:base';
const MAX_APPROVALS = 64;
/** Accepted pushes that have not moved the branch yet, or never will. */
const MAX_VERDICTS = 16;
/** Limit of commits before a held one that are searched for an approval. */
const MAX_APPROVED_COMMITS = 32;
const MAX_SEARCHED_COMMITS = 1000;

export class PruneApprovals {
  readonly #options: PruneApprovalsOptions;
  #hold: Hold | undefined;

  constructor(options: PruneApprovalsOptions) {
    this.#options = options;
  }

  /** The present hold. */
  get hold(): Hold | undefined {
    return this.#hold;
  }

  get budget(): PruneBudget | undefined {
    return this.#options.budget;
  }

  /**
   * The revision that an earlier run served under other rules. There is no catalog of it to compare
   * with.
   */
  get base(): string | undefined {
    return this.#options.store.document(BASE)?.['revision'] as string | undefined;
  }

  /** Metadata with the last served revision, for when its catalog cannot be used any more. */
  static baseMetadata(revision: string | undefined): Record<string, JsonObject | undefined> {
    return revision === undefined || revision === '' ? {} : { [BASE]: { revision } };
  }

  isApproved(revision: string): boolean {
    return this.#approvals().some((approval) => approval['revision'] === revision);
  }

  /** Resolves when the approval is on stable storage. */
  async approve({ revision, user, reason, byVerdict = false }: Approval): Promise<void> {
    const { store, clock } = this.#options;
    const others = this.#approvals().filter((approval) => approval['revision'] !== revision);
    const time = new Date(clock.now()).toISOString();
    const given = [...others, { revision, user, reason, byVerdict, time }];
    const of = (kind: boolean): JsonObject[] => given.filter((one) => one['byVerdict'] === kind);
    const approvals = [...of(false).slice(-MAX_APPROVALS), ...of(true).slice(-MAX_VERDICTS)];
    store.apply([], { [APPROVALS]: { approvals } });
    await store.flush();
  }

  /** Metadata that removes the approval of a revision which readers now see. */
  withoutApproval(revision: string): Record<string, JsonObject | undefined> {
    const documents: Record<string, JsonObject | undefined> = {};
    if (this.base !== undefined) documents[BASE] = undefined;
    if (this.isApproved(revision)) {
      const left = this.#approvals().filter((approval) => approval['revision'] !== revision);
      documents[APPROVALS] = left.length === 0 ? undefined : { approvals: left };
    }
    return documents;
  }

  /** False if the branch is still at the held commit and no approval was added. */
  isNews(head: string, served: string | undefined): boolean {
    const held = this.#hold;
    if (held?.revision === undefined || this.isApproved(held.revision)) return true;
    return held.head !== head || held.served !== served;
  }

  /** Ends the hold: readers see the head of the branch. */
  release(): void {
    this.#hold = undefined;
  }

  /** Holds because the branch is gone. The served revision stays. */
  missing(served: string | undefined): void {
    const { repository, budget } = this.#options;
    const agreed = served === undefined || budget === undefined;
    this.#hold = agreed ? undefined : missingHold(repository.ref, served);
  }

  /** Holds because the head exceeds the limits. The served revision stays. */
  tooLarge(head: string, served: string | undefined, problem: string): void {
    this.#hold = tooLargeHold({ head, served, problem });
  }

  /** True if readers may see the move; otherwise `hold` gives the reason. */
  async admits(move: Move): Promise<boolean> {
    this.#hold = await this.#objection(move);
    return this.#hold === undefined;
  }

  /** Message for a pusher whose removals need an approval; undefined: the push may go on. */
  async objectionToPush(
    source: Pick<Repository, 'commitMetadata'>,
    revision: string,
    count: PruneCount,
  ): Promise<string[] | undefined> {
    const { budget } = this.#options;
    if (budget === undefined || !exceeds(budget, count) || this.isApproved(revision)) {
      return undefined;
    }
    const allowed = allowedPrunes((await source.commitMetadata(revision)).message);
    if (count.prunes <= allowed) return undefined;
    return pushRefusal({ revision, count, allowed, budget });
  }

  /**
   * Approved commits between the served revision and a held one, oldest first. Each is shown on its
   * own, so that later commits do not invalidate its approval.
   */
  async approvedCommits(from: string | undefined, to: string): Promise<string[]> {
    const { repository } = this.#options;
    const line: string[] = [];
    const scope = { against: 'no parent' } as const;
    for await (const { id } of repository.history(from, to, scope)) if (id !== to) line.push(id);
    const approved: string[] = [];
    for (const id of line.reverse().slice(0, MAX_SEARCHED_COMMITS)) {
      if (approved.length === MAX_APPROVED_COMMITS) break;
      if (this.isApproved(id) || (await this.#allowedBy(id)) > 0) approved.push(id);
    }
    return approved.reverse();
  }

  async #objection(move: Move): Promise<Hold | undefined> {
    const { budget } = this.#options;
    const { from, to, before, after } = move;
    if (budget === undefined || this.isApproved(to)) return undefined;
    const at = { head: move.head, revision: to, served: from };
    const isOn = move.follows || from === undefined || from === to;
    if (!isOn && !(await this.#options.repository.isAncestor(from, to))) {
      return rewrittenHold({ ...at, prunes: move.prunes });
    }
    const isTooMuch = (prunes: number): boolean => exceeds(budget, { prunes, before, after });
    if (!isTooMuch(move.prunes.length)) return undefined;
    const prunes = await this.#withoutOwn(move);
    // The trailer of a commit covers the removals of the commit itself, not those by changed rules.
    const allowed = from === to ? 0 : await this.#allowedBy(to);
    if (!isTooMuch(prunes.length) || prunes.length <= allowed) return undefined;
    const excess = describeExcess({ prunes: prunes.length, before, after }, budget);
    return pruneHold({ ...at, prunes, excess });
  }

  async #allowedBy(commit: string): Promise<number> {
    return allowedPrunes((await this.#options.repository.commitMetadata(commit)).message);
  }

  /**
   * Removals through the API were requested and acknowledged one by one. They appear here if the
   * daemon ended before readers saw them.
   */
  async #withoutOwn({ prunes, removals }: Move): Promise<readonly Prune[]> {
    const left: Prune[] = [];
    for (const prune of prunes) {
      const commit = removals?.onlyIn(prune.key);
      if (commit === undefined || !(await this.#isOwn(commit))) left.push(prune);
    }
    return left;
  }

  async #isOwn(commit: string): Promise<boolean> {
    const { committer } = await this.#options.repository.commitMetadata(commit);
    return committer.name === COMMITTER.name && committer.email === COMMITTER.email;
  }

  #approvals(): JsonObject[] {
    const stored = this.#options.store.document(APPROVALS)?.['approvals'];
    return Array.isArray(stored) ? (stored as JsonObject[]) : [];
  }
}

/** Maps removed objects to the commit that removed them, while history is replayed. */
export class Removals {
  readonly #commits = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  readonly record = ({ commit, changes }: FoldedStep): void => {
    const removed = changes.filter(({ after }) => after === undefined);
    for (const { key } of removed) this.#commits.set(keyString(key), commit.id);
    if (removed.length > 0) this.#counts.set(commit.id, removed.length);
  };

  /** The commit that removed the object last, if it removed no other. */
  onlyIn(key: ObjectKey): string | undefined {
    const commit = this.#commits.get(keyString(key));
    return commit !== undefined && this.#counts.get(commit) === 1 ? commit : undefined;
  }
}

/**
 * No commit may go on top of an unapproved revision. Throws 503 without a retry time: an operator
 * has to release the branch.
 */
export function refuseWhileHeld(hold: Hold | undefined): void {
  if (hold === undefined) return;
  const { message, remedy } = hold;
  const text = `Writes wait until the branch is released: ${message}. ${remedy}`;
  throw new StatusError(503, 'ServiceUnavailable', text);
}

/** Objects that the changes remove. */
export function prunesOf(changes: readonly ObjectChange[]): Prune[] {
  return changes
    .filter(({ before, after }) => before !== undefined && after === undefined)
    .map(({ key, before }) => ({ key, path: before?.place.path }));
}
