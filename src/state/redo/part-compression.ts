/**
 * Compression of the parts in a file of the redo log. Records of one kind share most of their text, so
 * the end of the part before is the preset dictionary (RFC 1950, FDICT).
 */
import { deflateSync, type ZlibOptions } from 'node:zlib';
import { COMPRESSION, decompress } from '../records/compression.ts';

/** Two records of 2 KB. A longer dictionary takes longer to load than it saves. */
const DICTIONARY_BYTES = 4096;
/** Less memory to initialize than by default: a part of one write is small. */
const MEM_LEVEL = 6;
/** Output of `deflateSync` in one allocation. */
const MIN_CHUNK_BYTES = 1024;
const MAX_CHUNK_BYTES = 128 * 1024;

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
    return deflateSync(part, { ...COMPRESSION, memLevel: MEM_LEVEL, chunkSize, ...this.#options });
  }

  /** Throws for a damaged part. A part that was written without a dictionary needs none, and one of format 1 is plain. */
  decompress(stored: Buffer): Buffer {
    return decompress(stored, this.#dictionary);
  }

  get #options(): ZlibOptions {
    return this.#dictionary === undefined ? {} : { dictionary: this.#dictionary };
  }
}
