/**
 * Bodies in protobuf, as kubectl sends them for kinds that it has Go types of: the envelope of
 * Kubernetes (`runtime.Unknown` behind four magic bytes) and, by a table of fields, what is in it.
 * Only strings, lists and maps of strings and messages of these are read; every other field is skipped.
 */
import { badRequest } from '../../apimachinery/status-error.ts';

export const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf';

/** Number of a field → its name, and what it holds when it is not a string. */
export interface MessageShape {
  readonly [field: number]: readonly [name: string, holds?: 'strings' | 'map' | MessageShape];
}

const MAGIC = Buffer.from('k8s\0');
const UNKNOWN = { typeMeta: 1, raw: 2 } as const;
const TYPE_META: MessageShape = { 1: ['apiVersion'], 2: ['kind'] };

/** A map is a list of these. */
const ENTRY: MessageShape = { 1: ['key'], 2: ['value'] };

/** Wire types of protobuf; groups are long gone and refused. */
const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** The message as a JSON object with its apiVersion and kind. Throws 400 for what is none. */
export function decodeProtobuf(body: Buffer, shape: MessageShape): Record<string, unknown> {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw badRequest('the body is not a Kubernetes protobuf message');
  }
  let head: Record<string, unknown> = {};
  let object: Record<string, unknown> = {};
  for (const { field, bytes } of fieldsOf(body.subarray(MAGIC.length))) {
    if (field === UNKNOWN.typeMeta) head = readMessage(bytes, TYPE_META);
    if (field === UNKNOWN.raw) object = readMessage(bytes, shape);
  }
  return { ...head, ...object };
}

function readMessage(message: Buffer, shape: MessageShape): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const { field, bytes } of fieldsOf(message)) {
    const known = shape[field];
    if (known === undefined) continue;
    const [name, holds] = known;
    if (holds === 'strings') {
      object[name] = [...((object[name] as string[] | undefined) ?? []), bytes.toString('utf8')];
    } else if (holds === 'map') {
      const { key = '', value = '' } = readMessage(bytes, ENTRY);
      object[name] = { ...(object[name] as object | undefined), [String(key)]: value };
    } else if (holds !== undefined) object[name] = readMessage(bytes, holds);
    // Go writes empty strings, which JSON leaves out.
    else if (bytes.length > 0) object[name] = bytes.toString('utf8');
  }
  return object;
}

/** The fields that hold bytes; those that hold numbers are passed over. */
function* fieldsOf(message: Buffer): Iterable<{ field: number; bytes: Buffer }> {
  let at = 0;
  while (at < message.length) {
    const tag = varint(message, at);
    const [field, wire] = [Math.floor(tag.value / 8), tag.value % 8];
    at = tag.end;
    if (wire === WIRE.varint) at = varint(message, at).end;
    else if (wire === WIRE.fixed64) at += 8;
    else if (wire === WIRE.fixed32) at += 4;
    else if (wire === WIRE.bytes) {
      const length = varint(message, at);
      at = length.end + length.value;
      if (at <= message.length) yield { field, bytes: message.subarray(length.end, at) };
    } else throw malformed();
    if (at > message.length) throw malformed();
  }
}

/** Numbers beyond 2^53 lose digits, and are lengths or tags of nothing that could be here. */
function varint(message: Buffer, start: number): { value: number; end: number } {
  let value = 0;
  for (let index = 0; index < 10; index++) {
    const byte = message[start + index];
    if (byte === undefined) break;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, end: start + index + 1 };
  }
  throw malformed();
}

function malformed(): Error {
  return badRequest('the body is not a well-formed protobuf message');
}
