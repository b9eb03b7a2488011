/**
 * Events as engine records, one record per batch, for stores that follow this one from another
 * process. A record lists type, key and version in order. The objects are in their own records of
 * the same batch; an object that the batch changed again follows the list.
 */

import { keyString, type ObjectKey } from '../../apimachinery/index.ts';
import { Sequence } from '../../concurrency/index.ts';
import type { EngineWrite } from '../engines/engine.ts';
import type { ObjectHandle } from '../objects/object-handle.ts';
import type { RecordCodec } from '../records/codec.ts';
import { encodeObject } from '../records/record.ts';
import type { EventType, JournalEvent } from '../store.ts';
import type { JournalWindow } from './journal.ts';

export const EVENT_PREFIX = 'e/';
/** Padding, so that keys sort as versions do. */
const DIGITS = 16;

/** `version`: that of the first event. */
export function eventRecordKey(version: number): string {
  return EVENT_PREFIX + String(version).padStart(DIGITS, '0');
}

export interface RecordedEvent {
  readonly type: EventType;
  readonly key: ObjectKey;
  readonly version: number;
  /**
   * The object as a record; undefined for a removal, and where the batch has its own record of it.
   */
  readonly object: Buffer | undefined;
}

type Line = readonly [
  type: EventType,
  group: string,
  kind: string,
  namespace: string,
  name: string,
  version: number,
  /** Bytes of the object after the list. */
  bytes: number,
];

const LF = 0x0a;

type OwnEvent = JournalEvent & { readonly current: ObjectHandle };

/** The record of a batch. `events` must not be empty. */
export function eventsWrite(codec: RecordCodec, events: readonly OwnEvent[]): EngineWrite {
  const key = eventRecordKey(events[0]?.resourceVersion ?? 0);
  const passing = new Set(superseded(events).filter(({ type }) => type !== 'DELETED'));
  const secret = [...passing].some(({ current }) => codec.isSecret(current.key));
  return { key, value: () => codec.encode(key, encodeEvents(events, passing), secret) };
}

/** Events whose object the same batch changed again. */
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

/** Throws for an invalid record. */
export function decodeEvents(record: Buffer): RecordedEvent[] {
  const end = record.indexOf(LF);
  let at = end + 1;
  const lines: Line[] = JSON.parse(record.toString('utf8', 0, end));
  return lines.map(([type, group, kind, namespace, name, version, bytes]) => {
    const object = bytes === 0 ? undefined : record.subarray(at, at + bytes);
    at += bytes;
    return { type, key: { group, kind, namespace, name }, version, object };
  });
}

/** An event record in the engine. */
export interface SavedEvents {
  readonly key: string;
  /** Number of events in the record. */
  readonly count: number;
}

interface PersistedRecord extends SavedEvents {
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Removals per batch: more than one, to catch up; few, to keep a batch small. */
const MAX_REMOVALS = 16;

/** The event records in the engine, and when to remove them. */
export class PersistedEvents {
  readonly #window: JournalWindow;
  readonly #records = new Sequence<PersistedRecord>();
  /** Events in all records. Not computable from versions, since some versions have no event. */
  #count = 0;

  /** `saved`: records of an earlier run, in order; their age counts from now. */
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

  /** Removes records outside the window, oldest first. */
  trim(now: number): EngineWrite[] {
    const { keepEvents, keepMs, maxEvents } = this.#window;
    const gone: EngineWrite[] = [];
    while (gone.length < MAX_REMOVALS) {
      const oldest = this.#records.at(this.#records.first);
      // A follower that starts now begins at the newest record.
      if (oldest === undefined || this.#records.end - this.#records.first === 1) break;
      const stale = this.#count - oldest.count >= keepEvents && now - oldest.at > keepMs;
      if (!stale && this.#count <= maxEvents) break;
      this.#records.shift();
      this.#count -= oldest.count;
      gone.push({ key: oldest.key, value: undefined });
    }
    return gone;
  }

  #push(kept: PersistedRecord): void {
    this.#records.push(kept);
    this.#count += kept.count;
  }
}
