/** Records of the repository log: their parts, sizes and keys, and records that are not whole. */
import { expect, test } from 'vitest';
import type { Operation } from '../../src/etcd/index.ts';
import { keysBelow, sequenceKey } from '../../src/replication/keys.ts';
import {
  type BranchHead,
  type Move,
  readHead,
  readMove,
  readRecord,
  recordOf,
} from '../../src/replication/log-record.ts';
import { endOf } from '../../src/replication/repository-log.ts';

const PART = 512 * 1024;
const keys = keysBelow('test/');

/** Seals nothing, and refuses content under another name. */
const codec = {
  encode: (name: string, plain: Buffer) => Buffer.concat([Buffer.from(`${name}|`), plain]),
  decode: (name: string, sealed: Buffer) => {
    const at = sealed.indexOf('|');
    expect(sealed.subarray(0, at).toString()).toBe(name);
    return sealed.subarray(at + 1);
  },
};

interface Put {
  readonly put: string;
  readonly value: Buffer;
}

const puts = (operations: readonly Operation[]): Put[] => operations as unknown as Put[];

function move(packBytes: number, indexBytes: number | undefined): Move {
  const index = indexBytes === undefined ? undefined : Buffer.alloc(indexBytes, 'i');
  return { from: 'old', to: 'new', pack: Buffer.alloc(packBytes, 'p'), index };
}

test.each([
  [10, undefined, 1],
  [10, 5, 1],
  [PART, undefined, 1],
  [PART - 5, 5, 1],
  [PART, 5, 2],
  [2 * PART + 1, undefined, 3],
])(
  'a pack of %i bytes with an index of %s has %i parts, and is read as it was',
  (packBytes, indexBytes, count) => {
    const after: BranchHead = { commit: 'old', sequence: 6, bytes: 100 };
    const wanted = move(packBytes, indexBytes);

    const { parts, last, head } = recordOf({ keys, codec }, after, wanted);

    const bytes = 100 + packBytes + (indexBytes ?? 0);
    expect(head).toEqual({ commit: 'new', sequence: 7, bytes });
    expect(parts).toHaveLength(count - 1);
    const [tail, record, newest] = puts(last);
    const content = [...puts(parts), tail as Put];
    expect(content.map(({ put }) => put)).toEqual(
      content.map((_, part) => `${sequenceKey(keys.packs, 7)}/000${part}`),
    );
    expect(content.every(({ value }) => value.length <= PART + 50)).toBe(true);
    expect(newest?.put).toBe(keys.head);
    expect(readHead(newest?.value as Buffer)).toEqual(head);
    const read = readRecord({ key: record?.put ?? '', value: record?.value as Buffer });
    expect(read).toEqual({
      from: 'old',
      to: 'new',
      sequence: 7,
      parts: count,
      packBytes,
      indexBytes: indexBytes ?? 0,
      bytes,
    });
    const values = content.map(({ value }) => value);
    expect(readMove({ codec }, read, values)).toEqual(wanted);
    expect(() => readMove({ codec }, read, values.slice(0, -1))).toThrow('incomplete');
  },
);

test('the first record begins the sequence and the bytes', () => {
  const { head } = recordOf({ keys, codec }, undefined, { ...move(3, 2), from: undefined });
  expect(head).toEqual({ commit: 'new', sequence: 1, bytes: 5 });
});

test('the end of a prefix is behind all of its keys and before others', () => {
  const end = endOf('git/log/');
  expect(['git/log/', 'git/log/~'].every((key) => key < end)).toBe(true);
  expect(['git/log1', 'git/logs/a'].every((key) => key > end)).toBe(true);
});
