/** Binding of an access key or a project secret to an incarnation of another object; see `owner-bindings.ts`. */
import { type ObjectKey, sameKey } from '../apimachinery/index.ts';

export interface OwnerBinding {
  readonly owner: ObjectKey;
  /** Commit that introduced the incarnation; undefined: the object waits for one. */
  readonly incarnation: string | undefined;
}

export function sameBinding(a: OwnerBinding | undefined, b: OwnerBinding | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.incarnation === b.incarnation && sameKey(a.owner, b.owner);
}

type Bound = { readonly ownerBinding: OwnerBinding | undefined } | undefined;

/** True if a key is now bound to another incarnation, or to another owner. */
export function isRebound({ before, after }: Readonly<Record<'before' | 'after', Bound>>): boolean {
  if (before?.ownerBinding?.incarnation === undefined || after?.ownerBinding === undefined)
    return false;
  return !sameBinding(before.ownerBinding, after.ownerBinding);
}
