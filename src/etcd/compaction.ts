/** Forgets the past of etcd as time goes by: without that it grows until its quota is used up. */
import type { Etcd } from './etcd.ts';

export interface CompactionOptions {
  readonly etcd: Pick<Etcd, 'range' | 'compact'>;
  /** Any key that may be read. */
  readonly key: string;
  /** Milliseconds: what is younger is never forgotten, and what is twice as old always is. */
  readonly every: number;
  readonly onError: (error: unknown) => void;
}

/** Returns the way to stop. */
export function compactPeriodically({ etcd, key, every, onError }: CompactionOptions): () => void {
  let before: bigint | undefined;
  const compact = async (): Promise<void> => {
    const { revision } = await etcd.range({ key, keysOnly: true });
    const wanted = before;
    before = revision;
    if (wanted !== undefined && wanted < revision) await etcd.compact(wanted);
  };
  compact().catch(onError);
  const timer = setInterval(() => void compact().catch(onError), every).unref();
  return () => clearInterval(timer);
}
