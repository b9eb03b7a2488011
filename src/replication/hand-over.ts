/**
 * Hand-over of the lead without the silence of `read-lease.ts`. A leader that gives its term back says
 * nothing of what is newest from then on, and leaves a key in the transaction that ends the term. It
 * leaves that key only when no leader before it can answer either: when it was ready, its own silence
 * was over.
 *
 * A leader answers from what it knows only after it has moved the head of the state. So the key speaks
 * for all leaders before as long as that head was not moved since. This also holds beside replicas of
 * a version that does not know the key.
 */
import type { Etcd } from '../etcd/index.ts';
import { Layout } from '../state/index.ts';
import type { Keys } from './keys.ts';

/** To be asked in a new term, before its leader opens the state. */
export async function isHandedOver(
  etcd: Pick<Etcd, 'range'>,
  keys: Pick<Keys, 'handedOver' | 'platformState'>,
): Promise<boolean> {
  const { head } = new Layout(keys.platformState);
  const look = async (key: string): Promise<bigint> =>
    (await etcd.range({ key, keysOnly: true })).kvs[0]?.modRevision ?? 0n;
  const [givenBack, moved] = await Promise.all([look(keys.handedOver), look(head)]);
  return givenBack > moved;
}
