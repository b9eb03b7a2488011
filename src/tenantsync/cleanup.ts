/** Removes what the sync of a tenant wrote, from a place that it does not write to any more. */
import type { KubeObject } from '../apimachinery/object.ts';
import { hasReason } from '../kubeclient/api-failure.ts';
import type { KubeClient } from '../kubeclient/kube-client.ts';
import { isWhereItWasPut, MARKS, sourceOf } from './marks.ts';

export interface CleanupOptions {
  readonly client: Pick<KubeClient, 'list' | 'delete'>;
  readonly tenant: string;
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  /** What belongs there all the same. */
  keeps(object: KubeObject): boolean;
}

const AT_ONCE = 8;

/**
 * The number of objects that are gone now. What somebody took the marks from, or copied, stays, and
 * so do namespaces: others may have put something into them. Throws ApiFailure.
 */
export async function removeSynced(options: CleanupOptions): Promise<number> {
  const { client, tenant, namespace, keeps } = options;
  const labelSelector = `${MARKS.managedBy}=${tenant}`;
  const { items } = await client.list({ plural: 'endpoints', namespace, labelSelector });
  const ours = items.filter(
    (object) => sourceOf(object, tenant) !== undefined && isWhereItWasPut(object) && !keeps(object),
  );
  const left = [...ours];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      await remove(client, next);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return ours.length;
}

async function remove(client: Pick<KubeClient, 'delete'>, object: KubeObject): Promise<void> {
  const { name = '', namespace } = object.metadata;
  try {
    await client.delete({ plural: 'endpoints', namespace, name }, object);
  } catch (error) {
    if (!hasReason(error, 'NotFound')) throw error;
  }
}
