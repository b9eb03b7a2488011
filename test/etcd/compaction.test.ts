import { describe, expect, test, vi } from 'vitest';
import { compactPeriodically } from '../../src/etcd/compaction.ts';

describe('compaction', () => {
  test('compacts revisions older than one to two periods, and continues after a failure', async () => {
    vi.useFakeTimers();
    try {
      let revision = 10n;
      let fails = false;
      const compacted: bigint[] = [];
      const failures: unknown[] = [];
      const stop = compactPeriodically({
        etcd: {
          range: async () => {
            if (fails) throw new Error('away');
            return { revision, kvs: [], more: false, count: 0 };
          },
          compact: async (wanted) => void compacted.push(wanted),
        },
        key: 'k',
        every: 1000,
        onError: (error) => failures.push(error),
      });
      await vi.advanceTimersByTimeAsync(999);
      expect(compacted).toEqual([]);
      revision = 20n;
      await vi.advanceTimersByTimeAsync(1);
      expect(compacted).toEqual([10n]);
      await vi.advanceTimersByTimeAsync(1000);
      expect(compacted).toEqual([10n]);
      fails = true;
      await vi.advanceTimersByTimeAsync(1000);
      expect(failures).toHaveLength(1);
      fails = false;
      revision = 30n;
      await vi.advanceTimersByTimeAsync(1000);
      expect(compacted).toEqual([10n, 20n]);
      stop();
      await vi.advanceTimersByTimeAsync(5000);
      expect(compacted).toEqual([10n, 20n]);
    } finally {
      vi.useRealTimers();
    }
  });
});
