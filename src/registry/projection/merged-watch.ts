/** Several watches merged into one, in the order of the journal. */
import type { JournalEvent, Watch } from '../../state/index.ts';

export interface WatchSource {
  readonly watch: Watch;
  /** Events for the reader; empty for most events of the source. */
  translate(event: JournalEvent): readonly JournalEvent[];
}

interface Slot {
  readonly source: WatchSource;
  readonly events: AsyncIterator<JournalEvent>;
  pending: Promise<void> | undefined;
  head: JournalEvent | undefined;
}

/**
 * The journal is a single sequence: all events before a received event were received too. So the
 * earliest received event is the next one. Waits take at most one tick of the microtask queue, so
 * that timers still see every event that happened before them.
 */
export function mergeWatches(sources: readonly WatchSource[]): Watch {
  const close = (): void => {
    for (const { watch } of sources) watch.close();
  };
  return {
    events: () => merged(sources, close),
    get dropped(): boolean {
      return sources.some(({ watch }) => watch.dropped);
    },
    close,
    [Symbol.asyncDispose]: async () => close(),
  };
}

async function* merged(
  sources: readonly WatchSource[],
  close: () => void,
): AsyncGenerator<JournalEvent, undefined> {
  const ended = { yet: false };
  const slots = sources.map((source): Slot => {
    const events = source.watch.events();
    return { source, events, pending: undefined, head: undefined };
  });
  try {
    while (!ended.yet) {
      for (const slot of slots) ask(slot, ended);
      await Promise.resolve();
      const next = earliest(slots);
      if (next?.head === undefined) {
        await Promise.race(slots.map(({ pending }) => pending));
        continue;
      }
      const { head } = next;
      next.head = undefined;
      yield* next.source.translate(head);
    }
  } finally {
    close();
  }
  return undefined;
}

function ask(slot: Slot, ended: { yet: boolean }): void {
  if (slot.head !== undefined || slot.pending !== undefined) return;
  slot.pending = slot.events.next().then((result) => {
    slot.pending = undefined;
    if (result.done === true) ended.yet = true;
    else slot.head = result.value;
  });
}

function earliest(slots: readonly Slot[]): Slot | undefined {
  return slots
    .filter(({ head }) => head !== undefined)
    .reduce<Slot | undefined>((first, slot) => {
      const version = slot.head?.resourceVersion ?? 0;
      return first === undefined || version < (first.head?.resourceVersion ?? 0) ? slot : first;
    }, undefined);
}
