/**
 * Bodies in protobuf, as clients send them for kinds that they have Go types of: the envelope of
 * Kubernetes (`runtime.Unknown` behind four magic bytes) and, by a table of fields, what is in it.
 * Fields that the table does not name are skipped.
 */
import { isUtf8 } from 'node:buffer';
import { badRequest } from '../../apimachinery/index.ts';
import { decodeJson } from './json-input.ts';

export const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf';

/** Number of a field → its name, and what it holds when it is not a string. */
export interface MessageShape {
  readonly [field: number]: readonly [name: string, holds?: Holds];
}

/**
 * Go writes empty strings, and the zeros of `count` and `flag`, for absent fields: they are left out,
 * as in its JSON. Zeros of `said`, `int` and `bool` are values.
 */
export type Holds =
  | Scalar
  | 'strings'
  | 'map'
  | 'bytesMap'
  | MessageShape
  | readonly [MessageShape];

type Scalar =
  | 'text'
  | 'said'
  | 'int'
  | 'count'
  | 'bool'
  | 'flag'
  | 'time'
  | 'microTime'
  | 'json'
  | 'intOrString';

const MAGIC = Buffer.from('k8s\0');
const UNKNOWN = { typeMeta: 1, raw: 2 } as const;
const TYPE_META: MessageShape = { 1: ['apiVersion'], 2: ['kind'] };

const TIME: MessageShape = { 1: ['seconds', 'int'], 2: ['nanos', 'int'] };
const RAW_JSON: MessageShape = { 1: ['raw'] };
const INT_OR_STRING: MessageShape = { 1: ['type', 'int'], 2: ['int', 'int'], 3: ['text'] };
const MAX_JSON_DEPTH = 100;

/** Wire types of protobuf; groups are long gone and refused. */
const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** The message as a JSON object with apiVersion and kind. Throws 400 for an invalid message. */
export function decodeProtobuf(body: Buffer, shape: MessageShape): Record<string, unknown> {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw badRequest('the body is not a Kubernetes protobuf message');
  }
  let head: Record<string, unknown> = {};
  let object: Record<string, unknown> = {};
  for (const { field, value } of fieldsOf(body.subarray(MAGIC.length))) {
    if (field === UNKNOWN.typeMeta) head = readMessage(bytesOf(value), TYPE_META);
    if (field === UNKNOWN.raw) object = readMessage(bytesOf(value), shape);
  }
  return { ...head, ...object };
}

function readMessage(message: Buffer, shape: MessageShape): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  const maps = new Map<string, Map<string, string>>();
  for (const { field, value } of fieldsOf(message)) {
    const [name, holds = 'text'] = shape[field] ?? [];
    if (name === undefined) continue;
    if (holds === 'map' || holds === 'bytesMap') {
      const map = maps.get(name) ?? new Map<string, string>();
      maps.set(name, map.set(...readEntry(bytesOf(value), holds)));
    } else readField(object, { name, holds, value });
  }
  for (const [name, map] of maps) object[name] = Object.fromEntries(map);
  return object;
}

interface Field {
  readonly name: string;
  readonly holds: Exclude<Holds, 'map' | 'bytesMap'>;
  readonly value: Buffer | number;
}

function readField(object: Record<string, unknown>, { name, holds, value }: Field): void {
  if (holds === 'strings') listIn(object, name).push(textOf(bytesOf(value)));
  else if (isList(holds)) listIn(object, name).push(readMessage(bytesOf(value), holds[0]));
  else if (typeof holds === 'object') object[name] = readMessage(bytesOf(value), holds);
  else {
    const read = readScalar(value, holds);
    if (read !== undefined) object[name] = read;
  }
}

function isList(holds: Holds): holds is readonly [MessageShape] {
  return Array.isArray(holds);
}

function listIn(object: Record<string, unknown>, name: string): unknown[] {
  const known = object[name];
  const list: unknown[] = Array.isArray(known) ? known : [];
  object[name] = list;
  return list;
}

/** Entries of maps are messages, too. */
function readEntry(message: Buffer, holds: 'map' | 'bytesMap'): [key: string, value: string] {
  let [key, entry] = ['', ''];
  for (const { field, value } of fieldsOf(message)) {
    if (field === 1) key = textOf(bytesOf(value));
    if (field !== 2) continue;
    const bytes = bytesOf(value);
    entry = holds === 'map' ? textOf(bytes) : bytes.toString('base64');
  }
  return [key, entry];
}

function readScalar(value: Buffer | number, holds: Scalar): unknown {
  switch (holds) {
    case 'text':
      return textOf(bytesOf(value)) || undefined;
    case 'said':
      return textOf(bytesOf(value));
    case 'int':
      return numberOf(value);
    case 'count':
      return numberOf(value) || undefined;
    case 'bool':
      return numberOf(value) !== 0;
    case 'flag':
      return numberOf(value) !== 0 || undefined;
    case 'time':
      return timeOf(readMessage(bytesOf(value), TIME));
    case 'microTime':
      return microTimeOf(readMessage(bytesOf(value), TIME));
    case 'json': {
      const { raw } = readMessage(bytesOf(value), RAW_JSON);
      return typeof raw === 'string' ? decodeJson(raw, MAX_JSON_DEPTH).value : undefined;
    }
    case 'intOrString': {
      const { type, int, text } = readMessage(bytesOf(value), INT_OR_STRING);
      return type === 1 ? text : int || undefined;
    }
  }
}

/** Seconds since 1970; none is no time. */
function timeOf({ seconds }: Record<string, unknown>): string | undefined {
  if (typeof seconds !== 'number' || seconds === 0) return undefined;
  const time = new Date(seconds * 1000);
  if (Number.isNaN(time.getTime())) throw malformed();
  return time.toISOString().replace('.000Z', 'Z');
}

/** With six digits behind the point, whatever they are. */
function microTimeOf(message: Record<string, unknown>): string | undefined {
  const seconds = timeOf(message);
  const { nanos = 0 } = message;
  if (typeof nanos !== 'number' || nanos < 0 || nanos >= 1e9) throw malformed();
  const micros = String(Math.floor(nanos / 1000)).padStart(6, '0');
  return seconds?.replace('Z', `.${micros}Z`);
}

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw malformed();
  return bytes.toString('utf8');
}

function bytesOf(value: Buffer | number): Buffer {
  if (typeof value === 'number') throw malformed();
  return value;
}

function numberOf(value: Buffer | number): number {
  if (typeof value !== 'number') throw malformed();
  return value;
}

/** The fields in their order; those with numbers of a fixed width are passed over. */
function* fieldsOf(message: Buffer): Iterable<{ field: number; value: Buffer | number }> {
  let at = 0;
  while (at < message.length) {
    const tag = varint(message, at);
    const [field, wire] = [Math.floor(tag.value / 8), tag.value % 8];
    at = tag.end;
    if (wire === WIRE.varint) {
      const { value, end } = varint(message, at);
      at = end;
      yield { field, value };
    } else if (wire === WIRE.fixed64) at += 8;
    else if (wire === WIRE.fixed32) at += 4;
    else if (wire === WIRE.bytes) {
      const length = varint(message, at);
      if (length.value < 0) throw malformed();
      at = length.end + length.value;
      if (at <= message.length) yield { field, value: message.subarray(length.end, at) };
    } else throw malformed();
    if (at > message.length) throw malformed();
  }
}

const LONGEST = 10;
/** So many bytes hold what a number holds exactly. */
const PLAIN = 7;

/** Negative numbers are written as the 64 bits that they have in memory: in ten bytes. */
function varint(message: Buffer, start: number): { value: number; end: number } {
  let value = 0;
  for (let index = 0; index < PLAIN; index++) {
    const byte = message[start + index];
    if (byte === undefined) throw malformed();
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, end: start + index + 1 };
  }
  let long = BigInt(value);
  for (let index = PLAIN; index < LONGEST; index++) {
    const byte = message[start + index];
    if (byte === undefined) break;
    long |= BigInt(byte & 0x7f) << BigInt(7 * index);
    if (byte < 0x80) return { value: Number(BigInt.asIntN(64, long)), end: start + index + 1 };
  }
  throw malformed();
}

function malformed(): Error {
  return badRequest('the body is not a well-formed protobuf message');
}
