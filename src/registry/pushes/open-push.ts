/**
 * A push over HTTP. The client does not know the tip, so the daemon moves the branch itself: to the
 * pushed commit if that descends from the tip, otherwise to a merge of both. `examine` runs while the
 * objects are in quarantine, `land` when git has stored them.
 */
import type { User } from '../../apimachinery/index.ts';
import type { Footprint } from '../../catalog/index.ts';
import { HeadMovedError, type HistoryCommit } from '../../git/index.ts';
import type { DesiredState } from '../desired-state.ts';
import type { BranchSnapshot } from './branch-snapshot.ts';
import type { Conflict } from './merge/conflict.ts';
import { describeConflicts } from './merge/describe-conflicts.ts';
import { changedFormerLives } from './merge/former-lives.ts';
import { type MergeParts, makeMerge, type StoredMerge, storeMerge } from './merge/merge-commit.ts';
import { type Replayed, replayPushed } from './merge/replay-pushed.ts';
import type { Outcome, PreparedLayer } from './push-dry-run.ts';
import { MOVED } from './push-relation.ts';
import type { PushSource } from './push-source.ts';
import { ACCEPTED, type OpenPushOptions, type PushedTip, PushTrial } from './push-trial.ts';
import { refusal, type Verdict } from './verdict.ts';

export interface Landed {
  readonly verdict: Verdict;
  /** Tip of the branch after the push; undefined: it was refused. */
  readonly revision?: string | undefined;
  readonly previous?: string | undefined;
  /** Of a refusal, in a few words. */
  readonly reason?: string | undefined;
}

/** The branch is moved by others beside the daemon, as by `git update-ref`. */
const MAX_ATTEMPTS = 3;
/** Judgements beside the branch that what came meanwhile may void, before one that holds the mutex. */
const MAX_JUDGED_BESIDE = 3;

/** A push that was judged on a snapshot of the branch. */
interface JudgedBeside {
  readonly snapshot: BranchSnapshot;
  readonly base: string | undefined;
  readonly target: string;
  /** Undefined: the push descends from the tip. */
  readonly merge: StoredMerge | undefined;
  readonly outcome: Outcome;
  /** Files and objects that the judgement depends on; undefined: all of them. */
  readonly footprint: Footprint | undefined;
  readonly verdict: Verdict;
}

export class OpenPush {
  readonly #options: OpenPushOptions;
  readonly #tip: PushedTip;
  readonly #trial: PushTrial;

  constructor(options: OpenPushOptions, tip: PushedTip) {
    this.#options = options;
    this.#tip = tip;
    this.#trial = new PushTrial(options, tip);
  }

  get to(): string {
    return this.#tip.to;
  }

  get user(): User {
    return this.#tip.user;
  }

  /**
   * Refuses what no tip of the branch could take. A push that descends from the tip is tried as a
   * whole, so that one with mistakes leaves nothing in the repository.
   */
  async examine(source: PushSource): Promise<Verdict> {
    const { branch, repository, signatures } = this.#options;
    const { to } = this.#tip;
    const head = await repository.head();
    if (branch.state.revision !== head) await branch.sync();
    const relation = await this.#trial.relation(source, head);
    if (relation.is === 'refused') return relation.verdict;
    if (relation.is === 'contained') return ACCEPTED;
    // Commits without a valid signature are not read any further.
    const unsigned = (await signatures?.judge(source, { from: head, to })) ?? [];
    if (unsigned.length > 0) return refusal([...unsigned, 'nothing was changed']);
    if (relation.is === 'diverged') return await this.#trial.leaks(source);
    const snapshot = await branch.snapshot();
    if (snapshot === undefined) return ACCEPTED;
    try {
      if (snapshot.head !== head) return ACCEPTED;
      const { folded } = snapshot;
      const commits = await this.#trial.readAhead(source, head);
      const outcome = await this.#trial.outcomeBeside(folded, { source, commits });
      const verdict = await this.#trial.verdict(outcome, { source, before: folded.catalog.size });
      return verdict.ok ? ACCEPTED : verdict;
    } finally {
      snapshot.release();
    }
  }

  /** Resolves when readers see the push, or with the refusal. */
  async land(): Promise<Landed> {
    const { branch, repository } = this.#options;
    const { to } = this.#tip;
    const head = await repository.head();
    const commits = await this.#trial.readAhead(repository, head);
    let replayed: Replayed | undefined;
    let moves = 0;
    for (let tries = 1; ; tries += 1) {
      const isBeside = replayed === undefined && tries <= MAX_JUDGED_BESIDE;
      const landing =
        (isBeside ? await this.#landBeside(commits) : undefined) ??
        (await branch.runExclusive((state) => this.#landExclusive(state, { commits, replayed })));
      if (landing === 'voided') continue;
      if (landing === 'moved') {
        moves += 1;
        if (moves === MAX_ATTEMPTS) return refused(refusal([MOVED]));
      } else if (landing === 'replay') {
        replayed = await branch.replayAlone(() =>
          replayPushed({ repository, branch, commits, to }),
        );
      } else if ('conflicts' in landing) return await this.#conflicting(landing);
      else return landing;
    }
  }

  /**
   * Judges the push on a snapshot, while others write, and lands it if nothing that the judgement depends
   * on has changed meanwhile. Undefined: only a judgement on the branch itself helps.
   */
  async #landBeside(
    commits: readonly HistoryCommit[],
  ): Promise<Landed | 'moved' | 'voided' | Conflicting | undefined> {
    const { branch } = this.#options;
    const snapshot = await branch.snapshot();
    if (snapshot === undefined) return undefined;
    try {
      const judged = await this.#judgeBeside(snapshot, commits);
      if (judged === undefined || !('snapshot' in judged)) return judged;
      return await branch.runExclusive((state) => this.#landJudged(state, judged));
    } finally {
      snapshot.release();
    }
  }

  /** A refusal counts: the snapshot was the branch when the push was judged. */
  async #judgeBeside(
    snapshot: BranchSnapshot,
    pushed: readonly HistoryCommit[],
  ): Promise<JudgedBeside | Landed | Conflicting | undefined> {
    const { repository } = this.#options;
    const { to } = this.#tip;
    const { head, folded } = snapshot;
    // The first commits of a branch are replayed.
    if (head === undefined) return undefined;
    const { catalog } = folded;
    const relation = await this.#trial.relation(repository, head);
    if (relation.is === 'refused') return refused(relation.verdict);
    if (relation.is === 'contained') return containedAt(head);
    const base = relation.is === 'diverged' ? relation.base : undefined;
    let commits = pushed;
    let merge: StoredMerge | undefined;
    if (base === undefined) commits = await this.#trial.commitsSince(head, pushed);
    else {
      const leaks = await this.#trial.newLeaks(repository);
      if (!leaks.ok) return refused(leaks);
      if ((await catalog.viewOf(base)) === undefined) return undefined;
      const made = await makeMerge(this.#mergeParts, folded, { base, tip: head, pushed: to });
      if ('conflicts' in made) return { ...made, base, head };
      merge = made;
      commits = [...pushed, made.commit];
    }
    const target = merge?.commit.id ?? to;
    const outcome =
      base === undefined
        ? await this.#trial.outcomeBeside(folded, { source: repository, commits })
        : await this.#trial.outcomeAhead(folded, { commits, to: target });
    // Control files decide how all files are read.
    if (outcome === undefined || outcome.controlFiles.length > 0) return undefined;
    const conflicting = await this.#conflictsOf(outcome, { base, head });
    if (conflicting !== undefined) return conflicting;
    const verdict = await this.#trial.verdict(outcome, {
      source: repository,
      before: catalog.size,
    });
    if (!verdict.ok) return refused(verdict);
    const footprint = footprintOf(outcome, merge);
    return { snapshot, base, target, merge, outcome, footprint, verdict };
  }

  async #landJudged(
    state: DesiredState,
    judged: JudgedBeside,
  ): Promise<Landed | 'moved' | 'voided'> {
    const { branch, repository } = this.#options;
    const { snapshot, merge, footprint } = judged;
    await state.recover();
    const head = await repository.head();
    if (state.revision !== head) await state.catchUp();
    if (head === undefined || branch.hold !== undefined || !snapshot.isBelow(state))
      return 'voided';
    let { target } = judged;
    let at: PreparedLayer['at'];
    if (head !== snapshot.head) {
      if (merge === undefined || footprint === undefined) return 'voided';
      if (footprint.meets(snapshot.changed())) return 'voided';
      const relation = await this.#trial.relation(repository, head);
      if (relation.is !== 'diverged' || relation.base !== judged.base) return 'voided';
      const commits = { tip: head, pushed: this.#tip.to };
      const stored = await storeMerge(this.#mergeParts, merge.merge, commits);
      if ('conflicts' in stored) return 'voided';
      at = stored;
      target = stored.id;
    }
    const { prepared: before } = judged.outcome;
    const moved = { from: head, to: target, ...(at && { at }) };
    const prepared = 'ahead' in before ? { ...before, ...moved } : before;
    const outcome = { ...judged.outcome, prepared };
    const isSame =
      judged.verdict.prunes === undefined &&
      footprint !== undefined &&
      !snapshot.mayDecideOn(outcome, footprint);
    const verdict = isSame ? judged.verdict : undefined;
    return await this.#move(state, { head, target, outcome, verdict });
  }

  /** Of a judged merge. `base`: undefined if the push descends from the tip. */
  async #conflictsOf(
    outcome: Outcome,
    { base, head }: { readonly base: string | undefined; readonly head: string },
  ): Promise<Conflicting | undefined> {
    if (base === undefined) return undefined;
    const { repository } = this.#options;
    const of = { repository, files: this.#trial.files, base, tip: head };
    const conflicts = await changedFormerLives(of, outcome.changes);
    return conflicts.length === 0 ? undefined : { conflicts, base, head };
  }

  get #mergeParts(): MergeParts {
    const { branch, repository } = this.#options;
    const { merger } = branch;
    return { branch, repository, merger, files: this.#trial.files, user: this.#tip.user };
  }

  async #landExclusive(
    state: DesiredState,
    of: { readonly commits: readonly HistoryCommit[]; readonly replayed: Replayed | undefined },
  ): Promise<Landed | 'moved' | 'replay' | Conflicting> {
    const { branch, repository } = this.#options;
    const { to } = this.#tip;
    await state.recover();
    const head = await repository.head();
    if (state.revision !== head) await state.catchUp();
    const relation = await this.#trial.relation(repository, head);
    if (relation.is === 'refused') return refused(relation.verdict);
    if (relation.is === 'contained') return containedAt(head);
    const { hold } = branch;
    if (relation.is === 'ahead') {
      // During a hold the range starts at the served revision, not at the head of the branch.
      const from = hold === undefined ? head : hold.served;
      if (state.revision !== from) return refused(refusal([MOVED]));
      const commits = await this.#trial.commitsSince(from, of.commits);
      const outcome = await this.#trial.outcome(state, { source: repository, commits });
      return await this.#move(state, { head, target: to, outcome });
    }
    if (head === undefined) return 'moved';
    const leaks = await this.#trial.newLeaks(repository);
    if (!leaks.ok) return refused(leaks);
    const { replayed } = of;
    const { base } = relation;
    const isKnown = replayed !== undefined || (await state.catalog.viewOf(base)) !== undefined;
    if (!isKnown) return 'replay';
    const { catalog, view } = state;
    const made = await makeMerge(
      { ...this.#mergeParts, merger: branch.quickMerger },
      { catalog, view, replayed: replayed?.heads.get(to)?.catalog },
      { base, tip: head, pushed: to },
    );
    if ('conflicts' in made) return { ...made, base, head };
    const { commit } = made;
    const commits = [...(replayed === undefined ? of.commits : []), commit];
    const target = commit.id;
    const outcome = await this.#trial.outcomeAhead(state, { commits, to: target, replayed });
    if (outcome === undefined) return replayed === undefined ? 'replay' : refused(refusal([MOVED]));
    const conflicting = await this.#conflictsOf(outcome, { base, head });
    if (conflicting !== undefined) return conflicting;
    return await this.#move(state, { head, target, outcome });
  }

  async #move(
    state: DesiredState,
    of: {
      readonly head: string | undefined;
      readonly target: string;
      readonly outcome: Outcome;
      /** Undefined: not known yet. */
      readonly verdict?: Verdict | undefined;
    },
  ): Promise<Landed | 'moved'> {
    const { repository, assessment } = this.#options;
    const { admission, user } = this.#tip;
    const { head, target, outcome } = of;
    const judged = { source: repository, before: state.catalog.size };
    const verdict = of.verdict ?? (await this.#trial.verdict(outcome, judged));
    if (!verdict.ok) return refused(verdict);
    await assessment.approve(target, verdict, user);
    const objections = (await admission?.admit({ from: head, to: target })) ?? [];
    if (objections.length > 0) return refused(refusal(objections));
    state.expect(outcome.prepared);
    try {
      await repository.advance(head, target);
    } catch (error) {
      if (admission === undefined && error instanceof HeadMovedError) return 'moved';
      if (admission === undefined) throw error;
    }
    // Of replicas: the move is valid already, and the disk follows.
    await admission?.arrived(target);
    await state.catchUp();
    return { verdict, revision: target, previous: head };
  }

  async #conflicting({ conflicts, base, head }: Conflicting): Promise<Landed> {
    const { repository } = this.#options;
    const described = await describeConflicts({ repository }, conflicts, { base, head });
    return { verdict: refusal(described.lines), reason: described.reason };
  }
}

interface Conflicting {
  readonly conflicts: readonly Conflict[];
  readonly base: string;
  readonly head: string;
}

function footprintOf(
  { prepared, changes }: Outcome,
  merge: StoredMerge | undefined,
): Footprint | undefined {
  if (!('ahead' in prepared)) return undefined;
  const footprint = prepared.ahead.catalog.footprint();
  if (merge !== undefined) footprint.add(merge.merge.footprint);
  for (const { key } of changes) footprint.addKey(key);
  return footprint;
}

function containedAt(head: string | undefined): Landed {
  const verdict = { ok: true, lines: ['accepted: the branch has this commit already'] };
  return { verdict, revision: head, previous: head };
}

function refused(verdict: Verdict): Landed {
  return { verdict, reason: 'refused' };
}
