/** What a leader can say about how new the records are: it alone writes them. */
import type { ReadLease } from '../../replication/index.ts';
import type { Writer } from '../../state/index.ts';

export function leaderWriter(of: {
  readonly lease: Pick<ReadLease, 'isValid' | 'confirm'>;
  /** Of the state; undefined: there is none yet. */
  readonly seen: () => bigint | Promise<bigint> | undefined;
}): Writer {
  const { lease, seen } = of;
  return {
    known: () => {
      const revision = seen();
      return typeof revision === 'bigint' && lease.isValid() ? revision : undefined;
    },
    ask: async () => {
      try {
        // Both are of a moment after the question.
        const revision = seen();
        const isSure = lease.isValid() || (await lease.confirm());
        return isSure ? await revision : undefined;
      } catch {
        return undefined;
      }
    },
  };
}
