/** Compacts old revisions of etcd periodically: without that, etcd grows up to its quota. */
import type { Etcd } from './etcd.ts';

export interface CompactionOptions {
  readonly etcd: Pick<Etcd, 'range' | 'compact'>;
  /** Any key that the user may read. */
  readonly key: string;
  /** Interval in milliseconds. Younger revisions are kept; those of twice this age are compacted. */
  readonly every: number;
  readonly onError: (error: unknown) => void;
}

/** Returns a function that stops the timer. */
export function compactPeriodically({ etcd, key, every, onError }: CompactionOptions): () => void {
  let before: bigint | undefined;
  const compact = async (): Promise<void> => {
    const { revision } = await etcd.range({ key, keysOnly: true });
    const target = before;
    before = revision;
    if (target !== undefined && target < revision) await etcd.compact(target);
  };
  compact().catch(onError);
  const timer = setInterval(() => void compact().catch(onError), every).unref();
  return () => clearInterval(timer);
}
