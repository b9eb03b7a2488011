/** Objects and notes as entries of the engine: what their keys and their bytes are. */
import { createHash } from 'node:crypto';
import { keyString, type ObjectKey } from '../apimachinery/key.ts';
import type { JsonObject, KubeObject } from '../apimachinery/object.ts';
import { MAX_KEY_BYTES } from './engine.ts';
import type { StoredObject } from './store.ts';
import { ObjectVersion } from './stored-object.ts';

export const OBJECT_PREFIX = 'o/';
export const NOTE_PREFIX = 'n/';

export function objectRecordKey(key: ObjectKey): string {
  return fitting(OBJECT_PREFIX, keyString(key));
}

export function noteRecordKey(name: string): string {
  return fitting(NOTE_PREFIX, name);
}

/** Records repeat their identity inside, so a key need only be unique: long ones are hashed. */
function fitting(prefix: string, id: string): string {
  const key = prefix + id;
  if (Buffer.byteLength(key) <= MAX_KEY_BYTES) return key;
  return `${prefix}sha256:${createHash('sha256').update(id).digest('hex')}`;
}

/** A line of what is not served, a line of what is. */
export function encodeObject({ key, hidden, object }: StoredObject): string {
  return `${JSON.stringify({ key, hidden })}\n${JSON.stringify(object)}`;
}

export function decodeObject(record: Buffer): ObjectVersion {
  const end = record.indexOf('\n');
  const head = JSON.parse(record.toString('utf8', 0, end)) as {
    key: ObjectKey;
    hidden?: JsonObject;
  };
  const object = JSON.parse(record.toString('utf8', end + 1)) as KubeObject;
  return new ObjectVersion(head.key, object, head.hidden);
}

/** `{"name":…,"value":…}`; `text` is the value as JSON. */
export function encodeNote(name: string, text: string): string {
  return `${noteHead(name)}${text}}`;
}

/** The value comes as JSON, to be parsed when somebody asks for it. */
export function decodeNote(record: Buffer): [name: string, text: string] {
  const json = record.toString();
  const name = JSON.parse(NOTE_NAME.exec(json)?.[1] ?? '') as string;
  return [name, json.slice(noteHead(name).length, -1)];
}

const NOTE_NAME = /^\{"name":("(?:[^"\\]|\\.)*")/;

function noteHead(name: string): string {
  return `{"name":${JSON.stringify(name)},"value":`;
}
