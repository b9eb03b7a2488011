/**
 * Removes terminating objects after their grace period, when they have no finalizers.
 * Level-triggered: each round reads the present objects, so a missed round only causes a delay.
 */
import { type Clock, keyString, type ObjectKey } from '../apimachinery/index.ts';
import type { KindTable } from '../kinds/index.ts';
import { type Branch, isFinished } from '../registry/index.ts';
import type { JournalEvent, Store } from '../state/index.ts';

/** Longest delay of a timer; a later deadline is checked again then. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

export interface DeletionOptions {
  readonly store: Store;
  readonly kinds: KindTable;
  readonly branch: Pick<Branch, 'submit'>;
  readonly clock: Clock;
  onError(error: unknown): void;
}

/** Returns a function that stops it. */
export function startDeletion(options: DeletionOptions): () => void {
  const timers = new Map<string, NodeJS.Timeout>();
  const cancel = (id: string): void => {
    clearTimeout(timers.get(id));
    timers.delete(id);
  };
  const schedule = ({ type, current }: Pick<JournalEvent, 'type' | 'current'>): void => {
    const id = keyString(current.key);
    cancel(id);
    if (type === 'DELETED' || !current.terminating) return;
    const deadline = current.object.metadata.deletionTimestamp ?? '';
    if ((current.object.metadata.finalizers ?? []).length > 0) return;
    const remaining = Math.max(Date.parse(deadline) - options.clock.now(), 0);
    const wake = (): void => {
      if (remaining > LONGEST_DELAY_MS) schedule({ type: 'MODIFIED', current });
      else void finish(options, current.key).catch(options.onError);
    };
    timers.set(id, setTimeout(wake, Math.min(remaining, LONGEST_DELAY_MS)).unref());
  };
  const stops = options.kinds.kinds.map((kind) => {
    const collection = { group: kind.group, kind: kind.kind };
    for (const current of options.store.list(collection).items) {
      if (current.terminating) schedule({ type: 'ADDED', current });
    }
    return options.store.observe(collection, schedule);
  });
  return () => {
    for (const stop of stops) stop();
    for (const id of [...timers.keys()]) cancel(id);
  };
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
