/**
 * The protobuf wire format, as far as it takes to write messages (protobuf.dev, "Encoding").
 * Absent and default values are left out, as proto3 has it.
 */

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;

export class ProtobufWriter {
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
