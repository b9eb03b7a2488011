/** Replays a redo log on the state of the engine, computed before any change. */
import { keyString, type ObjectKey } from '../../apimachinery/index.ts';
import { removedAt } from '../objects/difference.ts';
import type { DraftEvent, Replaced } from '../objects/draft.ts';
import { ObjectHandle } from '../objects/object-handle.ts';
import { remoteVersion } from '../objects/remote-version.ts';
import type { RecordCodec } from '../records/codec.ts';
import { looseObject, type Meta } from '../records/saved-state.ts';
import { nameOf } from '../state-error.ts';
import type { RedoContent } from './redo-files.ts';
import type { RedoOptions } from './redo-log.ts';
import { RedoLogError, readRedoLog } from './redo-reader.ts';
import type { RedoEvent, RedoStep, StepChanges } from './redo-record.ts';

export interface RestoredStep extends StepChanges {
  readonly step: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The engine has it; only the journal lacks it. */
  readonly isSaved: boolean;
}

export interface Restored {
  readonly content: RedoContent;
  readonly steps: readonly RestoredStep[];
  /** The newest version. */
  readonly head: number;
}

type Lookup = (key: ObjectKey) => ObjectHandle | undefined;

/** Undefined: the log is unusable, and `onUnused` has the reason. */
export function readRestored(
  options: RedoOptions & { readonly codec: RecordCodec },
  state: { readonly meta: Meta; readonly stored: Lookup },
): Restored | undefined {
  try {
    return replay(options, state);
  } catch (error) {
    const { message, isExpected } = unusable(error);
    options.onUnused(message, isExpected);
    return undefined;
  }
}

/** The cause of other errors is left out: a parser quotes its input. */
function unusable(error: unknown): RedoLogError {
  if (error instanceof RedoLogError) return error;
  return new RedoLogError(`it cannot be read (${nameOf(error)})`);
}

/** Throws when the log is incomplete or does not fit the state; RedoLogError for known causes. */
function replay(
  place: Parameters<typeof readRedoLog>[0],
  { meta, stored }: { readonly meta: Meta; readonly stored: Lookup },
): Restored {
  const { redo = { log: '', step: 0 }, clean, last } = meta;
  const content = readRedoLog(place, redo);
  const redoing = new Replay(content.head, stored);
  const steps = content.steps.map((step) => redoing.step(step, step.step <= redo.step));
  const { head } = redoing;
  if (clean && head !== last)
    throw new RedoLogError(`it ends at ${head}, and the state at ${last}`);
  return { content, steps, head };
}

class Replay {
  readonly #stored: Lookup;
  /** The newest logged version of each object; undefined: removed. */
  readonly #logged = new Map<string, ObjectHandle | undefined>();
  /** State of each object that unsaved steps changed. */
  readonly #unsaved = new Map<string, ObjectHandle | undefined>();
  /** The newest version. */
  head: number;

  constructor(head: number, stored: Lookup) {
    this.head = head;
    this.#stored = stored;
  }

  step(
    { step, at, events, provenanceChanges, documentChanges }: RedoStep,
    isSaved: boolean,
  ): RestoredStep {
    return {
      step,
      at,
      isSaved,
      events: events.map((event) => this.#event(event, isSaved)),
      provenanceChanges: isSaved
        ? []
        : provenanceChanges.map((record) => this.#provenanceChange(record)),
      documentChanges,
    };
  }

  #event(event: RedoEvent, isSaved: boolean): DraftEvent {
    const { type, version, previousVersion } = event;
    if (version <= this.head) throw new RedoLogError(`version ${version} comes twice`);
    this.head = version;
    const record = event.current ?? event.previous;
    if (record === undefined || (type === 'ADDED') !== (previousVersion === 0))
      throw doesNotFollow(event);
    const found = this.#found(record);
    const previous = isSaved ? this.#before(event, found) : this.#now(found);
    if ((previous?.resourceVersion ?? 0) !== previousVersion) throw doesNotFollow(event);
    const current = this.#after(event, { ...found, previous, isSaved });
    if (current.resourceVersion !== version) throw doesNotFollow(event);
    const left = type === 'DELETED' ? undefined : current;
    this.#logged.set(found.id, left);
    if (!isSaved) this.#unsaved.set(found.id, left);
    return Object.freeze({ type, resourceVersion: version, current, previous });
  }

  #found(record: Buffer): Found {
    const received = remoteVersion(record);
    const id = keyString(received.key);
    const stored = this.#stored(received.key);
    const key = stored?.key ?? this.#logged.get(id)?.key ?? received.key;
    return { id, stored, received: new ObjectHandle(key, received.container, 0) };
  }

  /** The object before an event that the engine already has, perhaps with later ones. */
  #before(
    { previous, previousVersion }: RedoEvent,
    { id, stored, received: { key } }: Found,
  ): ObjectHandle | undefined {
    if (previousVersion === 0) return undefined;
    const known = [this.#logged.get(id), stored];
    const found = known.find((one) => one?.resourceVersion === previousVersion);
    return found ?? (previous && remoteVersion(previous, key));
  }

  #after(
    { type, version, current }: RedoEvent,
    {
      stored,
      received,
      previous,
      isSaved,
    }: Found & { previous: ObjectHandle | undefined; isSaved: boolean },
  ): ObjectHandle {
    if (type === 'DELETED' && previous !== undefined) return removedAt(previous, version);
    if (current === undefined) throw new RedoLogError(`version ${version} is missing`);
    if (!isSaved) return looseObject(current, received.key);
    return stored?.resourceVersion === version ? stored : received;
  }

  #now({ id, stored }: Found): ObjectHandle | undefined {
    return this.#unsaved.has(id) ? this.#unsaved.get(id) : stored;
  }

  #provenanceChange(record: Buffer): Replaced {
    const found = this.#found(record);
    const previous = this.#now(found);
    const current = looseObject(record, found.received.key);
    if (previous?.resourceVersion !== current.resourceVersion) {
      throw new RedoLogError(`version ${current.resourceVersion} of ${found.id} is missing`);
    }
    this.#unsaved.set(found.id, current);
    return { current, previous };
  }
}

/** The object of a record. */
interface Found {
  readonly id: string;
  /** The object in the engine, in any version. */
  readonly stored: ObjectHandle | undefined;
  readonly received: ObjectHandle;
}

function doesNotFollow({ type, version }: RedoEvent): RedoLogError {
  return new RedoLogError(`${type} at ${version} does not follow from the state`);
}
