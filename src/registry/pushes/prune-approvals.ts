/**
 * Consent to moves of the branch that remove much or that rewrite history (invariant 6): who gave
 * it, what is held for want of it. Approvals outlive a restart; what is held is found out again.
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
  /** A whole commit id; the commit need not be here yet. */
  readonly revision: string;
  /** Who, and why. */
  readonly user: string;
  readonly reason: string;
  /** Whether the verdict on a push gave it, and not a person. */
  readonly byVerdict?: boolean;
}

/** A move of the branch that was worked out and not shown to readers yet. */
export interface Move {
  /** Where the branch is; `to` may be on the way to it. */
  readonly head: string;
  /** What readers see; undefined where nothing was ever served. */
  readonly from: string | undefined;
  readonly to: string;
  /** Known to go on from `from`, without a look at the history. */
  readonly follows: boolean;
  readonly prunes: readonly Prune[];
  readonly before: number;
  readonly after: number;
  /** The commit that removed an object, where that is known. */
  readonly removals?: Removals;
}

export interface PruneApprovalsOptions {
  readonly repository: Pick<Repository, 'ref' | 'noteOf' | 'isAncestor' | 'history'>;
  readonly store: Pick<Store, 'apply' | 'document' | 'flush'>;
  readonly clock: Clock;
  /** Undefined: whatever the branch does is agreed to. */
  readonly budget: PruneBudget | undefined;
}

/** Notes of the state store, beside those of the catalog. */
const APPROVALS = 'consent:approvals';
const BASE = 'consent:base';
const MOST_APPROVALS = 64;
/** Pushes that were accepted and did not move the branch yet, or never will. */
const MOST_VERDICTS = 16;
/** Commits on the way to a held one that are looked through for a consent of their own. */
const MOST_STOPS = 32;
const MOST_LOOKED_AT = 1000;

export class PruneApprovals {
  readonly #options: PruneApprovalsOptions;
  #hold: Hold | undefined;

  constructor(options: PruneApprovalsOptions) {
    this.#options = options;
  }

  /** What is held now. */
  get hold(): Hold | undefined {
    return this.#hold;
  }

  get budget(): PruneBudget | undefined {
    return this.#options.budget;
  }

  /** What an earlier run served under other rules; there is no catalog of it to compare with. */
  get base(): string | undefined {
    return this.#options.store.document(BASE)?.['revision'] as string | undefined;
  }

  /** Keeps in mind what was served last, for when its catalog cannot be used any more. */
  static baseNote(revision: string | undefined): Record<string, JsonObject | undefined> {
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
    const approvals = [...of(false).slice(-MOST_APPROVALS), ...of(true).slice(-MOST_VERDICTS)];
    store.apply([], { [APPROVALS]: { approvals } });
    await store.flush();
  }

  /** Notes to keep with a revision that readers now see: its approval is used up. */
  passedNotes(revision: string): Record<string, JsonObject | undefined> {
    const notes: Record<string, JsonObject | undefined> = {};
    if (this.base !== undefined) notes[BASE] = undefined;
    if (this.isApproved(revision)) {
      const left = this.#approvals().filter((approval) => approval['revision'] !== revision);
      notes[APPROVALS] = left.length === 0 ? undefined : { approvals: left };
    }
    return notes;
  }

  /** False: the branch stands where it was held before, and nobody agreed meanwhile. */
  isNews(head: string, served: string | undefined): boolean {
    const held = this.#hold;
    if (held?.revision === undefined || this.isApproved(held.revision)) return true;
    return held.head !== head || held.served !== served;
  }

  /** The branch is where readers are. */
  release(): void {
    this.#hold = undefined;
  }

  /** The branch is gone; what was served stays. */
  missing(served: string | undefined): void {
    const { repository, budget } = this.#options;
    const agreed = served === undefined || budget === undefined;
    this.#hold = agreed ? undefined : missingHold(repository.ref, served);
  }

  /** The branch is at a commit that is beyond the limits; what was served stays. */
  tooLarge(head: string, served: string | undefined, problem: string): void {
    this.#hold = tooLargeHold({ head, served, problem });
  }

  /** Whether a move may be shown to readers; when it may not, `hold` says why. */
  async admits(move: Move): Promise<boolean> {
    this.#hold = await this.#objection(move);
    return this.#hold === undefined;
  }

  /** What a pusher is told who needs consent to removals and has none; undefined: go ahead. */
  async objectionToPush(
    source: Pick<Repository, 'noteOf'>,
    revision: string,
    count: PruneCount,
  ): Promise<string[] | undefined> {
    const { budget } = this.#options;
    if (budget === undefined || !exceeds(budget, count) || this.isApproved(revision)) {
      return undefined;
    }
    const allowed = allowedPrunes((await source.noteOf(revision)).message);
    if (count.prunes <= allowed) return undefined;
    return pushRefusal({ revision, count, allowed, budget });
  }

  /**
   * Commits between what is served and a held one that somebody agreed to, oldest first: what came
   * later must not undo their consent.
   */
  async stops(from: string | undefined, to: string): Promise<string[]> {
    const { repository } = this.#options;
    const line: string[] = [];
    for await (const { id } of repository.history(from, to)) if (id !== to) line.push(id);
    const stops: string[] = [];
    for (const id of line.reverse().slice(0, MOST_LOOKED_AT)) {
      if (stops.length === MOST_STOPS) break;
      if (this.isApproved(id) || (await this.#allowedBy(id)) > 0) stops.push(id);
    }
    return stops.reverse();
  }

  async #objection(move: Move): Promise<Hold | undefined> {
    const { budget } = this.#options;
    const { from, to, before, after } = move;
    if (budget === undefined || this.isApproved(to)) return undefined;
    const at = { head: move.head, revision: to, served: from };
    if (!move.follows && !(await this.#goesOn(from, to))) {
      return rewrittenHold({ ...at, prunes: move.prunes });
    }
    const isTooMuch = (prunes: number): boolean => exceeds(budget, { prunes, before, after });
    if (!isTooMuch(move.prunes.length)) return undefined;
    const prunes = await this.#withoutOwn(move);
    // What a commit agreed to was done when readers came to it: other rules are another matter.
    const allowed = from === to ? 0 : await this.#allowedBy(to);
    if (!isTooMuch(prunes.length) || prunes.length <= allowed) return undefined;
    const excess = describeExcess({ prunes: prunes.length, before, after }, budget);
    return pruneHold({ ...at, prunes, excess });
  }

  async #goesOn(from: string | undefined, to: string): Promise<boolean> {
    return (
      from === undefined || from === to || (await this.#options.repository.isAncestor(from, to))
    );
  }

  async #allowedBy(commit: string): Promise<number> {
    return allowedPrunes((await this.#options.repository.noteOf(commit)).message);
  }

  /**
   * Removals that came through the API were asked for one by one and acknowledged. They are met
   * here when the daemon ended before readers saw them.
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
    const { committer } = await this.#options.repository.noteOf(commit);
    return committer.name === COMMITTER.name && committer.email === COMMITTER.email;
  }

  #approvals(): JsonObject[] {
    const kept = this.#options.store.document(APPROVALS)?.['approvals'];
    return Array.isArray(kept) ? (kept as JsonObject[]) : [];
  }
}

/** Which commit removed which object, as history is folded. */
export class Removals {
  readonly #commits = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  readonly note = ({ commit, changes }: FoldedStep): void => {
    for (const { key, after } of changes) {
      if (after !== undefined) continue;
      this.#commits.set(keyString(key), commit.id);
      this.#counts.set(commit.id, (this.#counts.get(commit.id) ?? 0) + 1);
    }
  };

  /** The commit that removed the object last, if it removed no other. */
  onlyIn(key: ObjectKey): string | undefined {
    const commit = this.#commits.get(keyString(key));
    return commit !== undefined && this.#counts.get(commit) === 1 ? commit : undefined;
  }
}

/**
 * A commit cannot go on top of a revision that nobody agreed to. Throws 503, without a time to try
 * again: it takes a person to release the branch.
 */
export function refuseWhileHeld(hold: Hold | undefined): void {
  if (hold === undefined) return;
  const { message, remedy } = hold;
  const text = `Writes wait until the branch is released: ${message}. ${remedy}`;
  throw new StatusError(503, 'ServiceUnavailable', text);
}

/** The objects that changes remove. */
export function prunesOf(changes: readonly ObjectChange[]): Prune[] {
  return changes
    .filter(({ before, after }) => before !== undefined && after === undefined)
    .map(({ key, before }) => ({ key, path: before?.place.path }));
}
