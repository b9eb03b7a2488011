/**
 * What happened, as records of the engine: one a batch of changes, for stores that follow this one
 * from afar. It says which event was which version, in order; the objects are in their own records
 * of the same batch, or beside the events where the batch itself changed them again.
 */
import { keyString, type ObjectKey } from '../../apimachinery/index.ts';
import type { EngineWrite } from '../engines/engine.ts';
import type { HeldObject } from '../objects/held-object.ts';
import type { RecordCodec } from '../records/codec.ts';
import { encodeObject } from '../records/record.ts';
import type { EventType, JournalEvent } from '../store.ts';
import type { JournalWindow } from './journal.ts';
import { Sequence } from './sequence.ts';

export const EVENT_PREFIX = 'e/';
/** Versions sort as their keys do. */
const DIGITS = 16;

/** `version` is that of the first event. */
export function eventRecordKey(version: number): string {
  return EVENT_PREFIX + String(version).padStart(DIGITS, '0');
}

export interface RecordedEvent {
  readonly type: EventType;
  readonly key: ObjectKey;
  readonly version: number;
  /** The object as a record; undefined where the batch has its own record, or it was removed. */
  readonly object: Buffer | undefined;
}

type Line = readonly [
  type: EventType,
  group: string,
  kind: string,
  namespace: string,
  name: string,
  version: number,
  /** Bytes of the object behind the lines. */
  bytes: number,
];

const LF = 0x0a;

type OwnEvent = JournalEvent & { readonly current: HeldObject };

/** The record of a batch. `events` are not empty. */
export function eventsWrite(codec: RecordCodec, events: readonly OwnEvent[]): EngineWrite {
  const key = eventRecordKey(events[0]?.resourceVersion ?? 0);
  const passing = new Set(superseded(events).filter(({ type }) => type !== 'DELETED'));
  const secret = [...passing].some(({ current }) => codec.isSecret(current.key));
  return { key, value: () => codec.encode(key, encodeEvents(events, passing), secret) };
}

/** Those whose object the same batch changed again. */
export function superseded(events: readonly OwnEvent[]): OwnEvent[] {
  if (events.length < 2) return [];
  const later = new Set<string>();
  const found: OwnEvent[] = [];
  for (const event of events.toReversed()) {
    const id = keyString(event.current.key);
    if (later.has(id)) found.push(event);
    later.add(id);
  }
  return found;
}

function encodeEvents(events: readonly OwnEvent[], passing: ReadonlySet<OwnEvent>): Buffer {
  const objects: Buffer[] = [];
  const lines = events.map((event): Line => {
    const { type, resourceVersion, current } = event;
    const { group, kind, namespace, name } = current.key;
    const object = passing.has(event) ? encodeObject(current) : undefined;
    if (object !== undefined) objects.push(object);
    return [type, group, kind, namespace, name, resourceVersion, object?.length ?? 0];
  });
  return Buffer.concat([Buffer.from(`${JSON.stringify(lines)}\n`), ...objects]);
}

/** Throws for what is no such record. */
export function decodeEvents(record: Buffer): RecordedEvent[] {
  const end = record.indexOf(LF);
  let at = end + 1;
  const lines = JSON.parse(record.toString('utf8', 0, end)) as Line[];
  return lines.map(([type, group, kind, namespace, name, version, bytes]) => {
    const object = bytes === 0 ? undefined : record.subarray(at, at + bytes);
    at += bytes;
    return { type, key: { group, kind, namespace, name }, version, object };
  });
}

/** A record of events that is there. */
export interface SavedEvents {
  readonly key: string;
  /** How many events are in it. */
  readonly count: number;
}

interface Kept extends SavedEvents {
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Removals that go along with a batch: more than one, to catch up; few, to keep it small. */
const MOST_AT_ONCE = 16;

/** Which of the records are there, and when they go. */
export class PersistedEvents {
  readonly #window: JournalWindow;
  readonly #kept = new Sequence<Kept>();
  /** Events in all of them. Versions do not tell: some were given to nothing that is there. */
  #count = 0;

  /** `saved`: those of a former run, in order, which count as of now. */
  constructor(window: JournalWindow, saved: readonly SavedEvents[], now: number) {
    this.#window = window;
    for (const { key, count } of saved) this.#push({ key, count, at: now });
  }

  add(events: readonly JournalEvent[], now: number): void {
    const [first] = events;
    if (first === undefined) return;
    const key = eventRecordKey(first.resourceVersion);
    this.#push({ key, count: events.length, at: now });
  }

  /** Removes what is beyond the window, the oldest first. */
  trim(now: number): EngineWrite[] {
    const { keepEvents, keepMs, maxEvents } = this.#window;
    const gone: EngineWrite[] = [];
    while (gone.length < MOST_AT_ONCE) {
      const oldest = this.#kept.at(this.#kept.first);
      // The newest record says where a store that begins now can begin.
      if (oldest === undefined || this.#kept.end - this.#kept.first === 1) break;
      const stale = this.#count - oldest.count >= keepEvents && now - oldest.at > keepMs;
      if (!stale && this.#count <= maxEvents) break;
      this.#kept.shift();
      this.#count -= oldest.count;
      gone.push({ key: oldest.key, value: undefined });
    }
    return gone;
  }

  #push(kept: Kept): void {
    this.#kept.push(kept);
    this.#count += kept.count;
  }
}
