/** Binding of an access key to an incarnation of its owner; see `owner-bindings.ts`. */
import { type ObjectKey, sameKey } from '../apimachinery/index.ts';

export interface Tie {
  readonly owner: ObjectKey;
  /** Commit that introduced the incarnation; undefined: the key waits for one. */
  readonly life: string | undefined;
}

export function sameTie(a: Tie | undefined, b: Tie | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.life === b.life && sameKey(a.owner, b.owner);
}

type Tied = { readonly tie: Tie | undefined } | undefined;

/** True if a key is now bound to another incarnation, or to another owner. */
export function isTiedAnew({ before, after }: Readonly<Record<'before' | 'after', Tied>>): boolean {
  if (before?.tie?.life === undefined || after?.tie === undefined) return false;
  return !sameTie(before.tie, after.tie);
}
