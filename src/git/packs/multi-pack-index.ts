/** Reads the pack names from a multi-pack-index (gitformat-pack, "multi-pack-index files"). */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../git-error.ts';

const HEADER = 12;
const CHUNK = 12;
const PACK_NAMES = 'PNAM';

/** Pack names without extension; empty if the index is missing or unreadable. */
export async function packsOfMultiPackIndex(folder: string): Promise<ReadonlySet<string>> {
  try {
    return new Set(await readNames(join(folder, 'multi-pack-index')));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return new Set();
    throw error;
  }
}

async function readNames(path: string): Promise<string[]> {
  const file = await open(path, 'r');
  try {
    const read = async (position: number, length: number): Promise<Buffer> => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
      return buffer.subarray(0, bytesRead);
    };
    const header = await read(0, HEADER);
    if (header.length < HEADER || header.toString('latin1', 0, 4) !== 'MIDX') return [];
    const chunks = await read(HEADER, (header.readUInt8(6) + 1) * CHUNK);
    for (let at = 0; at + 2 * CHUNK <= chunks.length; at += CHUNK) {
      if (chunks.toString('latin1', at, at + 4) !== PACK_NAMES) continue;
      const start = Number(chunks.readBigUInt64BE(at + 4));
      const end = Number(chunks.readBigUInt64BE(at + CHUNK + 4));
      if (start > end || end > (await file.stat()).size) return [];
      const names = (await read(start, end - start)).toString('utf8').split('\0');
      return names.filter((name) => name !== '').map((name) => name.replace(/\.[^.]*$/, ''));
    }
    return [];
  } finally {
    await file.close();
  }
}
