/** The current entries below a key of etcd, and every later change. */
import { setTimeout as sleep } from 'node:timers/promises';
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

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

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
    let wait = 0;
    while (!closing.signal.aborted) {
      try {
        await once(() => {
          wait = 0;
        });
      } catch (error) {
        if (closing.signal.aborted) return;
        if (!(error instanceof CompactedRevisionError)) {
          if (wait === 0) listener.failed?.(error);
          wait = Math.min(Math.max(FIRST_RETRY_MS, wait * 2), LAST_RETRY_MS);
          await sleep(wait, undefined, { signal: closing.signal }).catch(() => undefined);
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
