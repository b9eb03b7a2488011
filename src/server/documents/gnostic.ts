/**
 * An OpenAPI v2 document in the messages of gnostic's `OpenAPIv2.proto` (package `openapi.v2`), the
 * form in which kubectl before 1.29 reads it. The numbers are those of its fields; what the
 * documents here never hold is not written.
 */
import { isRecord, type JsonObject, type JsonValue } from '../../apimachinery/index.ts';

/**
 * The protobuf wire format, as far as it takes to write messages (protobuf.dev, "Encoding").
 * Absent and default values are left out, as proto3 has it.
 */

const VARINT = 0;

const FIXED64 = 1;

const LENGTH_DELIMITED = 2;

export function encodeOpenApiV2(document: JsonObject): Buffer {
  return new ProtobufWriter()
    .text(1, document['swagger'])
    .message(2, info(mapIn(document, 'info')))
    .message(8, paths(mapIn(document, 'paths')))
    .message(9, named(mapIn(document, 'definitions'), schema))
    .finish();
}

function mapIn(value: JsonObject, key: string): JsonObject {
  const child = value[key];
  return isRecord(child) ? child : {};
}

function listIn(value: JsonObject, key: string): JsonValue[] {
  const child = value[key];
  return Array.isArray(child) ? child : [];
}

/** A map as gnostic has it: a message of (1 name, 2 value) pairs, in field 1. */
function named(map: JsonObject, write: (value: JsonObject) => ProtobufWriter): ProtobufWriter {
  return new ProtobufWriter().messages(1, pairs(map, write));
}

function pairs(map: JsonObject, write: (value: JsonObject) => ProtobufWriter): ProtobufWriter[] {
  return Object.entries(map).map(([name, value]) =>
    new ProtobufWriter().text(1, name).message(2, write(value as JsonObject)),
  );
}

/** `Any`: readers parse its text as YAML, and JSON is YAML. */
function any(value: JsonValue): ProtobufWriter {
  return new ProtobufWriter().text(2, JSON.stringify(value));
}

/** Every `x-…` key as a pair of name and `Any`. */
function extensions(of: JsonObject): ProtobufWriter[] {
  return Object.entries(of)
    .filter(([name]) => name.startsWith('x-'))
    .map(([name, value]) => new ProtobufWriter().text(1, name).message(2, any(value)));
}

function info(of: JsonObject): ProtobufWriter {
  return new ProtobufWriter().text(1, of['title']).text(2, of['version']);
}

function paths(of: JsonObject): ProtobufWriter {
  return new ProtobufWriter().messages(2, pairs(of, pathItem));
}

function pathItem(of: JsonObject): ProtobufWriter {
  const at = (method: string) => (isRecord(of[method]) ? operation(of[method]) : undefined);
  return new ProtobufWriter()
    .message(2, at('get'))
    .message(3, at('put'))
    .message(4, at('post'))
    .message(5, at('delete'))
    .message(8, at('patch'));
}

function operation(of: JsonObject): ProtobufWriter {
  const responses = new ProtobufWriter().messages(1, pairs(mapIn(of, 'responses'), response));
  return new ProtobufWriter()
    .texts(1, of['tags'])
    .text(3, of['description'])
    .text(5, of['operationId'])
    .texts(6, of['produces'])
    .texts(7, of['consumes'])
    .messages(8, listIn(of, 'parameters').map(parameter))
    .message(9, responses)
    .texts(10, of['schemes'])
    .messages(13, extensions(of));
}

/** `ResponseValue` with a `Response` whose schema is a `SchemaItem`. */
function response(of: JsonObject): ProtobufWriter {
  const content = new ProtobufWriter().text(1, of['description']);
  if (isRecord(of['schema'])) {
    content.message(2, new ProtobufWriter().message(1, schema(of['schema'])));
  }
  return new ProtobufWriter().message(1, content);
}

/** `ParametersItem` with a `Parameter`, which is a body parameter or one of four others. */
function parameter(value: JsonValue): ProtobufWriter {
  const of = value as JsonObject;
  const one = new ProtobufWriter();
  if (of['in'] === 'body') one.message(1, bodyParameter(of));
  else one.message(2, nonBodyParameter(of));
  return new ProtobufWriter().message(1, one);
}

function bodyParameter(of: JsonObject): ProtobufWriter {
  return new ProtobufWriter()
    .text(1, of['description'])
    .text(2, of['name'])
    .text(3, of['in'])
    .flag(4, of['required'])
    .message(5, schema(mapIn(of, 'schema')));
}

/** The sub-schemas of query and path parameters differ in where type and uniqueItems stand. */
function nonBodyParameter(of: JsonObject): ProtobufWriter {
  const isQuery = of['in'] === 'query';
  const content = new ProtobufWriter()
    .flag(1, of['required'])
    .text(2, of['in'])
    .text(3, of['description'])
    .text(4, of['name'])
    .text(isQuery ? 6 : 5, of['type'])
    .flag(isQuery ? 20 : 19, of['uniqueItems']);
  return new ProtobufWriter().message(isQuery ? 3 : 4, content);
}

function schema(of: JsonObject): ProtobufWriter {
  const writer = new ProtobufWriter()
    .text(1, of['$ref'])
    .text(2, of['format'])
    .text(4, of['description'])
    .message(5, of['default'] === undefined ? undefined : any(of['default']))
    .double(7, of['maximum'])
    .double(9, of['minimum'])
    .integer(11, of['maxLength'])
    .integer(12, of['minLength'])
    .text(13, of['pattern'])
    .integer(14, of['maxItems'])
    .integer(15, of['minItems'])
    .flag(16, of['uniqueItems'])
    .texts(19, of['required'])
    .messages(20, listIn(of, 'enum').map(any));
  return nested(of, writer).messages(31, extensions(of));
}

/** Of `AdditionalPropertiesItem`, `TypeItem`, `ItemsItem` and `Properties`. */
function nested(of: JsonObject, writer: ProtobufWriter): ProtobufWriter {
  const { additionalProperties, type, items, properties } = of;
  if (isRecord(additionalProperties)) {
    const value = schema(additionalProperties);
    writer.message(21, new ProtobufWriter().message(1, value));
  } else if (additionalProperties === true) {
    writer.message(21, new ProtobufWriter().flag(2, true));
  }
  if (typeof type === 'string') writer.message(22, new ProtobufWriter().texts(1, [type]));
  if (isRecord(items)) {
    writer.message(23, new ProtobufWriter().message(1, schema(items)));
  }
  if (isRecord(properties)) writer.message(25, named(properties, schema));
  return writer;
}

class ProtobufWriter {
  readonly #parts: Buffer[] = [];

  text(field: number, value: unknown): this {
    return typeof value === 'string' && value !== ''
      ? this.#delimited(field, Buffer.from(value))
      : this;
  }

  texts(field: number, values: unknown): this {
    if (!Array.isArray(values)) return this;
    for (const value of values) this.#delimited(field, Buffer.from(String(value)));
    return this;
  }

  flag(field: number, value: unknown): this {
    return value === true ? this.#tag(field, VARINT).#push(Buffer.of(1)) : this;
  }

  /** A whole number from 0 up. */
  integer(field: number, value: unknown): this {
    if (typeof value !== 'number' || value === 0) return this;
    return this.#tag(field, VARINT).#push(varint(value));
  }

  double(field: number, value: unknown): this {
    if (typeof value !== 'number' || value === 0) return this;
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    return this.#tag(field, FIXED64).#push(bytes);
  }

  /** An empty message is written too: that it is there may be what it says. */
  message(field: number, value: ProtobufWriter | undefined): this {
    return value === undefined ? this : this.#delimited(field, value.finish());
  }

  messages(field: number, values: readonly ProtobufWriter[]): this {
    for (const value of values) this.message(field, value);
    return this;
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #delimited(field: number, bytes: Buffer): this {
    return this.#tag(field, LENGTH_DELIMITED).#push(varint(bytes.length)).#push(bytes);
  }

  #tag(field: number, wireType: number): this {
    return this.#push(varint(field * 8 + wireType));
  }

  #push(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) + 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return Buffer.from([...bytes, rest]);
}
