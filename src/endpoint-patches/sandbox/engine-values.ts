/**
 * JSON values in the binary format of the engine (`JS_WriteObject` of QuickJS). The engine reads and
 * writes it in a fraction of the time that its JSON takes: each name of a property occurs once, and no
 * text is scanned for quotes and escapes.
 *
 * A document is a version, a table of names, and one value. Numbers are variable-length (LEB128).
 */
import type { JsonObject, JsonValue } from '../../apimachinery/index.ts';

const VERSION = 5;

const NULL = 1;
const UNDEFINED = 2;
const FALSE = 3;
const TRUE = 4;
const INTEGER = 5;
const DOUBLE = 6;
const TEXT = 7;
const OBJECT = 8;
const ARRAY = 9;

type Encodable = JsonValue | readonly JsonValue[];

/** The engine counts names from 1; the lowest bit of a reference marks an array index instead. */
const FIRST_NAME = 1;

export function encodeValue(value: Encodable): ArrayBuffer {
  const names = new Map<string, number>();
  const body = new Writer();
  writeValue(body, names, value);
  const head = new Writer(body);
  head.byte(VERSION);
  head.number(names.size);
  for (const name of names.keys()) head.text(name);
  const document = new Uint8Array(head.written.length + body.written.length);
  document.set(head.written);
  document.set(body.written, head.written.length);
  return document.buffer;
}

function writeValue(to: Writer, names: Map<string, number>, value: Encodable): void {
  if (typeof value === 'string') {
    to.byte(TEXT);
    to.text(value);
  } else if (typeof value === 'number') {
    writeNumber(to, value);
  } else if (typeof value !== 'object' || value === null) {
    to.byte(value === null ? NULL : value ? TRUE : FALSE);
  } else if (isArray(value)) {
    to.byte(ARRAY);
    to.number(value.length);
    for (const item of value) writeValue(to, names, item);
  } else {
    writeObject(to, names, value);
  }
}

function isArray(value: Encodable): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function writeObject(to: Writer, names: Map<string, number>, object: JsonObject): void {
  const keys = Object.keys(object);
  to.byte(OBJECT);
  to.number(keys.length);
  for (const key of keys) {
    const name = names.get(key) ?? names.size;
    if (name === names.size) names.set(key, name);
    to.number((name + FIRST_NAME) * 2);
    writeValue(to, names, object[key] ?? null);
  }
}

function writeNumber(to: Writer, value: number): void {
  const integer = value | 0;
  if (integer === value) {
    to.byte(INTEGER);
    to.number(((integer << 1) ^ (integer >> 31)) >>> 0);
  } else {
    to.byte(DOUBLE);
    to.double(value);
  }
}

/** Shared by all documents, each of which is written in one go; most fit in. */
const SCRATCH = Buffer.alloc(65_536);

class Writer {
  #bytes: Buffer;
  readonly #start: number;
  #at: number;

  /** Writes behind `last`. */
  constructor(last?: Writer) {
    this.#bytes = last === undefined ? SCRATCH : last.#bytes;
    this.#start = last === undefined ? 0 : last.#at;
    this.#at = this.#start;
  }

  get written(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#at);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  number(value: number): void {
    this.#reserve(5);
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.#at++] = rest;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** One byte a character where all are below 256, else two. */
  text(text: string): void {
    const start = this.#at;
    this.number(text.length * 2);
    this.#reserve(text.length);
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0xff) {
        this.#at = start;
        this.#wide(text);
        return;
      }
      this.#bytes[this.#at++] = code;
    }
  }

  #wide(text: string): void {
    this.number(text.length * 2 + 1);
    this.#reserve(text.length * 2);
    this.#at += this.#bytes.write(text, this.#at, 'utf16le');
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#at + bytes));
    larger.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = larger;
  }
}

/**
 * The value in `document`, or undefined if it holds more than JSON: a number that is none, an object
 * at two places, an object of another class. Like JSON, it has no undefined and no negative zero.
 */
export function decodeValue(document: Uint8Array): JsonValue | undefined {
  const reader = new Reader(document);
  const value = reader.value();
  return reader.isJson ? value : undefined;
}

class Reader {
  readonly #bytes: Buffer;
  /** A character for each byte: parts of a text cost less than texts that are made of bytes. */
  readonly #text: string;
  readonly #names: string[] = [];
  #at = 1;
  isJson = true;

  constructor({ buffer, byteOffset, length }: Uint8Array) {
    this.#bytes = Buffer.from(buffer, byteOffset, length);
    this.#text = this.#bytes.toString('latin1');
    if (this.#bytes[0] !== VERSION) throw new Error(`The engine writes version ${this.#bytes[0]}`);
    const names = this.#number();
    for (let i = 0; i < names; i++) this.#names.push(this.#string());
  }

  /** Undefined where JSON has none: after something that JSON does not have, nothing else is read. */
  value(): JsonValue | undefined {
    switch (this.#text.charCodeAt(this.#at++)) {
      case TEXT:
        return this.#string();
      case OBJECT:
        return this.#object();
      case ARRAY:
        return this.#array();
      case INTEGER: {
        const bits = this.#number();
        return (bits >>> 1) ^ -(bits & 1);
      }
      case DOUBLE:
        return this.#double();
      case NULL:
        return null;
      case FALSE:
        return false;
      case TRUE:
        return true;
      case UNDEFINED:
        return undefined;
      default:
        this.isJson = false;
        return undefined;
    }
  }

  #number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#text.charCodeAt(this.#at++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  #double(): number {
    const value = this.#bytes.readDoubleLE(this.#at);
    this.#at += 8;
    if (!Number.isFinite(value)) this.isJson = false;
    return value === 0 ? 0 : value;
  }

  #string(): string {
    const head = this.#number();
    const start = this.#at;
    const isWide = (head & 1) === 1;
    this.#at += isWide ? head - 1 : head >>> 1;
    return isWide
      ? this.#bytes.toString('utf16le', start, this.#at)
      : this.#text.slice(start, this.#at);
  }

  #array(): JsonValue {
    const items: JsonValue[] = [];
    for (let left = this.#number(); left > 0 && this.isJson; left--) {
      items.push(this.value() ?? null);
    }
    return items;
  }

  #object(): JsonValue {
    const object: { [key: string]: JsonValue } = {};
    for (let left = this.#number(); left > 0 && this.isJson; left--) {
      const reference = this.#number();
      const isIndex = (reference & 1) === 1;
      const key = isIndex ? String(reference >>> 1) : this.#names[(reference >>> 1) - FIRST_NAME];
      const value = this.value();
      if (value === undefined || key === undefined) continue;
      // A key like any other in JSON; an assignment would set the prototype.
      if (key === '__proto__') Object.defineProperty(object, key, { ...OWN, value });
      else object[key] = value;
    }
    return object;
  }
}

const OWN = { enumerable: true, writable: true, configurable: true } as const;
