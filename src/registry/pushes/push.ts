/**
 * Verdict on a push, before the ref moves: every problem with its place, every objection of the
 * rules for API writes, and the objects that would be removed.
 */

import type { Authorizer, User } from '../../apimachinery/index.ts';
import type { ObjectChange } from '../../catalog/index.ts';
import {
  ObjectTypeError,
  type PushObjection,
  type RefMove,
  type Repository,
} from '../../git/index.ts';
import { formatProblem, type Problem } from '../../manifests/index.ts';
import type { Branch } from '../branch.ts';
import type { DesiredState } from '../desired-state.ts';
import type { DerivedSecretChange } from '../projection/derived-secrets.ts';
import type { WriteParts } from '../writes/write-context.ts';
import { type Landed, OpenPush } from './open-push.ts';
import { prunesOf } from './prune-approvals.ts';
import type { Prune } from './prune-budget.ts';
import { OPERATOR, PushAssessment } from './push-assessment.ts';
import { dryRun, type Outcome, type PushedRange } from './push-dry-run.ts';
import { MOVED, REWRITES } from './push-relation.ts';
import type { PushAdmission, PushSource, SignatureVerdict } from './push-source.ts';
import type { LandingRepository, PushedTip } from './push-trial.ts';
import { PushVerdicts } from './push-verdicts.ts';
import { capped, refusal, type Verdict } from './verdict.ts';

export interface Push {
  readonly updates: readonly RefMove[];
  /** Undefined: the operator, who pushes by path. */
  readonly user: User | undefined;
  /** Reads quarantined objects too. */
  readonly source: PushSource;
  /** Absent: git moves the branch after the verdict. */
  readonly admission?: PushAdmission | undefined;
}

/** A push over HTTP, whose user is known. */
export interface ExaminedPush extends Push, Pick<PushedTip, 'userNow'> {
  readonly user: User;
  readonly rewrites: boolean;
}

/** Result of following the branch to a commit, and the verdict on a push of it. */
export interface DryRunReport {
  /** The revision that readers see; undefined before the first commit. */
  readonly from: string | undefined;
  readonly changes: readonly ObjectChange[];
  readonly derived: readonly DerivedSecretChange[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Reasons for a refusal, beside the problems. */
  readonly objections: readonly string[];
  /** Set if the removals need approval: the message that asks for it. */
  readonly excess: readonly string[] | undefined;
  readonly prunes: readonly Prune[];
}

export interface DryRun {
  readonly to: string;
  readonly source: PushSource;
  /** Absent: the operator. */
  readonly user?: User | undefined;
  /** The commit whose signature counts, if `to` is a trial merge of it. */
  readonly signed?: string;
}

export interface PushJudgeOptions extends WriteParts {
  readonly branch: Branch;
  readonly repository: LandingRepository;
  readonly authorizer: Authorizer;
  /** Refs on which plaintext secrets are refused. Default: every branch and tag. */
  readonly refusePlaintext?: 'all' | 'branch' | undefined;
  /** Absent: signatures are not required. */
  readonly signatures?: SignatureVerdict | undefined;
  /** Limit of encrypted values in the history that those of a push are compared with. */
  readonly mostFormerValues?: number;
}

/** Time that API writes wait for an accepted push to move the branch. */
const ARRIVAL_TIMEOUT_MS = 300;
const POLL_MS = 2;

export class PushJudge {
  readonly verdicts = new PushVerdicts();
  readonly #options: PushJudgeOptions;
  readonly #assessment: PushAssessment;

  constructor(options: PushJudgeOptions) {
    this.#options = options;
    this.#assessment = new PushAssessment(options);
  }

  /**
   * On other branches and tags only the limits of size, names, and plaintext secrets apply. Rejects with
   * a StatusError if the commits change too many manifests.
   */
  async judge(push: Push): Promise<Verdict> {
    const judgeMove = ({ oldId }: RefMove, newId: string): Promise<Verdict> =>
      this.#assessment.withHistory(() => this.#judgeMove(push, oldId, newId));
    return await this.#judged(push, { judgeMove, isFinal: true });
  }

  /**
   * Judges a push over HTTP while its objects are in quarantine. `open`: set if it brings a commit
   * for the served branch, which `land` moves.
   */
  async examine(push: ExaminedPush): Promise<{ verdict: Verdict; open: OpenPush | undefined }> {
    const { branch, repository, signatures } = this.#options;
    let open: OpenPush | undefined;
    const judgeMove = async ({ oldId: lease }: RefMove, to: string): Promise<Verdict> => {
      const parts = { branch, repository, signatures, assessment: this.#assessment };
      const opened = new OpenPush(parts, { ...push, to, lease });
      open = opened;
      return await this.#assessment.withHistory(() => opened.examine(push.source));
    };
    const verdict = await this.#judged(push, { judgeMove, isFinal: false });
    return { verdict, open: verdict.ok ? open : undefined };
  }

  /** Moves the branch to an examined push, or to a merge with it. */
  async land(open: OpenPush): Promise<Landed> {
    const landed = await this.#assessment.withHistory(() => open.land());
    const { verdict } = landed;
    const { to: revision, user } = open;
    const time = this.#options.clock.now();
    this.verdicts.record({ revision, verdict, user: user.name, time });
    return landed;
  }

  async #judged(
    push: Push,
    {
      judgeMove,
      isFinal,
    }: {
      readonly judgeMove: (update: RefMove, newId: string) => Promise<Verdict>;
      /** False: an accepted push has another verdict to come. */
      readonly isFinal: boolean;
    },
  ): Promise<Verdict> {
    const update = push.updates.find(({ ref }) => ref === this.#options.repository.ref);
    const tips = push.updates.flatMap(({ newId: id }) => id ?? []);
    const beyond = await push.source.objectionsTo({ tips, known: 'all refs' });
    const refused =
      beyond.length > 0
        ? refusal([...capped(beyond.map(formatObjection)), 'nothing was changed'])
        : await this.#leaksElsewhere(push, update);
    if (update === undefined) return refused ?? { ok: true, lines: [] };
    const { newId } = update;
    if (newId === undefined)
      return refusal(['The platform lives on this branch; it cannot be deleted']);
    const verdict =
      refused ?? (await otherThanCommit(push.source, newId)) ?? (await judgeMove(update, newId));
    if (verdict.ok && !isFinal) return verdict;
    const { name: user } = push.user ?? OPERATOR;
    this.verdicts.record({ revision: newId, verdict, user, time: this.#options.clock.now() });
    return verdict;
  }

  async #leaksElsewhere(
    { updates, source }: Push,
    served: RefMove | undefined,
  ): Promise<Verdict | undefined> {
    const { branch, refusePlaintext = 'all' } = this.#options;
    if (refusePlaintext === 'branch') return undefined;
    const tips = updates.flatMap((update) => (update === served ? [] : (update.newId ?? [])));
    const leaks = await branch.leaksOf(source, tips);
    if (leaks.length === 0) return undefined;
    return {
      ...refusal([...capped(leaks.map(formatProblem)), 'nothing was changed']),
      problems: leaks,
    };
  }

  /** Moves nothing. */
  dryRun(of: DryRun): Promise<DryRunReport> {
    return this.#assessment.withHistory(() => this.#dryRun(of));
  }

  async #dryRun(of: DryRun): Promise<DryRunReport> {
    const { branch } = this.#options;
    const { source, to } = of;
    const from = branch.state.shown;
    const beyond = await source.objectionsTo({ tips: [to], known: { commit: from } });
    // Objects beyond the limits are not read.
    if (beyond.length > 0) return unread(from, beyond.map(formatObjection));
    const outcome = await branch.onPin((now) => dryRun(branch.dryRunContext(source), now, to));
    // Writes that came meanwhile do not count: the report names the revision that it starts from.
    return await branch.runExclusive(async (state) => {
      await state.recover();
      return await this.#report(state, of, outcome);
    });
  }

  async #report(
    state: DesiredState,
    { source, to, user = OPERATOR, signed = to }: DryRun,
    outcome: Outcome,
  ): Promise<DryRunReport> {
    const { changes, problems, warnings, growth } = outcome;
    const { from } = outcome.prepared;
    const before = state.catalog.size;
    const follows = from === undefined || (await source.isAncestor(from, to));
    const isNew = follows && from !== to;
    const { signatures } = this.#options;
    const judged = { from, to: signed };
    const unsigned = isNew ? ((await signatures?.judge(source, judged)) ?? []) : [];
    const { objections: own } = await this.#assessment.objectionsTo(outcome, source, user);
    const objections = [...(follows ? [] : [REWRITES]), ...unsigned, ...own];
    const prunes = prunesOf(changes);
    const count = { prunes: prunes.length, before, after: before + growth };
    const excess =
      prunes.length === 0 ? undefined : await state.approvals.objectionToPush(source, to, count);
    const derived = await state.derivedSecretsAfter(changes);
    return { from, changes, derived, problems, warnings, objections, excess, prunes };
  }

  async #judgeMove(push: Push, oldId: string | undefined, newId: string): Promise<Verdict> {
    if (oldId !== undefined && !(await push.source.isAncestor(oldId, newId))) {
      return refusal([REWRITES]);
    }
    const { branch, signatures } = this.#options;
    // Commits without a valid signature are not read any further.
    const unsigned = (await signatures?.judge(push.source, { from: oldId, to: newId })) ?? [];
    if (unsigned.length > 0) return refusal([...unsigned, 'nothing was changed']);
    // The pusher may have seen a move of the branch before the daemon did.
    if (branch.state.revision !== oldId) await branch.sync();
    const { hold } = branch;
    const onHeld = hold !== undefined && hold.head === oldId;
    if (onHeld && !(await goesOnFrom(push.source, hold.served, newId))) {
      return refusal([`The branch is held: ${hold.message}. ${hold.remedy}`]);
    }
    // During a hold the range starts at the served revision, not at the head of the branch.
    const range = { from: onHeld ? hold.served : oldId, to: newId };
    const outcome = await branch.onPin(async (now) =>
      now.catalog.revision === range.from
        ? await dryRun(branch.dryRunContext(push.source), now, newId)
        : undefined,
    );
    if (outcome === undefined) return refusal([MOVED]);
    return await this.#runExclusive({ ...push, oldId, range, outcome });
  }

  /** Answers when the verdict is known, and holds the mutex until the branch has moved. */
  #runExclusive(pushed: DryRunPush): Promise<Verdict> {
    const { branch } = this.#options;
    const { range, source, user, outcome } = pushed;
    return new Promise((resolve, reject) => {
      const work = async (state: DesiredState): Promise<void> => {
        await state.recover();
        if (state.revision !== range.from) await state.catchUp();
        if (state.revision !== range.from) {
          resolve(refusal([MOVED]));
          return;
        }
        const before = state.catalog.size;
        const tried = { outcome, source, user, pushed: range.to, before };
        const assessed = await this.#assessment.verdict(tried);
        await this.#assessment.approve(range.to, assessed, user);
        const verdict = await admitted(assessed, pushed);
        resolve(verdict);
        if (!verdict.ok) return;
        state.expect(outcome.prepared);
        await (pushed.admission?.arrived(range.to) ?? this.#waitForMove(range.to));
        await state.catchUp();
      };
      branch.runExclusive(work).catch(reject);
    });
  }

  async #waitForMove(newId: string): Promise<void> {
    const deadline = performance.now() + ARRIVAL_TIMEOUT_MS;
    while (performance.now() < deadline) {
      if ((await this.#options.repository.head()) === newId) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

interface DryRunPush extends Push {
  readonly oldId: string | undefined;
  readonly range: PushedRange;
  readonly outcome: Outcome;
}

/** The range starts at the head of the branch, which a hold does not change. */
async function admitted(
  verdict: Verdict,
  { admission, oldId, range }: DryRunPush,
): Promise<Verdict> {
  if (!verdict.ok || admission === undefined) return verdict;
  const objections = await admission.admit({ from: oldId, to: range.to });
  return objections.length === 0 ? verdict : refusal(objections);
}

function unread(from: string | undefined, objections: readonly string[]): DryRunReport {
  return {
    from,
    changes: [],
    derived: [],
    problems: [],
    warnings: [],
    objections,
    excess: undefined,
    prunes: [],
  };
}

function formatObjection({ path, problem: message }: PushObjection): string {
  return path === undefined ? message : formatProblem({ path, line: 1, col: 1, message });
}

/** Git treats an annotated tag as a branch until the ref is written. */
async function otherThanCommit(source: PushSource, id: string): Promise<Verdict | undefined> {
  try {
    await source.readCommits([id]);
    return undefined;
  } catch (error) {
    if (!(error instanceof ObjectTypeError)) throw error;
    return refusal([`The branch takes commits, and ${id} is a ${error.found}; push what it names`]);
  }
}

async function goesOnFrom(
  source: Pick<Repository, 'isAncestor'>,
  served: string | undefined,
  to: string,
): Promise<boolean> {
  // If the first commit is held, readers have nothing yet and every descendant may release it.
  return served === undefined || (await source.isAncestor(served, to));
}
