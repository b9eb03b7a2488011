/** What a batch of changes comes to, worked out before anything is changed. */
import { keyString, type ObjectKey } from '../apimachinery/key.ts';
import { jsonEqual } from '../apimachinery/object.ts';
import type { Change, EventType, JournalEvent, StoredObject } from './store.ts';
import { ObjectVersion, withResourceVersion } from './stored-object.ts';

type Put = Extract<Change, { type: 'put' }>;
type Lookup = (key: ObjectKey) => StoredObject | undefined;

export class Draft {
  readonly events: JournalEvent[] = [];
  /** One a change: the object as it will be stored, or undefined after a removal. */
  readonly results: (StoredObject | undefined)[] = [];
  readonly #stored: Lookup;
  /** What the batch itself has made of an identity. */
  readonly #changed = new Map<string, StoredObject | undefined>();
  #next: number;

  /** `next` is the resourceVersion of the first change. */
  constructor(stored: Lookup, next: number) {
    this.#stored = stored;
    this.#next = next;
  }

  add(change: Change): void {
    const id = keyString(change.key);
    const previous = this.#changed.has(id) ? this.#changed.get(id) : this.#stored(change.key);
    if (change.type === 'put') this.#put(id, change, previous);
    else this.#remove(id, previous);
  }

  #put(id: string, change: Put, previous: StoredObject | undefined): void {
    if (previous !== undefined && isStored(change, previous)) {
      this.results.push(previous);
      return;
    }
    const object = withResourceVersion(change.object, this.#next);
    const key = previous?.key ?? ownKey(change.key);
    const current = new ObjectVersion(key, object, change.hidden);
    this.#changed.set(id, current);
    this.results.push(current);
    this.#event(previous === undefined ? 'ADDED' : 'MODIFIED', current, previous);
  }

  #remove(id: string, previous: StoredObject | undefined): void {
    this.results.push(undefined);
    if (previous === undefined) return;
    const object = withResourceVersion(previous.object, this.#next);
    this.#changed.set(id, undefined);
    this.#event('DELETED', new ObjectVersion(previous.key, object, previous.hidden), previous);
  }

  #event(type: EventType, current: StoredObject, previous: StoredObject | undefined): void {
    this.events.push(Object.freeze({ type, resourceVersion: this.#next++, current, previous }));
  }
}

/** Whether a put would change nothing; the resourceVersion it carries does not count. */
function isStored({ object, hidden }: Put, stored: StoredObject): boolean {
  return (
    jsonEqual(withResourceVersion(object, stored.resourceVersion), stored.object) &&
    jsonEqual(hidden, stored.hidden)
  );
}

/** A copy that the caller cannot change. */
function ownKey({ group, kind, namespace, name }: ObjectKey): ObjectKey {
  return Object.freeze({ group, kind, namespace, name });
}
