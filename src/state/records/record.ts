/**
 * Keys and bytes of engine records for objects and documents. One record holds one changed object,
 * or some hundred packed ones: reading a record costs about as much as reading its bytes.
 *
 * The first line is JSON with a head per object, then come the texts whose lengths the heads give:
 * the object as clients see it, its hidden data, the text of its provenance.
 */
import { createHash } from 'node:crypto';
import { type JsonValue, keyString, type ObjectKey } from '../../apimachinery/index.ts';
import { MAX_KEY_BYTES } from '../engines/engine.ts';
import type { ObjectHandle } from '../objects/object-handle.ts';

/** One object that changed since it was packed, or was never packed. */
export const OBJECT_PREFIX = 'o/';
export const DOCUMENT_PREFIX = 'n/';
/** Many objects. */
export const PACK_PREFIX = 's/';
/** An object of a pack that was replaced or removed. */
export const DEAD_PREFIX = 'x/';

export function objectRecordKey(key: ObjectKey): string {
  return shortened(OBJECT_PREFIX, keyString(key));
}

export function documentRecordKey(name: string): string {
  return shortened(DOCUMENT_PREFIX, name);
}

/** Records repeat their identity inside, so a key need only be unique: long ones are hashed. */
function shortened(prefix: string, id: string): string {
  const key = prefix + id;
  if (Buffer.byteLength(key) <= MAX_KEY_BYTES) return key;
  return `${prefix}sha256:${createHash('sha256').update(id).digest('hex')}`;
}

/** Lengths are in bytes; an absent part has length 0. */
export type Head = readonly [
  group: string,
  kind: string,
  namespace: string,
  name: string,
  resourceVersion: number,
  terminating: 0 | 1,
  object: number,
  hidden: number,
  text: number,
  facts: JsonValue,
];

const LF = 0x0a;

/** Takes objects one by one, since an object may exist only during the call. */
export class RecordWriter {
  readonly #heads: Head[] = [];
  readonly #texts: Buffer[] = [];
  #bytes = 0;

  /** Bytes of the texts so far. */
  get bytes(): number {
    return this.#bytes;
  }

  add(stored: ObjectHandle): void {
    const { key, hidden } = stored;
    const provenance = stored.provenance();
    const object = stored.json();
    const beside = hidden === undefined ? EMPTY : Buffer.from(JSON.stringify(hidden));
    const text = provenance?.text === undefined ? EMPTY : Buffer.from(provenance.text);
    for (const part of [object, beside, text]) {
      this.#texts.push(part);
      this.#bytes += part.length;
    }
    this.#heads.push([
      key.group,
      key.kind,
      key.namespace,
      key.name,
      stored.resourceVersion,
      stored.terminating ? 1 : 0,
      object.length,
      beside.length,
      text.length,
      provenance?.facts ?? null,
    ]);
  }

  finish(): Buffer {
    return Buffer.concat([Buffer.from(`${JSON.stringify(this.#heads)}\n`), ...this.#texts]);
  }
}

export function encodeObject(stored: ObjectHandle): Buffer {
  const writer = new RecordWriter();
  writer.add(stored);
  return writer.finish();
}

const EMPTY = Buffer.alloc(0);

/** The heads of a record, and the offset of the texts. Throws for an invalid record. */
export function decodeHeads(record: Buffer): { heads: readonly Head[]; start: number } {
  const end = record.indexOf(LF);
  const heads: Head[] = JSON.parse(record.toString('utf8', 0, end));
  let length = end + 1;
  for (const head of heads) length += head[6] + head[7] + head[8];
  if (length !== record.length) throw new Error('the lengths do not fit');
  return { heads, start: end + 1 };
}

/** `{"name":…,"value":…}`; `text` is the value as JSON. */
export function encodeDocument(name: string, text: string): string {
  return `${documentHead(name)}${text}}`;
}

/** Returns the value as JSON, to be parsed on first access. */
export function decodeDocument(record: Buffer): [name: string, text: string] {
  const json = record.toString();
  const name: string = JSON.parse(DOCUMENT_NAME.exec(json)?.[1] ?? '');
  return [name, json.slice(documentHead(name).length, -1)];
}

const DOCUMENT_NAME = /^\{"name":("(?:[^"\\]|\\.)*")/;

function documentHead(name: string): string {
  return `{"name":${JSON.stringify(name)},"value":`;
}
