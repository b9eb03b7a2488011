/** What a batch of changes comes to, worked out before anything is changed. */
import { jsonEqual, keyString, type ObjectKey } from '../../apimachinery/index.ts';
import type { Change, EventType, JournalEvent, Provenance } from '../store.ts';
import { HeldObject, withResourceVersion } from './held-object.ts';
import { OwnVersion } from './own-version.ts';

type Put = Extract<Change, { type: 'put' }>;
type Lookup = (key: ObjectKey) => HeldObject | undefined;

/** An event of the store's own objects. */
export interface DraftEvent extends JournalEvent {
  readonly current: HeldObject;
  readonly previous: HeldObject | undefined;
}

/** Another holder of the same version. */
export interface Replaced {
  readonly current: HeldObject;
  readonly previous: HeldObject;
}

export class Draft {
  readonly events: DraftEvent[] = [];
  /** Objects that stay as they are and get another remark. */
  readonly remarked: Replaced[] = [];
  /** One a change: the object as it will be stored, or undefined after a removal. */
  readonly results: (HeldObject | undefined)[] = [];
  readonly #stored: Lookup;
  /** Remarks that the batch brings. */
  readonly #remarks = new Map<string, Remarked>();
  /** What the batch itself has made of an identity. */
  readonly #changed = new Map<string, HeldObject | undefined>();
  #next: number;

  /** `next` is the resourceVersion of the first change. */
  constructor(stored: Lookup, next: number) {
    this.#stored = stored;
    this.#next = next;
  }

  /** Whether an object was changed more than once. */
  get repeats(): boolean {
    return this.events.length > this.#changed.size;
  }

  /** To be called before changes are added. */
  *bring(remarks: Iterable<readonly [ObjectKey, Provenance | undefined]>): Generator<void, void> {
    for (const [key, remark] of remarks) {
      yield;
      this.#remarks.set(keyString(key), { key, remark });
    }
  }

  add(change: Change): void {
    const id = keyString(change.key);
    const previous = this.#current(id, change.key);
    if (change.type === 'put') this.#put(id, change, previous);
    else this.#remove(id, previous);
  }

  /** To be called when every change was added. */
  *finish(): Generator<void, void> {
    for (const [id, { key, remark }] of this.#remarks) {
      yield;
      const previous = this.#current(id, key);
      // What the batch put has its remark already.
      if (previous === undefined || this.#changed.has(id)) continue;
      if (jsonEqual(previous.remark(), remark)) continue;
      const home = new OwnVersion(previous.object, { hidden: previous.hidden, remark });
      this.remarked.push({ current: new HeldObject(previous.key, home, 0), previous });
    }
  }

  #current(id: string, key: ObjectKey): HeldObject | undefined {
    return this.#changed.has(id) ? this.#changed.get(id) : this.#stored(key);
  }

  #put(id: string, change: Put, previous: HeldObject | undefined): void {
    if (previous !== undefined && isStored(change, previous)) {
      this.results.push(previous);
      return;
    }
    const object = withResourceVersion(change.object, this.#next);
    const key = previous?.key ?? ownKey(change.key);
    const brought = this.#remarks.get(id);
    const remark = brought === undefined ? previous?.remark() : brought.remark;
    const current = new HeldObject(
      key,
      new OwnVersion(object, { hidden: change.hidden, remark }),
      0,
    );
    current.expect(object);
    this.#changed.set(id, current);
    this.results.push(current);
    this.#event(previous === undefined ? 'ADDED' : 'MODIFIED', current, previous);
  }

  #remove(id: string, previous: HeldObject | undefined): void {
    this.results.push(undefined);
    if (previous === undefined) return;
    const object = withResourceVersion(previous.object, this.#next);
    this.#changed.set(id, undefined);
    const current = new HeldObject(
      previous.key,
      new OwnVersion(object, { hidden: previous.hidden }),
      0,
    );
    this.#event('DELETED', current, previous);
  }

  #event(type: EventType, current: HeldObject, previous: HeldObject | undefined): void {
    this.events.push(Object.freeze({ type, resourceVersion: this.#next++, current, previous }));
  }
}

interface Remarked {
  readonly key: ObjectKey;
  readonly remark: Provenance | undefined;
}

/** Whether a put would change nothing; the resourceVersion it carries does not count. */
function isStored({ object, hidden }: Put, stored: HeldObject): boolean {
  return (
    jsonEqual(withResourceVersion(object, stored.resourceVersion), stored.object) &&
    jsonEqual(hidden, stored.hidden)
  );
}

/** A copy that the caller cannot change. */
function ownKey({ group, kind, namespace, name }: ObjectKey): ObjectKey {
  return Object.freeze({ group, kind, namespace, name });
}
