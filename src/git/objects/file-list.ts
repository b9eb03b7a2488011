/** Parser for the output of `git ls-tree -r -z`: `<mode> SP <type> SP <id> TAB <path> NUL`. */
import { isUtf8 } from 'node:buffer';
import type { PathChange, TreeFile } from '../repository.ts';
import { decodePath } from './path-text.ts';

const MODE_LENGTH = 6;
const ID_LENGTH = 40;

export function parseFileList(output: Buffer): TreeFile[] {
  // One decode of everything is several times faster than one per path.
  const records = isUtf8(output)
    ? output.toString('utf8').split('\0')
    : output
        .toString('latin1')
        .split('\0')
        .map((record) => decodePath(Buffer.from(record, 'latin1')));
  records.pop();
  return records.map(parseRecord);
}

function parseRecord(record: string): TreeFile {
  const tab = record.indexOf('\t');
  return {
    mode: record.slice(0, MODE_LENGTH),
    id: record.slice(tab - ID_LENGTH, tab),
    path: record.slice(tab + 1),
  };
}

/** Change that adds the file. */
export function asAddition(file: TreeFile): PathChange {
  return { path: file.path, newId: file.id, mode: file.mode };
}
