/**
 * Objects that belong to one life of another object: an access key to its User or Team, and a project secret to
 * the shared secret that it follows. The catalog calls this for every manifest, so it works without the
 * table of kinds.
 */
import type { KubeObject, ObjectKey } from '../apimachinery/index.ts';
import { hasKeyOwner, isKeyOwner, keyOwnership } from './credentials/key-owner.ts';
import {
  PROJECT_SECRET_KIND,
  SHARED_SECRET_KIND,
  sharedSecretOf,
} from './secrets/derived-secrets.ts';

export interface Bond {
  readonly owner: ObjectKey;
  /** An object with other terms is bound anew. */
  readonly terms: string;
}

/** True if objects of the kind can be bound to another one. */
export function isBindable({ kind }: Pick<ObjectKey, 'kind'>): boolean {
  return kind === PROJECT_SECRET_KIND || hasKeyOwner({ kind });
}

/** True if other objects can be bound to objects of the kind. */
export function mayHaveBonds({ kind }: Pick<ObjectKey, 'kind'>): boolean {
  return kind === SHARED_SECRET_KIND || isKeyOwner({ kind });
}

/** Undefined: the object is bound to none. */
export function bondOf(key: ObjectKey, object: KubeObject): Bond | undefined {
  if (key.kind !== PROJECT_SECRET_KIND) return keyOwnership(key, object);
  const owner = sharedSecretOf(key.group, object);
  return owner && { owner, terms: JSON.stringify([owner.namespace, owner.name]) };
}
