/**
 * Compression of records and of parts of the redo log. Compressed bytes are a zlib stream (RFC 1950),
 * whose first byte has 8 in its low bits. The first byte of JSON has not, so plain bytes are read too.
 */
import { deflate, deflateSync, inflate, inflateSync, type ZlibOptions } from 'node:zlib';

/** Window of 8 KiB, which starts faster than the default of 32 KiB. Records repeat within less. */
export const COMPRESSION: ZlibOptions = { level: 6, windowBits: 13 };
/** Above the largest record; a record or part holds no more than the objects of one request. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Output of one allocation: a pack of small objects shrinks to less, and grows to less. */
const CHUNK_BYTES = { compressed: 64 * 1024, plain: 128 * 1024 };

export function isCompressed(bytes: Buffer): boolean {
  return ((bytes[0] ?? 0) & 0x0f) === 8;
}

export function compress(plain: Buffer): Buffer {
  return deflateSync(plain, { ...COMPRESSION, chunkSize: CHUNK_BYTES.compressed });
}

/** The same in the thread pool. */
export function compressInPool(plain: Buffer): Promise<Buffer> {
  const options = { ...COMPRESSION, chunkSize: CHUNK_BYTES.compressed };
  return new Promise((resolve, reject) =>
    deflate(plain, options, (error, bytes) => (error === null ? resolve(bytes) : reject(error))),
  );
}

/** Returns plain bytes as they are. Throws for a damaged stream, and for one of another dictionary. */
export function decompress(bytes: Buffer, dictionary?: Buffer): Buffer {
  if (!isCompressed(bytes)) return bytes;
  const limits = { maxOutputLength: MAX_BYTES, chunkSize: CHUNK_BYTES.plain };
  return exact(inflateSync(bytes, dictionary === undefined ? limits : { ...limits, dictionary }));
}

/** The same in the thread pool. */
export function decompressInPool(bytes: Buffer): Buffer | Promise<Buffer> {
  if (!isCompressed(bytes)) return bytes;
  const options = { maxOutputLength: MAX_BYTES, chunkSize: CHUNK_BYTES.plain };
  return new Promise((resolve, reject) =>
    inflate(bytes, options, (error, plain) =>
      error === null ? resolve(exact(plain)) : reject(error),
    ),
  );
}

/** A copy without the rest of its chunk, which would live as long as the record. */
function exact(plain: Buffer): Buffer {
  if (plain.buffer.byteLength === plain.length) return plain;
  const own = Buffer.allocUnsafeSlow(plain.length);
  plain.copy(own);
  return own;
}
