/** The ids in a pack index (gitformat-pack, version 2): sorted, behind a table of counts by first byte. */
import { readFile, stat } from 'node:fs/promises';

const MAGIC = 'ff744f6300000002';
const FAN_OUT = 8;
const IDS = FAN_OUT + 256 * 4;
const ID_BYTES = 20;

export class PackIndex {
  readonly #bytes: Buffer;

  private constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Undefined: the index is larger than `maxBytes`, or not one of version 2. */
  static async read(path: string, maxBytes: number): Promise<PackIndex | undefined> {
    if ((await stat(path)).size > maxBytes) return undefined;
    const bytes = await readFile(path);
    const isIndex = bytes.length >= IDS && bytes.toString('hex', 0, FAN_OUT) === MAGIC;
    if (!isIndex) return undefined;
    return IDS + bytes.readUInt32BE(IDS - 4) * ID_BYTES > bytes.length
      ? undefined
      : new PackIndex(bytes);
  }

  has(id: string): boolean {
    const wanted = Buffer.from(id, 'hex');
    let low = 0;
    let high = this.#bytes.readUInt32BE(IDS - 4);
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = IDS + middle * ID_BYTES;
      const order = wanted.compare(this.#bytes, at, at + ID_BYTES);
      if (order === 0) return true;
      if (order < 0) high = middle;
      else low = middle + 1;
    }
    return false;
  }
}
