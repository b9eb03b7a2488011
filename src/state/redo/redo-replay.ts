/** Replays a redo log on the state of the engine, computed before any change. */
import { keyString, type ObjectKey } from '../../apimachinery/index.ts';
import { removedAt } from '../objects/difference.ts';
import type { DraftEvent, Replaced } from '../objects/draft.ts';
import { HeldObject } from '../objects/held-object.ts';
import { remoteVersion } from '../objects/remote-version.ts';
import { type Meta, onlyOneIn } from '../records/saved-state.ts';
import type { RedoContent } from './redo-files.ts';
import { RedoLogError, readRedoLog } from './redo-reading.ts';
import type { RedoEvent, RedoneStep, RedoStep } from './redo-record.ts';

export interface RestoredStep extends RedoneStep {
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

type Lookup = (key: ObjectKey) => HeldObject | undefined;

/** Throws when the log is incomplete or does not fit the state; RedoLogError for known causes. */
export function readRestored(
  place: Parameters<typeof readRedoLog>[0],
  { meta, stored }: { readonly meta: Meta; readonly stored: Lookup },
): Restored {
  const { redo = { log: '', step: 0 }, clean, last } = meta;
  const content = readRedoLog(place, redo);
  const redoing = new Redoing(content.head, stored);
  const steps = content.steps.map((step) => redoing.step(step, step.step <= redo.step));
  const { head } = redoing;
  if (clean && head !== last)
    throw new RedoLogError(`it ends at ${head}, and the state at ${last}`);
  return { content, steps, head };
}

class Redoing {
  readonly #stored: Lookup;
  /** The newest logged version of each object; undefined: removed. */
  readonly #logged = new Map<string, HeldObject | undefined>();
  /** State of each object that unsaved steps changed. */
  readonly #redone = new Map<string, HeldObject | undefined>();
  /** The newest version. */
  head: number;

  constructor(head: number, stored: Lookup) {
    this.head = head;
    this.#stored = stored;
  }

  step({ step, at, events, remarked, news }: RedoStep, isSaved: boolean): RestoredStep {
    return {
      step,
      at,
      isSaved,
      events: events.map((event) => this.#event(event, isSaved)),
      remarked: isSaved ? [] : remarked.map((record) => this.#remarked(record)),
      news,
    };
  }

  #event(event: RedoEvent, isSaved: boolean): DraftEvent {
    const { type, version, previousVersion } = event;
    if (version <= this.head) throw new RedoLogError(`version ${version} comes twice`);
    this.head = version;
    const record = event.current ?? event.previous;
    if (record === undefined || (type === 'ADDED') !== (previousVersion === 0))
      throw unfitting(event);
    const found = this.#found(record);
    const previous = isSaved ? this.#before(event, found) : this.#now(found);
    if ((previous?.resourceVersion ?? 0) !== previousVersion) throw unfitting(event);
    const current = this.#after(event, { ...found, previous, isSaved });
    if (current.resourceVersion !== version) throw unfitting(event);
    const left = type === 'DELETED' ? undefined : current;
    this.#logged.set(found.id, left);
    if (!isSaved) this.#redone.set(found.id, left);
    return Object.freeze({ type, resourceVersion: version, current, previous });
  }

  #found(record: Buffer): Found {
    const received = remoteVersion(record);
    const id = keyString(received.key);
    const stored = this.#stored(received.key);
    const key = stored?.key ?? this.#logged.get(id)?.key ?? received.key;
    return { id, stored, received: new HeldObject(key, received.home, 0) };
  }

  /** The object before an event that the engine already has, perhaps with later ones. */
  #before(
    { previous, previousVersion }: RedoEvent,
    { id, stored, received: { key } }: Found,
  ): HeldObject | undefined {
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
    }: Found & { previous: HeldObject | undefined; isSaved: boolean },
  ): HeldObject {
    if (type === 'DELETED' && previous !== undefined) return removedAt(previous, version);
    if (current === undefined) throw new RedoLogError(`version ${version} is missing`);
    if (!isSaved) return onlyOneIn(current, received.key);
    return stored?.resourceVersion === version ? stored : received;
  }

  #now({ id, stored }: Found): HeldObject | undefined {
    return this.#redone.has(id) ? this.#redone.get(id) : stored;
  }

  #remarked(record: Buffer): Replaced {
    const found = this.#found(record);
    const previous = this.#now(found);
    const current = onlyOneIn(record, found.received.key);
    if (previous?.resourceVersion !== current.resourceVersion) {
      throw new RedoLogError(`version ${current.resourceVersion} of ${found.id} is missing`);
    }
    this.#redone.set(found.id, current);
    return { current, previous };
  }
}

/** The object of a record. */
interface Found {
  readonly id: string;
  /** The object in the engine, in any version. */
  readonly stored: HeldObject | undefined;
  readonly received: HeldObject;
}

function unfitting({ type, version }: RedoEvent): RedoLogError {
  return new RedoLogError(`${type} at ${version} does not follow from the state`);
}
