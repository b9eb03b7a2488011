/** Transactions of this folder. */
import type { Compare, Etcd, KeyValue, Operation } from '../etcd/index.ts';
import { TermEndedError } from './term.ts';

export interface Transacted {
  readonly succeeded: boolean;
  readonly revision: bigint;
  /** Entries of the `otherwise` key, if the transaction failed. */
  readonly found: readonly KeyValue[];
}

/** Applies all operations if all comparisons hold; `otherwise`: the key to read if not. */
export async function transact(
  etcd: Pick<Etcd, 'txn'>,
  compare: readonly Compare[],
  operations: readonly Operation[],
  otherwise?: string,
): Promise<Transacted> {
  const { succeeded, revision, ranges } = await etcd.txn({
    compare,
    operations,
    ...(otherwise === undefined ? {} : { otherwise: [{ range: { key: otherwise } }] }),
  });
  return { succeeded, revision, found: succeeded ? [] : (ranges[0]?.kvs ?? []) };
}

/** Throws TermEndedError, without any change, when the fence does not hold. */
export async function transactInTerm(
  etcd: Pick<Etcd, 'txn'>,
  fence: readonly Compare[],
  operations: readonly Operation[],
): Promise<bigint> {
  const { succeeded, revision } = await transact(etcd, fence, operations);
  if (!succeeded) throw new TermEndedError();
  return revision;
}
