/**
 * Hand-over of the lead without the waiting time of `read-lease.ts`. A leader that gives up its
 * term answers no read-index requests from then on, and writes a key in the transaction that ends
 * the term. It writes the key only when no earlier leader can answer either: it was ready, so its
 * own waiting time was over.
 *
 * A leader answers from its own knowledge only after it has moved the head of the state. So the key
 * is valid for all earlier leaders if that head has not moved since. This also holds beside
 * replicas of a version that does not know the key.
 */
import type { Etcd } from '../etcd/index.ts';
import { Layout } from '../state/index.ts';
import type { Keys } from './keys.ts';

/** Called in a new term, before its leader opens the state. */
export async function isHandedOver(
  etcd: Pick<Etcd, 'range'>,
  keys: Pick<Keys, 'handedOver' | 'platformState'>,
): Promise<boolean> {
  const { head } = new Layout(keys.platformState);
  const revisionOf = async (key: string): Promise<bigint> =>
    (await etcd.range({ key, keysOnly: true })).kvs[0]?.modRevision ?? 0n;
  const [givenBack, moved] = await Promise.all([revisionOf(keys.handedOver), revisionOf(head)]);
  return givenBack > moved;
}
