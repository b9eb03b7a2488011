/** Relation of a pushed commit to the tip of the branch. */
import type { Repository } from '../../git/index.ts';
import type { Hold } from './prune-budget.ts';
import { refusal, type Verdict } from './verdict.ts';

export type Relation =
  /** The branch has the commit. */
  | { readonly is: 'contained' }
  /** The commit descends from the tip, or there is no tip. */
  | { readonly is: 'ahead' }
  /** Both went on from `base`. */
  | { readonly is: 'diverged'; readonly base: string }
  | { readonly is: 'refused'; readonly verdict: Verdict };

export interface RelatedPush {
  readonly to: string;
  readonly lease: string | undefined;
  readonly rewrites: boolean;
  readonly head: string | undefined;
  readonly hold: Hold | undefined;
}

export const REWRITES =
  'This push would rewrite history that the platform was built from; rebase on the branch and push again';
export const MOVED = 'The branch moved meanwhile; fetch, rebase and push again';
export const WITHDRAWN =
  'Forbidden: the access key, or its right to push, ended during this push; nothing was changed';
const SEVERAL_BASES =
  'The branch and this push were merged crosswise, so that they have several bases; fetch, merge and push again';

export async function relationTo(
  source: Pick<Repository, 'isAncestor' | 'mergeBases'>,
  { to, lease, rewrites, head, hold }: RelatedPush,
): Promise<Relation> {
  if (head === undefined) return { is: 'ahead' };
  if (lease !== undefined && lease !== head) return refuse(MOVED);
  if (to === head) return { is: 'contained' };
  const bases = await source.mergeBases(head, to);
  const isAhead = bases.length === 1 && bases[0] === head;
  if (hold !== undefined) {
    const isServed = hold.served === undefined || (await source.isAncestor(hold.served, to));
    return isAhead && isServed
      ? { is: 'ahead' }
      : refuse(`The branch is held: ${hold.message}. ${hold.remedy}`);
  }
  if (isAhead) return { is: 'ahead' };
  const [base, ...others] = bases;
  if (base === undefined || rewrites || lease !== undefined) return refuse(REWRITES);
  if (base === to) return { is: 'contained' };
  return others.length > 0 ? refuse(SEVERAL_BASES) : { is: 'diverged', base };
}

function refuse(reason: string): Relation {
  return { is: 'refused', verdict: refusal([reason]) };
}
