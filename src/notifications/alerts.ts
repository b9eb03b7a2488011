/**
 * Finds out what is to be announced: the difference between the alerts that are there and those that
 * were announced. The announced ones are documents of the state, and change in one step with the queue.
 */
import { isRecord, type JsonObject } from '../apimachinery/index.ts';
import type { NewDelivery } from '../outbox/index.ts';
import type { Store } from '../state/index.ts';
import { type EventItem, type EventType, eventOf, type NotificationEvent } from './event.ts';

/** Something that is wrong now. */
export interface Alert extends EventItem {
  readonly type: EventType;
  /** Unique among the alerts, as in `Degraded Team payments`. */
  readonly id: string;
}

/** A receiver in the configuration. */
export interface Receiver {
  readonly name: string;
  /** Absent: all but `Applied`. */
  readonly events?: readonly EventType[] | undefined;
}

export interface AlertsParts {
  readonly store: Pick<Store, 'documents'>;
  readonly outbox: {
    enqueue(
      deliveries: readonly NewDelivery[],
      documents: Readonly<Record<string, JsonObject | undefined>>,
    ): Promise<void>;
  };
}

const PREFIX = 'alert:';
export const NOTIFICATION = 'notification/';

export class Alerts {
  readonly #parts: AlertsParts;
  readonly #announced = new Map<string, Alert>();

  constructor(parts: AlertsParts) {
    this.#parts = parts;
    for (const [name, document] of parts.store.documents(PREFIX)) {
      const alert = readAlert(name.slice(PREFIX.length), document);
      if (alert !== undefined) this.#announced.set(alert.id, alert);
    }
  }

  /**
   * Enqueues a notification for each type of alert that came or went since the last call. A changed
   * message announces nothing. `further`: events without an end, with their records.
   */
  async announce(
    present: ReadonlyMap<string, Alert>,
    receivers: readonly Receiver[],
    further: {
      readonly events: readonly NotificationEvent[];
      readonly documents: Readonly<Record<string, JsonObject | undefined>>;
    } = { events: [], documents: {} },
  ): Promise<void> {
    const raised = [...present.values()].filter(({ id }) => !this.#announced.has(id));
    const resolved = [...this.#announced.values()].filter(({ id }) => !present.has(id));
    const events = [
      ...grouped(raised).map(([type, items]) => eventOf(type, 'Raised', items)),
      ...grouped(resolved).map(([type, items]) => eventOf(type, 'Resolved', items)),
      ...further.events,
    ];
    const documents: Record<string, JsonObject | undefined> = { ...further.documents };
    for (const { id, type, subject, message } of raised) {
      documents[PREFIX + id] = { type, subject, message };
    }
    for (const { id } of resolved) documents[PREFIX + id] = undefined;
    if (Object.keys(documents).length === 0 && events.length === 0) return;
    await this.#parts.outbox.enqueue(deliveries(events, receivers), documents);
    for (const alert of raised) this.#announced.set(alert.id, alert);
    for (const { id } of resolved) this.#announced.delete(id);
  }
}

function deliveries(
  events: readonly NotificationEvent[],
  receivers: readonly Receiver[],
): NewDelivery[] {
  return receivers.flatMap(({ name, events: wanted }) =>
    events
      .filter(({ type }) => wanted?.includes(type) ?? type !== 'Applied')
      .map((event) => ({
        destination: NOTIFICATION + name,
        payload: { event: { ...event, items: event.items.map((item) => ({ ...item })) } },
      })),
  );
}

function grouped(alerts: readonly Alert[]): [EventType, Alert[]][] {
  const types = new Map<EventType, Alert[]>();
  for (const alert of alerts) {
    const others = types.get(alert.type);
    if (others === undefined) types.set(alert.type, [alert]);
    else others.push(alert);
  }
  return [...types];
}

function readAlert(id: string, document: JsonObject): Alert | undefined {
  if (!isRecord(document)) return undefined;
  const { type, subject, message } = document;
  const known = (['Held', 'Degraded', 'StoreOutOfStep', 'KeyExpired'] as const).find(
    (one) => one === type,
  );
  if (known === undefined) return undefined;
  return { id, type: known, subject: String(subject), message: String(message) };
}
