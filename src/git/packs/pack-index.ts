/**
 * Index of a pack (gitformat-pack, version 2, without offsets of more than 2 GiB): sorted ids behind a table
 * of counts by first byte, then checksums and offsets in the same order.
 */
const MAGIC = 'ff744f6300000002';
const FAN_OUT = 8;
const IDS = FAN_OUT + 256 * 4;
const ID_BYTES = 20;
const CHECKSUM_BYTES = 4;
const OFFSET_BYTES = 4;

export class PackIndex {
  readonly #bytes: Buffer;
  readonly #count: number;

  private constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#count = bytes.readUInt32BE(IDS - 4);
  }

  /** Undefined: the bytes are not a whole index of version 2. */
  static parse(bytes: Buffer): PackIndex | undefined {
    if (bytes.length < IDS || bytes.toString('hex', 0, FAN_OUT) !== MAGIC) return undefined;
    const index = new PackIndex(bytes);
    return index.#offsets + OFFSET_BYTES * index.#count > bytes.length ? undefined : index;
  }

  has(id: string): boolean {
    return this.#positionOf(id) !== undefined;
  }

  /** Position of the object in the pack, in bytes. */
  offsetOf(id: string): number | undefined {
    const position = this.#positionOf(id);
    return position === undefined
      ? undefined
      : this.#bytes.readUInt32BE(this.#offsets + OFFSET_BYTES * position);
  }

  get #offsets(): number {
    return IDS + (ID_BYTES + CHECKSUM_BYTES) * this.#count;
  }

  #positionOf(id: string): number | undefined {
    const wanted = Buffer.from(id, 'hex');
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = IDS + ID_BYTES * middle;
      const order = wanted.compare(this.#bytes, at, at + ID_BYTES);
      if (order === 0) return middle;
      if (order < 0) high = middle;
      else low = middle + 1;
    }
    return undefined;
  }
}
