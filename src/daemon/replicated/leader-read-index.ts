/** Read index at the leader, which alone writes the records. */
import type { ReadLease } from '../../replication/index.ts';
import type { Writer } from '../../state/index.ts';

export function leaderWriter(of: {
  readonly lease: Pick<ReadLease, 'isValid' | 'confirm'>;
  /** Last revision that the state has seen; undefined: the state is not open yet. */
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
        // Both values must be from after the call.
        const revision = seen();
        const isSure = lease.isValid() || (await lease.confirm());
        return isSure ? await revision : undefined;
      } catch {
        return undefined;
      }
    },
  };
}
