/** The file format of WAL segments, intact and torn. */
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GitError } from '../../../src/git/git-error.ts';
import type { Publication } from '../../../src/git/publication/publisher.ts';
import {
  cancellationPayload,
  decodeWal,
  encodeRecord,
  headPayload,
  publicationPayload,
} from '../../../src/git/wal/wal-format.ts';

const publication = (n: number): Publication => ({
  parent: n === 0 ? undefined : String(n).repeat(40),
  tip: String(n + 1).repeat(40),
  objects: [
    {
      id: 'a'.repeat(40),
      type: 'blob',
      data: Buffer.from(`${n} `.repeat(n * 1500)),
      base: undefined,
    },
  ],
});
const record = (sequence: number, epoch = 7): Buffer =>
  encodeRecord({
    kind: 'publication',
    epoch,
    sequence,
    payload: publicationPayload(publication(sequence)),
  });
const head = (epoch = 7): Buffer =>
  encodeRecord({
    kind: 'head',
    epoch,
    sequence: 0,
    payload: headPayload({ ref: 'refs/heads/main', owner: 'me' }),
  });

test('a decoded segment has no canceled records and none of an earlier use', () => {
  const off = encodeRecord({
    kind: 'canceled',
    epoch: 7,
    sequence: 4,
    payload: cancellationPayload(2),
  });
  const bytes = Buffer.concat([head(), record(1), record(2), record(3), off, record(5, 6)]);

  expect(decodeWal(bytes)).toEqual({
    ref: 'refs/heads/main',
    owner: 'me',
    epoch: 7,
    publications: [publication(1), publication(3)],
  });
});

test.each([
  ['nothing', ''],
  ['a length beyond its end', '\xff\xff\xff\xff{'],
  ['no objects', '\0\0\0\x02{}'],
])('bytes that are whole and of another version (%s) are not passed over', (_what, text) => {
  const payload = [Buffer.from(text, 'latin1')];
  const other = encodeRecord({ kind: 'publication', epoch: 7, sequence: 2, payload });
  expect(() => decodeWal(Buffer.concat([head(), record(1), other]))).toThrow(GitError);
});

test('a torn segment decodes to its records before the tear', () => {
  const parts = [head(), record(1), record(2), record(3)];
  const whole = Buffer.concat(parts);
  const ends = parts.map((_part, i) =>
    parts.slice(0, i + 1).reduce((sum, { length }) => sum + length, 0),
  );
  fc.assert(
    fc.property(
      fc.nat(whole.length - 1),
      fc.uint8Array({ minLength: 1, maxLength: 6000 }),
      (at, noise) => {
        const torn = Buffer.from(whole);
        torn.set(noise.subarray(0, whole.length - at), at);
        const read = decodeWal(torn);
        const safe = ends.filter((end) => end <= at).length;
        if (safe === 0 && read === undefined) return;
        const found = read?.publications ?? [];
        expect(found.length).toBeGreaterThanOrEqual(safe - 1);
        expect(found.map(({ tip }) => tip)).toEqual(
          [1, 2, 3].slice(0, found.length).map((n) => publication(n).tip),
        );
        for (const { tip, objects } of found) {
          expect(
            objects[0]?.data.equals(
              publication(Number(tip[0]) - 1).objects[0]?.data ?? Buffer.alloc(0),
            ),
          ).toBe(true);
        }
      },
    ),
  );
});

test('a file that does not begin with a head record has no content', () => {
  expect(decodeWal(Buffer.alloc(0))).toBeUndefined();
  expect(decodeWal(Buffer.alloc(23, 1))).toBeUndefined();
  expect(decodeWal(Buffer.alloc(8192))).toBeUndefined();
  expect(decodeWal(record(0))).toBeUndefined();
});

test('a record that ends where the file does is read, and one that is cut there is not', () => {
  const payload = headPayload({ ref: 'refs/heads/main', owner: 'm'.repeat(4000) });
  const used = 24 + payload.reduce((sum, { length }) => sum + length, 0);
  const whole = encodeRecord({ kind: 'head', epoch: 7, sequence: 0, payload });
  expect(used).toBeLessThan(whole.length);
  expect(decodeWal(whole.subarray(0, used))?.epoch).toBe(7);
  expect(decodeWal(whole.subarray(0, used - 1))).toBeUndefined();
});

test('a record has the room of whole blocks, with nothing of other memory behind it', () => {
  for (const length of [1, 4096 - 24, 4096 - 23]) {
    const payload = [Buffer.alloc(length, 1)];
    const bytes = encodeRecord({ kind: 'head', epoch: 1, sequence: 0, payload });
    expect(bytes.length).toBe(length > 4096 - 24 ? 8192 : 4096);
    expect(bytes.subarray(24 + length).every((byte) => byte === 0)).toBe(true);
  }
});

test('a record with a wrong sequence ends the segment', () => {
  expect(decodeWal(Buffer.concat([head(), record(2)]))?.publications).toEqual([]);
});

/** With a right checksum: kind 9. */
function unknown(epoch: number): Buffer {
  const bytes = encodeRecord({ kind: 'head', epoch, sequence: 1, payload: [Buffer.from('x')] });
  bytes.writeUInt32BE(9, 16);
  bytes.writeUInt32BE(crc32(bytes.subarray(8, 25)), 4);
  return bytes;
}

test('a record of a kind that this version does not know is not passed over', () => {
  expect(() => decodeWal(Buffer.concat([head(), unknown(7), record(2)]))).toThrow(GitError);
});

test('an unknown record of an earlier use of the file ends the segment', () => {
  expect(decodeWal(Buffer.concat([head(), unknown(6), record(2)]))?.publications).toEqual([]);
});
