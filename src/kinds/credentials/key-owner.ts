/**
 * The User or Team that an access key acts as. The catalog asks it of every manifest, so it works
 * without the table of kinds.
 */
import type { KubeObject, ObjectKey } from '../../apimachinery/index.ts';
import { textAt } from '../columns.ts';

/** Kind of keys, and the kinds of their owners by the field of `spec` that names them. */
export const KEY_KIND = 'OwnedAccessKey';
const OWNERS = { user: 'User', team: 'Team' } as const;
const OWNER_KINDS: ReadonlySet<string> = new Set(Object.values(OWNERS));

/** The condition of a key whose owner is not the one that it was made for. */
export const OWNER_FOUND = 'OwnerFound';

export function ownerKindOf(field: keyof typeof OWNERS): string {
  return OWNERS[field];
}

/** True if objects of the kind act as an owner. */
export function hasKeyOwner({ kind }: Pick<ObjectKey, 'kind'>): boolean {
  return kind === KEY_KIND;
}

/** True if keys can act as objects of the kind. */
export function isKeyOwner({ kind }: Pick<ObjectKey, 'kind'>): boolean {
  return OWNER_KINDS.has(kind);
}

export interface KeyOwnership {
  readonly owner: ObjectKey;
  /** Whom the key acts as, and the hash of its text. Another text is a new decision of its writer. */
  readonly terms: string;
}

/** Undefined for what acts as no object: a key of a subject, and everything that is no key. */
export function keyOwnership(key: ObjectKey, object: KubeObject): KeyOwnership | undefined {
  if (!hasKeyOwner(key)) return undefined;
  for (const field of ['user', 'team'] as const) {
    const name = textAt(object, ['spec', field]);
    if (name === undefined) continue;
    const owner = { group: key.group, kind: OWNERS[field], namespace: '', name };
    return { owner, terms: JSON.stringify([field, name, textAt(object, ['spec', 'key']) ?? '']) };
  }
  return undefined;
}
