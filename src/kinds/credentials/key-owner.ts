/**
 * Owner of an access key: the User or Team that it acts as. The catalog calls this for every manifest,
 * so it works without the table of kinds.
 */
import type { KubeObject, ObjectKey } from '../../apimachinery/index.ts';
import { textAt } from '../columns.ts';

export const KEY_KIND = 'OwnedAccessKey';
const OWNERS = { user: 'User', team: 'Team' } as const;
const OWNER_KINDS: ReadonlySet<string> = new Set(Object.values(OWNERS));

/** Condition type: False if the owner of a key is not the one that it was made for. */
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
  /** Owner and hash of the key. A new key text counts as a new grant by its writer. */
  readonly terms: string;
}

/** Undefined for objects that are not keys, and for keys of a subject. */
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
