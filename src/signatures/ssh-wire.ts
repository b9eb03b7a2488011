/** Encoding of SSH keys and signatures (RFC 4251, section 5): big-endian lengths, then bytes. */
import { SignatureError } from './signature-error.ts';

export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  take(count: number): Buffer {
    const end = this.#at + count;
    if (end > this.#bytes.length) throw new SignatureError('it is truncated');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  uint8(): number {
    return this.take(1).readUInt8();
  }

  uint32(): number {
    return this.take(4).readUInt32BE();
  }

  string(): Buffer {
    return this.take(this.uint32());
  }

  text(): string {
    return this.string().toString('latin1');
  }

  /** Positive integer as its bytes, without leading zeros. */
  integer(): Buffer {
    const bytes = this.string();
    if ((bytes[0] ?? 0) > 0x7f) throw new SignatureError('it contains a negative number');
    const first = bytes.findIndex((byte) => byte !== 0);
    return first === -1 ? Buffer.alloc(0) : bytes.subarray(first);
  }

  /** Throws if bytes remain: they would never be checked. */
  end(): void {
    if (this.#at !== this.#bytes.length) throw new SignatureError('it has trailing data');
  }

  rest(): Buffer {
    return this.take(this.#bytes.length - this.#at);
  }
}

export function wireString(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

export function wireInteger(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Buffer.alloc(0) : bytes.subarray(first);
  // A leading zero byte keeps the number positive.
  return wireString((digits[0] ?? 0) > 0x7f ? Buffer.concat([Buffer.alloc(1), digits]) : digits);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
