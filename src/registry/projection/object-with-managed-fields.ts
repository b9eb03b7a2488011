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
const MAX_BYTES = 8 * 1024 * 1024;

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
  const isRecorded = bytes.includes(RECORD);
  const showsReady = ready.isPast !== true && isJudged(kind);
  if (isRecorded && !showsReady) return bytes;
  const text = isRecorded ? undefined : kind.schema && gitRecordText(kind as Kind, ready.object);
  const recorded = withText(bytes, text);
  const made =
    (showsReady ? recorded && withReadyText(recorded) : recorded) ??
    Buffer.from(JSON.stringify(shownObject(kind, ready)));
  recent.add(ready, made);
  return made;
}

const CONDITIONS = '"conditions":[';
const STATUS = '"status":{';
const READY_TEXT = Buffer.from(`${CONDITIONS}${JSON.stringify(READY_NOW)}]`);
const COMMA = Buffer.from(',');
const CLOSING = '}'.charCodeAt(0);

/** Undefined: the object has conditions, or more than one field of that name, and must be parsed. */
function withReadyText(object: Buffer): Buffer | undefined {
  const at = object.lastIndexOf(STATUS);
  if (at < 0 || object.indexOf(STATUS) !== at || object.includes(CONDITIONS)) return undefined;
  const begin = at + STATUS.length;
  const separator = object[begin] === CLOSING ? [] : [COMMA];
  return Buffer.concat([
    object.subarray(0, begin),
    READY_TEXT,
    ...separator,
    object.subarray(begin),
  ]);
}

const METADATA = '"metadata":{';

/** Undefined: `apiVersion` and `kind` are not all that precedes the metadata. */
function withText(object: Buffer, record: string | undefined): Buffer | undefined {
  if (record === undefined) return object;
  const at = object.indexOf(METADATA);
  if (at < 0 || /[{[]/.test(object.toString('latin1', 1, at))) return undefined;
  const begin = at + METADATA.length;
  const text = Buffer.from(`${RECORD_NAME}${record},`);
  return Buffer.concat([object.subarray(0, begin), text, object.subarray(begin)]);
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

/** The bytes of many objects. Yields to the event loop. */
export async function shownYielding(
  kind: RecordedKind,
  items: readonly MaybeStored[],
): Promise<Buffer[]> {
  const pauses = new Yielding();
  const parts: Buffer[] = [];
  for (const item of items) {
    if (pauses.due) await pauses.pause();
    parts.push(shownBytes(kind, item));
  }
  return parts;
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
