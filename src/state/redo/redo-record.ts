/**
 * A step in the redo log: its events with the objects, changed provenance, and documents. A large
 * step is split into parts, so that sealing can yield to the event loop.
 *
 * A part is a line of JSON with the lengths of the records that follow it.
 */

import type { DraftEvent, Replaced } from '../objects/draft.ts';
import { encodeObject } from '../records/record.ts';
import type { EventType } from '../store.ts';

export interface StepChanges {
  readonly events: readonly DraftEvent[];
  readonly provenanceChanges: readonly Replaced[];
  /** As JSON; undefined: the document is removed. */
  readonly documentChanges: readonly (readonly [name: string, text: string | undefined])[];
}

export interface RedoEvent {
  readonly type: EventType;
  readonly version: number;
  /** Version of the object before; 0 for ADDED. */
  readonly previousVersion: number;
  /** The object before, as a record; undefined where the log already has it. */
  readonly previous: Buffer | undefined;
  /** The object after, as a record; undefined for DELETED. */
  readonly current: Buffer | undefined;
}

export interface RedoStep {
  /** Counted from 1. */
  readonly step: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly events: RedoEvent[];
  /** Objects whose provenance changed and whose version did not, as records. */
  readonly provenanceChanges: Buffer[];
  readonly documentChanges: [name: string, text: string | undefined][];
}

/** One part of a step; the last one completes it. */
export interface RedoPart extends RedoStep {
  readonly part: number;
  readonly isLast: boolean;
}

type EventLine = readonly [
  type: EventType,
  version: number,
  previousVersion: number,
  previousBytes: number,
  currentBytes: number,
];

interface PartLine {
  readonly step: number;
  readonly part: number;
  readonly last: boolean;
  readonly at: number;
  readonly events: readonly EventLine[];
  readonly remarked: readonly number[];
  readonly notes: readonly (readonly [name: string, text: string | null])[];
}

/** Compressing this many takes less than a millisecond. */
const PART_BYTES = 64 * 1024;
const EMPTY = Buffer.alloc(0);
const LF = 0x0a;

/**
 * The parts of a step, one by one. `since`: the log has objects of later versions and does not
 * repeat them as previous objects.
 */
export function* encodeStep(
  { events, provenanceChanges, documentChanges }: StepChanges,
  { step, at, since }: { readonly step: number; readonly at: number; readonly since: number },
): Generator<Buffer | undefined, void> {
  let draft = new PartDraft({ step, at, part: 0 });
  for (const [name, text] of documentChanges) draft.notes.push([name, text ?? null]);
  for (const event of events) {
    if (draft.bytes >= PART_BYTES) {
      yield draft.finish(false);
      draft = draft.next();
    } else yield;
    draft.addEvent(event, since);
  }
  for (const { current } of provenanceChanges) {
    yield;
    draft.remarked.push(draft.addObject(encodeObject(current)));
  }
  yield draft.finish(true);
}

class PartDraft {
  readonly events: EventLine[] = [];
  readonly remarked: number[] = [];
  readonly notes: (readonly [string, string | null])[] = [];
  readonly #of: Pick<PartLine, 'step' | 'at' | 'part'>;
  readonly #objects: Buffer[] = [];
  bytes = 0;

  constructor(of: Pick<PartLine, 'step' | 'at' | 'part'>) {
    this.#of = of;
  }

  addEvent({ type, resourceVersion, current, previous }: DraftEvent, since: number): void {
    const before = previous?.resourceVersion ?? 0;
    const isGone = type === 'DELETED';
    const isNew = previous !== undefined && (isGone || before <= since);
    const previousBytes = this.addObject(isNew ? encodeObject(previous) : EMPTY);
    const currentBytes = this.addObject(isGone ? EMPTY : encodeObject(current));
    this.events.push([type, resourceVersion, before, previousBytes, currentBytes]);
  }

  addObject(record: Buffer): number {
    if (record.length > 0) this.#objects.push(record);
    this.bytes += record.length;
    return record.length;
  }

  finish(last: boolean): Buffer {
    const { events, remarked, notes } = this;
    const line: PartLine = { ...this.#of, last, events, remarked, notes };
    return Buffer.concat([Buffer.from(`${JSON.stringify(line)}\n`), ...this.#objects]);
  }

  next(): PartDraft {
    return new PartDraft({ ...this.#of, part: this.#of.part + 1 });
  }
}

/** Throws for an invalid part. */
export function decodePart(bytes: Buffer): RedoPart {
  const end = bytes.indexOf(LF);
  const line: PartLine = JSON.parse(bytes.toString('utf8', 0, end));
  let at = end + 1;
  const next = (length: number): Buffer => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  const optional = (length: number): Buffer | undefined =>
    length === 0 ? undefined : next(length);
  const events = line.events.map(([type, version, previousVersion, before, after]): RedoEvent => {
    const previous = optional(before);
    return { type, version, previousVersion, previous, current: optional(after) };
  });
  const provenanceChanges = line.remarked.map(next);
  if (at !== bytes.length) throw new Error('the lengths do not fit');
  const documentChanges = line.notes.map(([name, text]): RedoStep['documentChanges'][number] => [
    name,
    text ?? undefined,
  ]);
  return {
    step: line.step,
    at: line.at,
    part: line.part,
    isLast: line.last,
    events,
    provenanceChanges,
    documentChanges,
  };
}
