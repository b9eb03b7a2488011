/** Plans for commits of the hosted repository, on any branch. */
import { badRequest, type User } from '../apimachinery/index.ts';
import { type Branch, isOnSomeRef, listBranches, resolveCommit } from '../git/index.ts';
import type { KindTable } from '../kinds/index.ts';
import type { PushJudge, PushSource, WriteEffect } from '../registry/index.ts';
import {
  type ComputeEffects,
  changesOf,
  type Plan,
  type PlanChange,
  planOf,
  withEffects,
} from './plan.ts';
import { checkRevision, noCommit } from './revision.ts';

export interface PlannerParts {
  readonly repository: PushSource & { readonly gitDir: string };
  readonly judge: PushJudge;
  readonly kinds: KindTable;
  /** Effects for the requesting user. Absent: effects are unknown. */
  effects?(user: User | undefined): ComputeEffects;
  /** The newest plan of an open pull request. Absent: none are made. */
  pulls?(number: number): Plan | undefined;
}

/** A commit by its id, or by a branch or tag. */
export type PlanTarget = { readonly revision: string } | { readonly ref: string };

/** Names that git takes for a ref, without the signs of revision expressions. */
const REF =
  /^(?:refs\/(?:heads|tags|remotes)\/)?(?!refs\/)[^\s\p{Cc}~^:?*[\\-][^\s\p{Cc}~^:?*[\\]*$/u;
const LONGEST_REF = 256;
/** The commits of pull requests are not kept, so that their plans have names and no refs. */
const PULL = /^refs\/pull\/(\d{1,9})\/head$/;

export class Planner {
  readonly #parts: PlannerParts;

  constructor(parts: PlannerParts) {
    this.#parts = parts;
  }

  /** The result of a push of the commit by the user. Throws 400 and 404. */
  async plan(target: PlanTarget, user: User | undefined): Promise<Plan> {
    const { judge, repository: source, kinds } = this.#parts;
    const pull = 'ref' in target ? PULL.exec(target.ref)?.[1] : undefined;
    if (pull !== undefined && this.#parts.pulls !== undefined) {
      const pulled = this.#parts.pulls(Number(pull));
      if (pulled !== undefined) return pulled;
      throw noCommit(
        pull,
        `there is no plan of pull request ${pull}: it is not open, is not planned yet, or plans of pull requests are off`,
      );
    }
    const to = 'ref' in target ? await this.#byRef(target.ref) : await this.#byId(target.revision);
    const dryRun = await judge.dryRun({ to, source, user });
    const plan = await planOf(kinds, to, dryRun);
    return { ...plan, changes: await this.#withEffects(plan.changes, dryRun, user) };
  }

  /** Changes that a write would make. */
  async changesOf(effect: WriteEffect, user: User | undefined): Promise<PlanChange[]> {
    return await this.#withEffects(changesOf(this.#parts.kinds, effect), effect, user);
  }

  /** At most `limit` branches, the one with the newest commit first. */
  async branches(limit: number): Promise<Branch[]> {
    return await listBranches(this.#parts.repository, limit);
  }

  async #withEffects(
    changes: readonly PlanChange[],
    effect: WriteEffect,
    user: User | undefined,
  ): Promise<PlanChange[]> {
    const computeEffects = this.#parts.effects?.(user);
    if (computeEffects === undefined) return [...changes];
    return await withEffects(changes, { kinds: this.#parts.kinds, effect, computeEffects });
  }

  /** A planner that also computes effects elsewhere, and knows pull requests. */
  with(more: Pick<PlannerParts, 'effects' | 'pulls'>): Planner {
    return new Planner({ ...this.#parts, ...more });
  }

  async #byRef(ref: string): Promise<string> {
    const shown = JSON.stringify(ref.slice(0, LONGEST_REF));
    if (ref.length > LONGEST_REF || !REF.test(ref) || ref.includes('..') || ref.includes('@{')) {
      throw badRequest(`${shown} is not the name of a branch or tag`);
    }
    // A branch wins over a tag of the same name.
    const names = ref.startsWith('refs/') ? [ref] : [`refs/heads/${ref}`, `refs/tags/${ref}`];
    for (const name of names) {
      const id = await resolveCommit(this.#parts.repository, name);
      if (id !== undefined) return id;
    }
    throw noCommit(ref, `the repository has no ref ${shown}`);
  }

  /** A commit that no ref reaches was withdrawn, and nobody can fetch it. */
  async #byId(text: string): Promise<string> {
    const { repository } = this.#parts;
    const digits = checkRevision(text);
    const id = await resolveCommit(repository, digits);
    if (id?.startsWith(digits) !== true || !(await isOnSomeRef(repository, id))) {
      throw noCommit(digits, `no branch or tag of the repository has a commit ${digits}`);
    }
    return id;
  }
}
