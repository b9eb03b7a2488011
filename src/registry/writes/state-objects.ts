/**
 * Objects that are not desired state: the server makes them, and they exist in the state alone.
 * They are validated, guarded, read, watched, changed and deleted like any other object, but make
 * no commits. Login keys are such objects: a log of sign-ins with provider tokens is not for
 * review, and people sign in even while no commit can be made.
 */
import { randomUUID } from 'node:crypto';
import {
  asKubeObject,
  type JsonObject,
  type KubeObject,
  type ObjectKey,
  rfc3339,
} from '../../apimachinery/index.ts';
import { type Kind, keyOwnership } from '../../kinds/index.ts';
import type { StoredObject } from '../../state/index.ts';
import { serveObject } from '../projection/served-object.ts';
import type { Prepared } from './write.ts';
import type { DecisionParts } from './write-context.ts';

/** Hidden field of such an object. */
const MARK = 'kept in state';

export function isStateObject({ hidden }: Pick<StoredObject, 'hidden'>): boolean {
  return hidden?.[MARK] === true;
}

/** `manifest` with its concealed values, in the form for git. */
export function createdInState(
  { kind, key, manifest }: { kind: Kind; key: ObjectKey; manifest: JsonObject },
  { store, clock }: Pick<DecisionParts, 'store' | 'clock'>,
): Prepared {
  const now = clock.now();
  // There is no history: the identity lasts as long as the state.
  const identity = { uid: randomUUID(), creationTimestamp: rfc3339(now), generation: 1 };
  const written = asKubeObject(manifest);
  const owner = keyOwnership(key, written)?.owner;
  const ownerUid = owner && store.get(owner)?.object.metadata.uid;
  const source = { identity, manifest: written, problems: [], ownerUid };
  const { object, hidden } = serveObject(kind, source, { previous: undefined, time: now });
  return durable({ key, object, hidden: { ...hidden, [MARK]: true } });
}

export function updatedInState(
  { key, hidden }: StoredObject,
  object: KubeObject,
  brings: JsonObject,
): Prepared {
  return durable({ key, object, hidden: { ...hidden, ...brings } });
}

function durable(put: Pick<StoredObject, 'key' | 'object' | 'hidden'>): Prepared {
  return { do: 'state', changes: [{ type: 'put', ...put }], durable: true };
}
