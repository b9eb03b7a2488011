/** The events and results of a batch, computed before any change. */
import { jsonEqual, keyString, type ObjectKey } from '../../apimachinery/index.ts';
import type { Change, EventType, JournalEvent, NewProvenance } from '../store.ts';
import { ObjectHandle, withResourceVersion } from './object-handle.ts';
import { OwnVersion } from './own-version.ts';

type Put = Extract<Change, { type: 'put' }>;
type Lookup = (key: ObjectKey) => ObjectHandle | undefined;

/** An event whose objects belong to the store. */
export interface DraftEvent extends JournalEvent {
  readonly current: ObjectHandle;
  readonly previous: ObjectHandle | undefined;
}

/** The same version with new provenance. */
export interface Replaced {
  readonly current: ObjectHandle;
  readonly previous: ObjectHandle;
}

export class Draft {
  readonly events: DraftEvent[] = [];
  /** Objects that do not change and get new provenance. */
  readonly provenanceChanges: Replaced[] = [];
  /** One per change: the object as it will be stored, or undefined after a removal. */
  readonly results: (ObjectHandle | undefined)[] = [];
  readonly #stored: Lookup;
  /** Provenance from the batch. */
  readonly #provenance = new Map<string, NewProvenance>();
  /** Objects that the batch changed so far. */
  readonly #changed = new Map<string, ObjectHandle | undefined>();
  #next: number;

  /** `next`: resourceVersion of the first change. */
  constructor(stored: Lookup, next: number) {
    this.#stored = stored;
    this.#next = next;
  }

  /** True if an object was changed more than once. */
  get repeats(): boolean {
    return this.events.length > this.#changed.size;
  }

  /** Called before changes are added. */
  *addProvenance(added: Iterable<NewProvenance>): Generator<void, void> {
    for (const brought of added) {
      yield;
      this.#provenance.set(keyString(brought[0]), brought);
    }
  }

  add(change: Change): void {
    const id = keyString(change.key);
    const previous = this.#current(id, change.key);
    if (change.type === 'put') this.#put(id, change, previous);
    else this.#remove(id, previous);
  }

  /** Called after every change was added. */
  *finish(): Generator<void, void> {
    for (const [id, [key, provenance]] of this.#provenance) {
      yield;
      const previous = this.#current(id, key);
      // Objects that the batch stored already have their provenance.
      if (previous === undefined || this.#changed.has(id)) continue;
      if (jsonEqual(previous.provenance(), provenance)) continue;
      const container = new OwnVersion(previous.object, { hidden: previous.hidden, provenance });
      this.provenanceChanges.push({
        current: new ObjectHandle(previous.key, container, 0),
        previous,
      });
    }
  }

  #current(id: string, key: ObjectKey): ObjectHandle | undefined {
    return this.#changed.has(id) ? this.#changed.get(id) : this.#stored(key);
  }

  #put(id: string, change: Put, previous: ObjectHandle | undefined): void {
    if (previous !== undefined && isStored(change, previous)) {
      this.results.push(previous);
      return;
    }
    const object = withResourceVersion(change.object, this.#next);
    const key = previous?.key ?? ownKey(change.key);
    const brought = this.#provenance.get(id);
    const provenance = brought === undefined ? previous?.provenance() : brought[1];
    const current = new ObjectHandle(
      key,
      new OwnVersion(object, { hidden: change.hidden, provenance }),
      0,
    );
    current.cacheParsed(object);
    this.#changed.set(id, current);
    this.results.push(current);
    this.#event(previous === undefined ? 'ADDED' : 'MODIFIED', current, previous);
  }

  #remove(id: string, previous: ObjectHandle | undefined): void {
    this.results.push(undefined);
    if (previous === undefined) return;
    const object = withResourceVersion(previous.object, this.#next);
    this.#changed.set(id, undefined);
    const current = new ObjectHandle(
      previous.key,
      new OwnVersion(object, { hidden: previous.hidden }),
      0,
    );
    this.#event('DELETED', current, previous);
  }

  #event(type: EventType, current: ObjectHandle, previous: ObjectHandle | undefined): void {
    this.events.push(Object.freeze({ type, resourceVersion: this.#next++, current, previous }));
  }
}

/** True if a put changes nothing; its resourceVersion is ignored. */
function isStored({ object, hidden }: Put, stored: ObjectHandle): boolean {
  return (
    jsonEqual(withResourceVersion(object, stored.resourceVersion), stored.object) &&
    jsonEqual(hidden, stored.hidden)
  );
}

/** A key that the caller cannot change: its own one if it is frozen, which the catalog shares. */
function ownKey(key: ObjectKey): ObjectKey {
  const { group, kind, namespace, name } = key;
  return Object.isFrozen(key) ? key : Object.freeze({ group, kind, namespace, name });
}
