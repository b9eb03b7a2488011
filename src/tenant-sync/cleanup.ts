/** Removes objects that the sync of a tenant wrote, from places that it no longer writes to. */

import type { KubeObject } from '../apimachinery/index.ts';
import { mapLimit } from '../concurrency/index.ts';
import { hasReason, type KubeClient } from '../kubernetes-client/index.ts';
import { isAtOwnName, MANAGED_ANNOTATIONS, sourceOf } from './managed-annotations.ts';
import type { SyncedKind } from './synced-kinds.ts';

export interface CleanupOptions {
  readonly kind: SyncedKind;
  readonly client: Pick<KubeClient, 'list' | 'delete'>;
  readonly tenant: string;
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  /** True: without the right to list the kind, nothing was ever synced, so nothing is removed. */
  readonly isOptional?: boolean;
  /** True for an object that still belongs there. */
  keeps(object: KubeObject): boolean;
}

const CONCURRENCY = 8;

/**
 * Number of removed objects; undefined: they cannot be listed. Keeps namespaces, which may hold
 * other objects, and objects that lost their markers or were copied. Throws ApiFailure.
 */
export async function removeSynced(options: CleanupOptions): Promise<number | undefined> {
  const { kind, client, tenant, namespace, keeps, isOptional = false } = options;
  const { plural } = kind;
  const labelSelector = `${MANAGED_ANNOTATIONS.managedBy}=${tenant}`;
  const list = await client.list({ plural, namespace, labelSelector }).catch((error: unknown) => {
    if (isOptional && hasReason(error, 'Forbidden')) return undefined;
    throw error;
  });
  const ours = list?.items.filter(
    (object) => sourceOf(object, tenant) !== undefined && isAtOwnName(object) && !keeps(object),
  );
  if (ours === undefined) return undefined;
  // A failed removal does not stop the others.
  const removals = await mapLimit(ours, CONCURRENCY, (object) =>
    remove(client, plural, object).then(
      () => undefined,
      (error: unknown) => ({ error }),
    ),
  );
  const failure = removals.find((removal) => removal !== undefined);
  if (failure !== undefined) throw failure.error;
  return ours.length;
}

async function remove(
  client: Pick<KubeClient, 'delete'>,
  plural: string,
  object: KubeObject,
): Promise<void> {
  const { name = '', namespace } = object.metadata;
  try {
    await client.delete({ plural, namespace, name }, object);
  } catch (error) {
    if (!hasReason(error, 'NotFound')) throw error;
  }
}
