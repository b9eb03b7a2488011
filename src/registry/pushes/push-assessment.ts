/**
 * Assessment of what a push would do to objects: rights and rules for each change, control files,
 * copied secrets, and removals that need approval.
 */

import {
  type Authorizer,
  deadline,
  flatMapYielding,
  SUPERUSER_GROUP,
  type User,
  unavailable,
} from '../../apimachinery/index.ts';
import type { CatalogObject, ObjectChange } from '../../catalog/index.ts';
import type { Repository } from '../../git/index.ts';
import { formatProblem } from '../../manifests/index.ts';
import type { Branch } from '../branch.ts';
import { isVisible } from '../writes/change-verbs.ts';
import { missingAfterPush } from '../writes/missing-dependencies.ts';
import type { WriteParts } from '../writes/write-context.ts';
import { copiedValues, encryptionChanges } from './encryption-changes.ts';
import { FormerValues, UnreadHistoryError } from './former-values.ts';
import { movedForOthers } from './moved-files.ts';
import { prunesOf } from './prune-approvals.ts';
import { describePrune } from './prune-budget.ts';
import type { Outcome } from './push-dry-run.ts';
import { PushObjections } from './push-objections.ts';
import { capped, summary, type Verdict } from './verdict.ts';

/** A pusher with write access to the repository's folder can change everything in it anyway. */
export const OPERATOR: User = { name: 'operator', groups: [SUPERUSER_GROUP] };

/** Reads of the history for one push, while the branch goes on. */
const MOST_READS = 3;
/** Time limit for all of them. A history of 50,000 encrypted versions takes 8 s. */
const READS_WITHIN_MS = 60_000;

/** A push that was tried on the catalog. */
export interface Tried {
  readonly outcome: Outcome;
  readonly source: Pick<Repository, 'readBlobs' | 'commitMetadata'>;
  readonly user: User | undefined;
  /** Commit whose message may allow removals. */
  readonly pushed: string;
  /** Number of objects before the push. */
  readonly before: number;
}

export interface AssessmentOptions extends WriteParts {
  readonly branch: Branch;
  readonly repository: Pick<Repository, 'history' | 'readBlobs' | 'listFiles'>;
  readonly authorizer: Authorizer;
  readonly mostFormerValues?: number;
}

/** Callers hold the mutex, so that the catalog does not change meanwhile. */
export class PushAssessment {
  readonly #options: AssessmentOptions;
  readonly #objections: PushObjections;
  readonly #former: FormerValues;

  constructor(options: AssessmentOptions) {
    this.#options = options;
    const { repository, branch, mostFormerValues } = options;
    const { reader } = branch;
    this.#former = new FormerValues({ repository, reader, mostValues: mostFormerValues });
    this.#objections = new PushObjections(options);
  }

  /** The verdict, with approval of the removals checked. */
  async verdict(tried: Tried): Promise<Verdict> {
    const { outcome, source, user = OPERATOR, pushed, before } = tried;
    const verdict = await this.#verdict(outcome, source, user);
    const prunes = prunesOf(outcome.changes);
    if (!verdict.ok || prunes.length === 0) return verdict;
    const { approvals } = this.#options.branch.state;
    const count = { prunes: prunes.length, before, after: before + outcome.growth };
    const refused = await approvals.objectionToPush(source, pushed, count);
    if (refused === undefined) return { ...verdict, prunes };
    return { ok: false, lines: [...capped(prunes.map(describePrune)), ...refused], prunes };
  }

  /**
   * Records that the verdict approved removals. Must be called before the branch moves, so that the
   * approval is found if the daemon ends before readers see the push.
   */
  async approve(revision: string, verdict: Verdict, user: User = OPERATOR): Promise<void> {
    if (!verdict.ok || verdict.prunes === undefined || verdict.prunes.length === 0) return;
    await this.#options.branch.state.approvals.approve({
      revision,
      user: user.name,
      reason: 'accepted push',
      byVerdict: true,
    });
  }

  /** Judges again if a judgement lacks a part of the history, which is read while nothing waits for it. */
  async withHistory<T>(judge: () => Promise<T>): Promise<T> {
    let signal: AbortSignal | undefined;
    for (let reads = 1; ; reads += 1) {
      try {
        return await judge();
      } catch (error) {
        if (!(error instanceof UnreadHistoryError)) throw error;
        if (reads > MOST_READS) throw unavailable('The branch keeps moving; please try again');
        signal ??= deadline(READS_WITHIN_MS);
        await this.#former.read(error.head, signal);
      }
    }
  }

  /** `planned`: the changes that readers will see. */
  async objectionsTo(
    { changes, controlFiles, passing, restored }: Outcome,
    source: Pick<Repository, 'readBlobs'>,
    user: User,
  ): Promise<{ planned: ObjectChange[]; objections: string[] }> {
    const planned = await flatMapYielding(changes, (change) => (isVisible(change) ? [change] : []));
    const { sealer, reader, state } = this.#options.branch;
    const { sealing } = state.view;
    const { repository, kinds } = this.#options;
    const rules = sealer && { sealer, sealing, repository, kinds };
    const moved = rules === undefined ? [] : await movedForOthers(rules, changes);
    const visible = new Set(planned);
    const others = changes.filter((change) => !visible.has(change));
    const judged = [...planned, ...(await encryptionChanges({ source, reader }, others))];
    const secret = await flatMapYielding([...planned, ...passing], (change) => {
      const isWanted = this.#objections.holdsSecrets(change);
      return isWanted && !this.#objections.mayCopy(change, user) ? [change] : [];
    });
    const { copies, uncompared } =
      sealer === undefined
        ? { copies: [], uncompared: [] }
        : await copiedValues(
            {
              source,
              reader,
              sealer,
              current: () => this.#secretObjects(),
              former: this.#former,
              head: state.revision,
              mayRead: (key) => this.#objections.mayReadNames({ key }, user),
            },
            secret,
          );
    const objections = await flatMapYielding(judged, (change) => this.#objections.of(change, user));
    return {
      planned,
      objections: [
        ...this.#objections.ofControlFiles(controlFiles, user),
        ...(await this.#objections.ofNewCopies(planned)),
        ...new Set(this.#objections.ofCopies(copies, user)),
        ...new Set(this.#objections.ofUncompared(uncompared, this.#former.mostValues, user)),
        ...this.#objections.ofRestored(restored, user),
        ...(await this.#objections.ofMoves(moved, user)),
        ...objections,
      ],
    };
  }

  *#secretObjects(): Generator<CatalogObject> {
    for (const object of this.#options.branch.state.catalog.objects()) {
      const { key } = object;
      if (this.#objections.holdsSecrets({ key, before: object, after: object })) yield object;
    }
  }

  async #verdict(
    outcome: Outcome,
    source: Pick<Repository, 'readBlobs'>,
    user: User,
  ): Promise<Verdict> {
    const { warnings } = outcome;
    const problems = [...outcome.problems, ...outcome.leaks];
    const { planned, objections } = await this.objectionsTo(outcome, source, user);
    const told = await flatMapYielding(problems, (problem) => [formatProblem(problem)]);
    const complaints = [...told, ...objections];
    const prunes = prunesOf(planned);
    const pruned = prunes.map(describePrune);
    if (complaints.length > 0) {
      const count = `${complaints.length} problem${complaints.length === 1 ? '' : 's'}; nothing was changed`;
      const lines = [...capped(complaints), ...capped(pruned), count];
      return { ok: false, lines, problems, prunes };
    }
    const absent = await missingAfterPush(this.#options, planned, user);
    const lines = [...warnings.map(formatProblem), ...absent].map((text) => `warning: ${text}`);
    return { ok: true, lines: [...capped(lines), ...capped(pruned), summary(planned)] };
  }
}
