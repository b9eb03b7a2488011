import type { FileReader } from '../../../catalog/index.ts';
import { objectId } from '../../../git/index.ts';
import type { ReadEntry } from './object-merge.ts';

/** Reads texts that git need not have. */
export function entryReader(reader: Pick<FileReader, 'read'>): ReadEntry {
  return (path, text) => {
    const content = Buffer.from(text);
    return reader.read(path, objectId('blob', content), content);
  };
}
