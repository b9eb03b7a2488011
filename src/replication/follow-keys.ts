/** The current entries below a key of etcd, and every later change. */
import { backoffBound, pause } from '../concurrency/index.ts';
import {
  CompactedRevisionError,
  type Etcd,
  type EtcdWatch,
  type KeyValue,
  type WatchEvent,
} from '../etcd/index.ts';

export interface KeyListener {
  /** All entries at a revision; replaces everything before. */
  reset(kvs: readonly KeyValue[], revision: bigint): void;
  changed(event: WatchEvent): void;
  /** Called when etcd stops answering, once per outage; the follower retries. */
  failed?(error: unknown): void;
}

export interface KeyFollower {
  close(): Promise<void>;
}

const BACKOFF = { firstMs: 100, lastMs: 2_000 };

/** Retries until it is closed. A listener must not throw. */
export function followKeys(
  etcd: Pick<Etcd, 'range' | 'watch'>,
  what: { readonly key: string; readonly prefix?: boolean },
  listener: KeyListener,
): KeyFollower {
  const closing = new AbortController();
  let watch: EtcdWatch | undefined;
  const once = async (works: () => void): Promise<void> => {
    const { kvs, revision } = await etcd.range(what);
    if (closing.signal.aborted) return;
    listener.reset(kvs, revision);
    works();
    watch = etcd.watch({ ...what, from: revision + 1n });
    for await (const { events } of watch) {
      for (const event of events) listener.changed(event);
    }
  };
  const run = async (): Promise<void> => {
    let failures = 0;
    while (!closing.signal.aborted) {
      try {
        await once(() => {
          failures = 0;
        });
      } catch (error) {
        if (closing.signal.aborted) return;
        if (!(error instanceof CompactedRevisionError)) {
          if (++failures === 1) listener.failed?.(error);
          await pause(backoffBound(failures, BACKOFF), closing.signal);
        }
      }
    }
  };
  const running = run();
  return {
    close: async () => {
      closing.abort();
      watch?.close();
      await running;
    },
  };
}
