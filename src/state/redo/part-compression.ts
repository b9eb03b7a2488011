/**
 * Compression of the parts in a file of the redo log. Records of one kind share most of their text, so
 * the end of the part before is the preset dictionary (RFC 1950, FDICT).
 */
import { deflateSync, inflateSync, type ZlibOptions } from 'node:zlib';

/** Two records of 2 KB. A longer dictionary takes longer to load than it saves. */
const DICTIONARY_BYTES = 4096;
/** A window of 8 KiB, which starts faster than the default of 32 KiB. */
const COMPRESSION: ZlibOptions = { level: 6, windowBits: 13, memLevel: 6 };
/** Output of `deflateSync` in one allocation. */
const MIN_CHUNK_BYTES = 1024;
const MAX_CHUNK_BYTES = 128 * 1024;
/** Above the largest part; a part holds no more than the objects of one request and the documents. */
const MAX_PART_BYTES = 256 * 1024 * 1024;
/** First byte of a part that is not compressed, as format 1 has them. A zlib stream has 8 in its low bits. */
const PLAIN = '{'.charCodeAt(0);

/** Compresses the part at one position of a file; the part before it is the dictionary. */
export class PartCompressor {
  readonly #dictionary: Buffer | undefined;

  constructor(dictionary?: Buffer) {
    this.#dictionary = dictionary;
  }

  /** The position after a part, given as plain bytes. */
  after(part: Buffer): PartCompressor {
    return new PartCompressor(part.subarray(-DICTIONARY_BYTES));
  }

  compress(part: Buffer): Buffer {
    const chunkSize = Math.min(Math.max(part.length, MIN_CHUNK_BYTES), MAX_CHUNK_BYTES);
    return deflateSync(part, { ...COMPRESSION, chunkSize, ...this.#options });
  }

  /** Throws for a damaged part. A part that was written without a dictionary needs none. */
  decompress(stored: Buffer): Buffer {
    if (stored[0] === PLAIN) return stored;
    return inflateSync(stored, { maxOutputLength: MAX_PART_BYTES, ...this.#options });
  }

  get #options(): ZlibOptions {
    return this.#dictionary === undefined ? {} : { dictionary: this.#dictionary };
  }
}
