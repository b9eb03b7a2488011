/**
 * Reports changed conditions as events: a manifest became invalid, a configuration took effect, a
 * derived secret lost its source. The sync with a secret store has its own events.
 */
import type { Clock, Condition, EventSink } from '../apimachinery/index.ts';
import { type Kind, type KindTable, storeLinkOf } from '../kinds/index.ts';
import { conditionsOf } from '../registry/index.ts';
import type { JournalEvent, Store, StoredObject } from '../state/index.ts';

export interface ConditionEventsOptions {
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'observe'>;
  readonly events: EventSink;
  readonly clock: Clock;
}

/** Returns a function that stops it. */
export function startConditionEvents(options: ConditionEventsOptions): () => void {
  const stops = options.kinds.kinds
    .filter(({ storedIn }) => storedIn === 'git' || storedIn === 'file')
    .map((kind) => {
      const { group, kind: name } = kind;
      return options.store.observe({ group, kind: name }, (event) =>
        reportEvents(options, kind, event),
      );
    });
  return () => {
    for (const stop of stops) stop();
  };
}

const COMPONENT = 'gitplane-repository';

function reportEvents(
  { events, clock }: ConditionEventsOptions,
  kind: Kind,
  event: JournalEvent,
): void {
  const { type, current, previous } = event;
  if (type === 'DELETED') return;
  const before = conditionsIn(previous);
  const conditions = conditionsIn(current);
  if (conditions.length === 0) return;
  const hasStoreLink = storeLinkOf(kind, current.object) !== undefined;
  for (const condition of conditions) {
    const { reason = condition.type, message = '', severity } = condition;
    if (hasStoreLink && OF_STORE.includes(condition.type)) continue;
    if (before.some((one) => isSame(one, condition))) continue;
    const isBad = severity === 'Error' || severity === 'Warning';
    const what = { reason, message, type: isBad ? 'Warning' : 'Normal' } as const;
    const { uid = '' } = current.object.metadata;
    events.record({ key: current.key, uid, ...what, time: clock.now(), component: COMPONENT });
  }
}

const OF_STORE: readonly string[] = ['Synced', 'Stale'];

/** Most objects have no conditions and are not parsed. */
const MARK = Buffer.from('"conditions":[');

function conditionsIn(stored: StoredObject | undefined): readonly Condition[] {
  if (stored?.json().includes(MARK) !== true) return [];
  return conditionsOf(stored.object.status);
}

function isSame(one: Condition, other: Condition): boolean {
  return (
    one.type === other.type &&
    one.status === other.status &&
    one.reason === other.reason &&
    one.message === other.message
  );
}
