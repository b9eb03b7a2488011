/**
 * Objects as readers see them, with `managedFields`. An object that only git changed has no such
 * record in the store; it is added here (ADR 29).
 */
import { type KubeObject, Yielding } from '../../apimachinery/index.ts';
import type { Kind } from '../../kinds/index.ts';
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
  if (bytes.includes(RECORD)) return bytes;
  const made =
    withText(bytes, kind.schema && gitRecordText(kind as Kind, ready.object)) ??
    Buffer.from(JSON.stringify(shownObject(kind, ready)));
  recent.add(ready, made);
  return made;
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
  const object = shownObject(kind, stored);
  if (object === stored.object) return stored;
  const { key, resourceVersion, terminating, labels, hidden } = stored;
  const json = (): Buffer => shownBytes(kind, stored);
  const provenance = (): ReturnType<StoredObject['provenance']> => stored.provenance();
  return { key, resourceVersion, terminating, labels, object, hidden, json, provenance };
}

function isInGit(ready: MaybeStored): boolean {
  return ready.provenance?.() !== undefined;
}
