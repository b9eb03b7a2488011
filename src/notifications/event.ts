/** A notification, and its form as a CloudEvent. */
import { isRecord, type JsonObject, rfc3339 } from '../apimachinery/index.ts';
import type { Delivery } from '../outbox/index.ts';

const EVENT_TYPES = ['Held', 'Degraded', 'StoreOutOfStep', 'KeyExpired', 'Applied'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Something that a notification is about. */
export type EventItem = {
  /** As in `Team "payments"`. */
  readonly subject: string;
  readonly message: string;
};

export type NotificationEvent = {
  readonly type: EventType;
  /** `Resolved`: it is no longer so. */
  readonly phase: 'Raised' | 'Resolved';
  /** The first ones. */
  readonly items: readonly EventItem[];
  /** Number of all. */
  readonly count: number;
};

export const MOST_ITEMS = 20;
const LONGEST_MESSAGE = 500;

export function eventOf(
  type: EventType,
  phase: NotificationEvent['phase'],
  items: readonly EventItem[],
): NotificationEvent {
  const shown = items.slice(0, MOST_ITEMS).map(({ subject, message }) => ({
    subject: cut(subject),
    message: cut(message),
  }));
  return { type, phase, items: shown, count: items.length };
}

/** Undefined: another version wrote it in another form. */
export function readEvent(value: unknown): NotificationEvent | undefined {
  if (!isRecord(value)) return undefined;
  const type = EVENT_TYPES.find((one) => one === value['type']);
  const { items, count } = value;
  if (type === undefined || typeof count !== 'number' || !Array.isArray(items)) return undefined;
  const phase = value['phase'] === 'Resolved' ? 'Resolved' : 'Raised';
  return {
    type,
    phase,
    count,
    items: items.filter(isRecord).map(({ subject, message }) => ({
      subject: String(subject),
      message: String(message),
    })),
  };
}

/** CloudEvents 1.0 in structured mode. `source`: URL of the platform. */
export function cloudEvent(
  { id, created }: Pick<Delivery, 'id' | 'created'>,
  { type, phase, items, count }: NotificationEvent,
  source: string,
): JsonObject {
  const name = type.replace(/(?<!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
  return {
    specversion: '1.0',
    id,
    source,
    type: `dev.gitplane.${name}.${phase.toLowerCase()}`,
    time: rfc3339(created),
    datacontenttype: 'application/json',
    data: { type, phase, count, items: items.map((item) => ({ ...item })) },
  };
}

const TITLES: Readonly<Record<EventType, readonly [raised: string, resolved: string]>> = {
  Held: ['The branch is held', 'The branch is released'],
  Degraded: ['Manifests are not valid', 'Manifests are valid again'],
  StoreOutOfStep: ['Secrets differ from their store', 'Secrets agree with their store again'],
  KeyExpired: ['Access keys expired', 'Expired access keys are gone or extended'],
  Applied: ['A revision is applied', 'A revision is applied'],
};

export function titleOf({ type, phase }: NotificationEvent): string {
  return TITLES[type][phase === 'Raised' ? 0 : 1];
}

/** One line per item. */
export function linesOf({ items, count }: NotificationEvent): string[] {
  const lines = items.map(({ subject, message }) =>
    message === '' ? subject : `${subject}: ${message}`,
  );
  const rest = count - items.length;
  return rest > 0 ? [...lines, `… and ${rest} more`] : lines;
}

function cut(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= LONGEST_MESSAGE ? line : `${line.slice(0, LONGEST_MESSAGE - 1)}…`;
}
