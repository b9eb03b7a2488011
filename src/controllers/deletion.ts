/**
 * Removes terminating objects after their grace period, when they have no finalizers.
 * Level-triggered: each round reads the present objects, so a missed round only causes a delay.
 */
import { type Clock, keyString, type ObjectKey, parseKey } from '../apimachinery/index.ts';
import { WorkQueue } from '../concurrency/index.ts';
import type { KindTable } from '../kinds/index.ts';
import { type Branch, isFinished } from '../registry/index.ts';
import type { JournalEvent, Store } from '../state/index.ts';

/** A write that failed is tried again: the branch may take it then. */
const BACKOFF = { firstMs: 1000, lastMs: 60_000 };

export interface DeletionOptions {
  readonly store: Store;
  readonly kinds: KindTable;
  readonly branch: Pick<Branch, 'submit'>;
  readonly clock: Clock;
  onError(error: unknown): void;
}

/** Returns the function that stops it. */
export function startDeletion(options: DeletionOptions): () => void {
  const queue = new WorkQueue({
    reconcile: (id) => reconcile(options, parseKey(id)),
    // The write queue joins removals into one commit.
    workers: Number.POSITIVE_INFINITY,
    backoff: BACKOFF,
  });
  const enqueue = ({ type, current }: Pick<JournalEvent, 'type' | 'current'>): void => {
    // After the commit that this event is of.
    if (type !== 'DELETED' && current.terminating) queue.addLater(keyString(current.key), 0);
  };
  const stops = options.kinds.kinds.map((kind) => {
    const collection = { group: kind.group, kind: kind.kind };
    for (const current of options.store.list(collection).items) {
      enqueue({ type: 'ADDED', current });
    }
    return options.store.observe(collection, enqueue);
  });
  return () => {
    for (const stop of stops) stop();
    void queue.stop();
  };
}

/** Resolves to the rest of the grace period. */
async function reconcile(options: DeletionOptions, key: ObjectKey): Promise<number | undefined> {
  const found = options.store.get(key);
  if (found?.terminating !== true) return undefined;
  const { deletionTimestamp = '', finalizers = [] } = found.object.metadata;
  if (finalizers.length > 0) return undefined;
  const remaining = Date.parse(deletionTimestamp) - options.clock.now();
  if (remaining > 0) return remaining;
  try {
    await finish(options, key);
  } catch (error) {
    options.onError(error);
    throw error;
  }
  return undefined;
}

async function finish(options: DeletionOptions, key: ObjectKey): Promise<void> {
  await options.branch.submit({
    key,
    prepare: () => {
      const found = options.store.get(key);
      const due = found !== undefined && isFinished(found.object, options.clock.now());
      return due ? { do: 'state', changes: [{ type: 'remove', key }] } : { do: 'nothing' };
    },
  });
}
