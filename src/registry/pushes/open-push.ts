/**
 * A push over HTTP. The client does not know the tip, so the daemon moves the branch itself: to the
 * pushed commit if that descends from the tip, otherwise to a merge of both. `examine` runs while the
 * objects are in quarantine, `land` when git has stored them.
 */
import type { User } from '../../apimachinery/index.ts';

import type { Sealing } from '../../catalog/index.ts';
import { HeadMovedError, type HistoryCommit, type Repository } from '../../git/index.ts';
import { formatProblem } from '../../manifests/index.ts';
import type { Branch } from '../branch.ts';
import type { DesiredState } from '../desired-state.ts';
import type { Conflict } from './merge/conflict.ts';
import { describeConflicts } from './merge/describe-conflicts.ts';
import { makeMerge } from './merge/merge-commit.ts';
import { PushedFiles } from './merge/pushed-files.ts';
import { type Replayed, replayPushed } from './merge/replay-pushed.ts';
import type { PushAssessment } from './push-assessment.ts';
import type { Outcome } from './push-dry-run.ts';
import { MOVED, type Relation, relationTo } from './push-relation.ts';
import type { PushAdmission, PushSource, SignatureVerdict } from './push-source.ts';
import { capped, refusal, type Verdict } from './verdict.ts';

export interface OpenPushOptions {
  readonly branch: Branch;
  readonly repository: LandingRepository;
  readonly assessment: PushAssessment;
  readonly signatures?: SignatureVerdict | undefined;
}

export type LandingRepository = Repository & PushSource;

export interface PushedTip {
  /** The pushed commit. */
  readonly to: string;
  /** The commit that the client expects the branch at; undefined: it named none. */
  readonly lease: string | undefined;
  /** The client asked to replace the history of the branch. */
  readonly rewrites: boolean;
  readonly user: User;
  readonly admission?: PushAdmission | undefined;
}

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

export class OpenPush {
  readonly #options: OpenPushOptions;
  readonly #tip: PushedTip;
  readonly #files: PushedFiles;
  /** Encryption rules that the pushed commits were judged by; undefined: by none. */
  #sealing: Sealing | undefined;

  constructor(options: OpenPushOptions, tip: PushedTip) {
    this.#options = options;
    this.#tip = tip;
    this.#files = new PushedFiles(options.branch.reader);
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
    const relation = await this.#relation(source, head);
    if (relation.is === 'refused') return relation.verdict;
    if (relation.is === 'contained') return ACCEPTED;
    // Commits without a valid signature are not read any further.
    const unsigned = (await signatures?.judge(source, { from: head, to })) ?? [];
    if (unsigned.length > 0) return refusal([...unsigned, 'nothing was changed']);
    if (relation.is === 'diverged') return await this.#leaks(source);
    const commits = await this.#readAhead(source, head);
    return await branch.runExclusive(async (state) => {
      await state.recover();
      if (state.revision !== head || branch.hold !== undefined) return ACCEPTED;
      const outcome = await this.#try(state, { source, commits, to });
      const verdict = await this.#assess(state, outcome, source);
      return verdict.ok ? ACCEPTED : verdict;
    });
  }

  /** Resolves when readers see the push, or with the refusal. */
  async land(): Promise<Landed> {
    const { branch, repository } = this.#options;
    const { to } = this.#tip;
    const head = await repository.head();
    const commits = await this.#readAhead(repository, head);
    let replayed: Replayed | undefined;
    for (let attempt = 1; ; attempt += 1) {
      const landing = await branch.runExclusive((state) =>
        this.#landExclusive(state, { commits, replayed }),
      );
      if (landing === 'moved' && attempt === MAX_ATTEMPTS) return refused(refusal([MOVED]));
      if (landing === 'moved') continue;
      if (landing === 'replay') {
        replayed = await branch.replayAlone(() =>
          replayPushed({ repository, branch, commits, to }),
        );
        continue;
      }
      if (!('conflicts' in landing)) return landing;
      return await this.#conflicting(landing);
    }
  }

  async #relation(source: PushSource, head: string | undefined): Promise<Relation> {
    const { branch } = this.#options;
    return await relationTo(source, { ...this.#tip, head, hold: branch.hold });
  }

  /** Commits of the push, with their manifests read. */
  async #readAhead(
    source: PushSource,
    head: string | undefined,
  ): Promise<readonly HistoryCommit[]> {
    const { view } = this.#options.branch.state;
    const commits: HistoryCommit[] = [];
    for await (const commit of source.history(head, this.#tip.to)) commits.push(commit);
    await this.#files.readAhead(source, commits, (path) => view.includes(path));
    return commits;
  }

  /** Plaintext secrets, by the rules of the tip and not of the base. */
  async #leaks(source: PushSource): Promise<Verdict> {
    const { branch } = this.#options;
    this.#sealing = branch.state.view.sealing;
    const problems = await branch.leaksOf(source, [this.#tip.to]);
    if (problems.length === 0) return ACCEPTED;
    const lines = [...capped(problems.map(formatProblem)), 'nothing was changed'];
    return { ...refusal(lines), problems };
  }

  async #try(
    state: DesiredState,
    of: {
      readonly source: PushSource;
      readonly commits: readonly HistoryCommit[];
      readonly to: string;
      readonly replayed?: Replayed | undefined;
    },
  ): Promise<Outcome | undefined> {
    const { branch } = this.#options;
    const { source, commits, to, replayed } = of;
    const ahead = await branch.dryRunAhead(source, {
      commits,
      read: (paths) => this.#files.read(source, paths),
      ...(replayed && { replayed: replayed.heads, replayedSteps: replayed.steps }),
    });
    if (ahead !== undefined || replayed !== undefined) return ahead;
    // The first commits of a branch, and merges of what is not recent.
    if (commits.at(-1)?.id !== to) return undefined;
    const outcomeOf = await branch.dryRun(source, { from: state.revision, to });
    return await outcomeOf?.(state.catalog);
  }

  async #assess(
    state: DesiredState,
    outcome: Outcome | undefined,
    source: PushSource,
  ): Promise<Verdict> {
    const { assessment } = this.#options;
    const { user, to: pushed } = this.#tip;
    if (outcome === undefined) return refusal([MOVED]);
    const before = state.catalog.size;
    return await assessment.verdict({ outcome, source, user, pushed, before });
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
    const relation = await this.#relation(repository, head);
    if (relation.is === 'refused') return refused(relation.verdict);
    if (relation.is === 'contained') {
      const verdict = { ok: true, lines: ['accepted: the branch has this commit already'] };
      return { verdict, revision: head, previous: head };
    }
    const { hold } = branch;
    if (hold !== undefined) return await this.#landOnHeld(state, { head, from: hold.served });
    if (relation.is === 'ahead') {
      const commits = await this.#commitsSince(head, of.commits);
      const outcome = await this.#try(state, { source: repository, commits, to });
      return await this.#move(state, { head, target: to, outcome });
    }
    if (head === undefined) return 'moved';
    if (branch.state.view.sealing !== this.#sealing) {
      const verdict = await this.#leaks(repository);
      if (!verdict.ok) return refused(verdict);
    }
    const { replayed } = of;
    const { base } = relation;
    if (replayed === undefined && state.catalog.viewOf(base) === undefined) return 'replay';
    const parts = { branch, repository, files: this.#files, user: this.#tip.user };
    const merge = await makeMerge(
      { ...parts, replayed: replayed?.heads.get(to)?.catalog },
      { base, tip: head, pushed: to },
    );
    if ('conflicts' in merge) return { ...merge, base, head };
    const commits = [...(replayed === undefined ? of.commits : []), merge.commit];
    const outcome = await this.#try(state, { source: repository, commits, to, replayed });
    if (outcome === undefined && replayed === undefined) return 'replay';
    return await this.#move(state, { head, target: merge.commit.id, outcome });
  }

  /** `known`: the commits since the head before. */
  async #commitsSince(
    head: string | undefined,
    known: readonly HistoryCommit[],
  ): Promise<readonly HistoryCommit[]> {
    if (known[0]?.parents.includes(head ?? '') === true) return known;
    const commits: HistoryCommit[] = [];
    const { repository } = this.#options;
    for await (const commit of repository.history(head, this.#tip.to)) commits.push(commit);
    return commits;
  }

  /** During a hold the range starts at the served revision, not at the head of the branch. */
  async #landOnHeld(
    state: DesiredState,
    { head, from }: { readonly head: string | undefined; readonly from: string | undefined },
  ): Promise<Landed | 'moved'> {
    const { branch, repository } = this.#options;
    const { to } = this.#tip;
    const outcomeOf = await branch.dryRun(repository, { from, to });
    const outcome = await outcomeOf?.(state.catalog);
    return await this.#move(state, { head, target: to, outcome });
  }

  async #move(
    state: DesiredState,
    of: {
      readonly head: string | undefined;
      readonly target: string;
      readonly outcome: Outcome | undefined;
    },
  ): Promise<Landed | 'moved'> {
    const { repository, assessment } = this.#options;
    const { admission, user } = this.#tip;
    const { head, target, outcome } = of;
    const verdict = await this.#assess(state, outcome, repository);
    if (!verdict.ok || outcome === undefined) return refused(verdict);
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

const ACCEPTED: Verdict = { ok: true, lines: [] };

function refused(verdict: Verdict): Landed {
  return { verdict, reason: 'refused' };
}
