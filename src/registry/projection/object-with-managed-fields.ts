/**
 * Objects as readers see them, with `managedFields` and the condition `Ready`. An object that only git
 * changed has no such record in the store; it is added here (ADR 29). `Ready` follows from the other
 * conditions and is never stored: most objects have none.
 */
import { type Condition, type KubeObject, listAt, Yielding } from '../../apimachinery/index.ts';
import { hasStatus, type Kind, READY_NOW, readinessOf } from '../../kinds/index.ts';
import type { StoredObject } from '../../state/index.ts';
import { gitRecord, gitRecordText } from '../writes/field-managers.ts';

/**
 * An object that may be stored. An object that was built for an answer already has its record, if
 * any.
 */
export interface MaybeStored {
  readonly object: KubeObject;
  json(): Buffer;
  /** Present if the catalog persists provenance of the object. */
  provenance?(): unknown;
  /** True for a version of an earlier commit: it is not in force. */
  readonly isPast?: boolean;
}

/** Without a schema, the fields are unknown. */
type RecordedKind = Partial<Kind>;

/** Per generation. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Bytes of recently requested versions. Two generations: an entry that is requested in neither is
 * dropped.
 */
class Recent {
  #young = new WeakMap<MaybeStored, Buffer>();
  #old = new WeakMap<MaybeStored, Buffer>();
  #size = 0;

  get(version: MaybeStored): Buffer | undefined {
    const found = this.#young.get(version);
    if (found !== undefined) return found;
    const old = this.#old.get(version);
    if (old !== undefined) this.add(version, old);
    return old;
  }

  add(version: MaybeStored, bytes: Buffer): void {
    if (this.#size + bytes.length > MAX_BYTES) {
      this.#old = this.#young;
      this.#young = new WeakMap();
      this.#size = 0;
    }
    this.#young.set(version, bytes);
    this.#size += bytes.length;
  }
}

const recent = new Recent();

/** JSON escapes quotes within strings, so this matches only a field name. */
const RECORD_NAME = '"managedFields":';
const RECORD = `${RECORD_NAME}[`;

export function shownBytes(kind: RecordedKind, ready: MaybeStored): Buffer {
  if (!isInGit(ready)) return ready.json();
  const known = recent.get(ready);
  if (known !== undefined) return known;
  const bytes = ready.json();
  const added = additionsTo(bytes, kind, ready);
  if (added?.length === 0) return bytes;
  const made =
    added === undefined
      ? Buffer.from(JSON.stringify(shownObject(kind, ready)))
      : Buffer.concat(
          [...withAdditions(bytes, added)].map(([from, begin, end]) => from.subarray(begin, end)),
        );
  recent.add(ready, made);
  return made;
}

/** A text to add to the JSON of an object. */
interface Addition {
  readonly at: number;
  readonly text: Buffer;
}

const NOTHING: readonly Addition[] = [];

/** In order. Undefined: the object must be parsed. */
function additionsTo(
  bytes: Buffer,
  kind: RecordedKind,
  ready: MaybeStored,
): readonly Addition[] | undefined {
  const isRecorded = bytes.includes(RECORD);
  const record = isRecorded || !kind.schema ? undefined : gitRecordText(kind as Kind, ready.object);
  const recorded = record === undefined ? NOTHING : recordIn(bytes, record);
  if (recorded === undefined || ready.isPast === true || !isJudged(kind)) return recorded;
  const condition = readyIn(bytes);
  return condition && [...recorded, condition];
}

/** Ranges of buffers, in order. */
function* withAdditions(
  bytes: Buffer,
  added: readonly Addition[],
): Generator<readonly [Buffer, number, number]> {
  let begin = 0;
  for (const { at, text } of added) {
    yield [bytes, begin, at];
    yield [text, 0, text.length];
    begin = at;
  }
  yield [bytes, begin, bytes.length];
}

const CONDITIONS = '"conditions":[';
const STATUS = '"status":{';
const READY_ALONE = Buffer.from(`${CONDITIONS}${JSON.stringify(READY_NOW)}]`);
const READY_FIRST = Buffer.from(`${READY_ALONE.toString()},`);
const CLOSING = '}'.charCodeAt(0);

/** Undefined: the object has conditions, or more than one field of that name, and must be parsed. */
function readyIn(object: Buffer): Addition | undefined {
  const found = object.lastIndexOf(STATUS);
  if (found < 0 || object.indexOf(STATUS) !== found || object.includes(CONDITIONS))
    return undefined;
  const at = found + STATUS.length;
  return { at, text: object[at] === CLOSING ? READY_ALONE : READY_FIRST };
}

const METADATA = '"metadata":{';

/** Undefined: `apiVersion` and `kind` are not all that precedes the metadata. */
function recordIn(object: Buffer, record: string): readonly Addition[] | undefined {
  const found = object.indexOf(METADATA);
  if (found < 0 || /[{[]/.test(object.toString('latin1', 1, found))) return undefined;
  return [{ at: found + METADATA.length, text: Buffer.from(`${RECORD_NAME}${record},`) }];
}

export function shownObject(kind: RecordedKind, ready: MaybeStored): KubeObject {
  const object = recordedObject(kind, ready);
  return isInGit(ready) && ready.isPast !== true ? withReadiness(kind, object) : object;
}

/** The object in git with its condition `Ready`. */
export function withReadiness(kind: RecordedKind, object: KubeObject): KubeObject {
  if (!isJudged(kind)) return object;
  const { conditions: _replaced, ...status } = object.status ?? {};
  const others = listAt<Condition>(object.status, ['conditions']);
  return { ...object, status: { conditions: [...others, readinessOf(object)], ...status } };
}

/** As in Kubernetes, roles and bindings have no status. */
function isJudged({ schema, storedIn }: RecordedKind): boolean {
  return (
    (storedIn === 'git' || storedIn === 'file') && schema !== undefined && hasStatus({ schema })
  );
}

/** With `managedFields`, and without `Ready`. */
export function recordedObject(kind: RecordedKind, ready: MaybeStored): KubeObject {
  const { object } = ready;
  const { managedFields } = object.metadata;
  if (managedFields !== undefined || !isInGit(ready) || kind.schema === undefined) return object;
  const record = gitRecord(kind as Kind, object);
  return record.length === 0
    ? object
    : { ...object, metadata: { ...object.metadata, managedFields: record } };
}

/** Takes the items of a list, in order. */
export interface ListSink {
  /** Begins the next item. */
  next(): void;
  write(bytes: Buffer, begin?: number, end?: number): void;
}

/** Writes many objects without a buffer for each. Yields to the event loop. */
export async function writeShown(
  kind: RecordedKind,
  items: readonly MaybeStored[],
  sink: ListSink,
): Promise<void> {
  const pauses = new Yielding();
  for (const item of items) {
    if (pauses.due) await pauses.pause();
    sink.next();
    const known = isInGit(item) ? recent.get(item) : item.json();
    const bytes = known ?? item.json();
    const added = known === undefined ? additionsTo(bytes, kind, item) : NOTHING;
    if (added === undefined) sink.write(shownBytes(kind, item));
    else for (const range of withAdditions(bytes, added)) sink.write(...range);
  }
}

/** The same version, with its record of managed fields. */
export function withRecord(kind: Kind, stored: StoredObject): StoredObject {
  const object = recordedObject(kind, stored);
  if (object === stored.object) return stored;
  const { key, resourceVersion, terminating, labels, hidden } = stored;
  const json = (): Buffer => shownBytes(kind, stored);
  const provenance = (): ReturnType<StoredObject['provenance']> => stored.provenance();
  return { key, resourceVersion, terminating, labels, object, hidden, json, provenance };
}

function isInGit(ready: MaybeStored): boolean {
  return ready.provenance?.() !== undefined;
}
