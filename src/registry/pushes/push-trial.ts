/** Reading and judging of one push over HTTP, on whatever state its caller has. */
import type { User } from '../../apimachinery/index.ts';
import type { Folded, Sealing } from '../../catalog/index.ts';
import type { HistoryCommit, Repository } from '../../git/index.ts';
import { formatProblem } from '../../manifests/index.ts';
import type { Branch } from '../branch.ts';
import { PushedFiles } from './merge/pushed-files.ts';
import type { Replayed } from './merge/replay-pushed.ts';
import type { PushAssessment } from './push-assessment.ts';
import { dryRunAhead, dryRunCommits, type Outcome } from './push-dry-run.ts';
import { type Relation, relationTo, WITHDRAWN } from './push-relation.ts';
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
  /** The same user later; undefined: it may not push any more. */
  userNow(): User | undefined;
  readonly admission?: PushAdmission | undefined;
}

interface DescendingPush {
  readonly source: PushSource;
  readonly commits: readonly HistoryCommit[];
}

export const ACCEPTED: Verdict = { ok: true, lines: [] };

export class PushTrial {
  readonly tip: PushedTip;
  readonly files: PushedFiles;
  readonly #options: OpenPushOptions;
  /** Encryption rules that the pushed commits were judged by; undefined: by none. */
  #sealing: Sealing | undefined;

  constructor(options: OpenPushOptions, tip: PushedTip) {
    this.#options = options;
    this.tip = tip;
    this.files = new PushedFiles(options.branch.reader);
  }

  async relation(source: PushSource, head: string | undefined): Promise<Relation> {
    const { branch } = this.#options;
    return await relationTo(source, { ...this.tip, head, hold: branch.hold });
  }

  /** Commits of the push, with their manifests read. */
  async readAhead(source: PushSource, head: string | undefined): Promise<readonly HistoryCommit[]> {
    const { view } = this.#options.branch.state;
    return await this.files.commits(source, { from: head, to: this.tip.to }, view);
  }

  /** `known`: the commits since the head before. */
  async commitsSince(
    head: string | undefined,
    known: readonly HistoryCommit[],
  ): Promise<readonly HistoryCommit[]> {
    if (known[0]?.parents.includes(head ?? '') === true) return known;
    const commits: HistoryCommit[] = [];
    const { repository } = this.#options;
    for await (const commit of repository.history(head, this.tip.to)) commits.push(commit);
    return commits;
  }

  /** Plaintext secrets, by the rules of the tip and not of the base. */
  async leaks(source: PushSource): Promise<Verdict> {
    const { branch } = this.#options;
    this.#sealing = branch.state.view.sealing;
    const problems = await branch.leaksOf(source, [this.tip.to]);
    if (problems.length === 0) return ACCEPTED;
    const lines = [...capped(problems.map(formatProblem)), 'nothing was changed'];
    return { ...refusal(lines), problems };
  }

  /** The same, unless it is known by the present rules. */
  async newLeaks(source: PushSource): Promise<Verdict> {
    const isKnown = this.#options.branch.state.view.sealing === this.#sealing;
    return isKnown ? ACCEPTED : await this.leaks(source);
  }

  /** The outcome of a push that descends from the tip, for holders of the mutex. */
  async outcome(on: Folded, { source, commits }: DescendingPush): Promise<Outcome> {
    const context = this.#options.branch.dryRunContext(source);
    return await dryRunCommits(context, on, { commits, to: this.tip.to }, this.files);
  }

  /** The same on a snapshot. A replay of the history waits for others, and no write waits for it. */
  async outcomeBeside(on: Folded, { source, commits }: DescendingPush): Promise<Outcome> {
    const { branch } = this.#options;
    const context = {
      ...branch.dryRunContext(source),
      replayAlone: branch.replayAlone.bind(branch),
    };
    return await dryRunCommits(context, on, { commits, to: this.tip.to }, this.files);
  }

  /** The outcome of commits that end with `to`. Undefined: only a replay of the history helps. */
  async outcomeAhead(
    on: Folded,
    of: {
      readonly commits: readonly HistoryCommit[];
      readonly to: string;
      readonly replayed?: Replayed | undefined;
    },
  ): Promise<Outcome | undefined> {
    const { commits, to, replayed } = of;
    const { branch, repository } = this.#options;
    return await dryRunAhead(branch.dryRunContext(repository), on, {
      commits,
      to,
      read: (paths) => this.files.read(repository, paths),
      ...(replayed && { replayed: replayed.heads, replayedSteps: replayed.steps }),
    });
  }

  /** `before`: number of objects before the push. */
  async verdict(
    outcome: Outcome,
    { source, before }: { readonly source: PushSource; readonly before: number },
  ): Promise<Verdict> {
    const { to: pushed } = this.tip;
    const user = this.tip.userNow();
    if (user === undefined) return refusal([WITHDRAWN]);
    return await this.#options.assessment.verdict({ outcome, source, user, pushed, before });
  }
}
