/** Transactions in the words of this folder. */
import type { Compare, Etcd, KeyValue, Operation } from '../etcd/index.ts';
import { TermEndedError } from './term.ts';

export interface Transacted {
  readonly succeeded: boolean;
  readonly revision: bigint;
  /** What was looked at because it did not succeed. */
  readonly found: readonly KeyValue[];
}

/** Does all of it, if all of that is so; `look`: the key to read where it is not. */
export async function transact(
  etcd: Pick<Etcd, 'txn'>,
  compare: readonly Compare[],
  operations: readonly Operation[],
  look?: string,
): Promise<Transacted> {
  const { succeeded, revision, ranges } = await etcd.txn({
    compare,
    operations,
    ...(look === undefined ? {} : { otherwise: [{ range: { key: look } }] }),
  });
  return { succeeded, revision, found: succeeded ? [] : (ranges[0]?.kvs ?? []) };
}

/** Throws TermEndedError, with nothing done, when the fence does not hold. */
export async function transactInTerm(
  etcd: Pick<Etcd, 'txn'>,
  fence: readonly Compare[],
  operations: readonly Operation[],
): Promise<bigint> {
  const { succeeded, revision } = await transact(etcd, fence, operations);
  if (!succeeded) throw new TermEndedError();
  return revision;
}
