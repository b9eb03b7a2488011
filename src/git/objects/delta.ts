/**
 * Deltas between trees, in the pack encoding of git (gitformat-pack, "Deltified representation"). The
 * newer tree is the base and the older one the result, so that the most read version is stored whole.
 */
import type { Splice } from './tree.ts';

const MAX_COPY = 0xffffff;
const MAX_INSERT = 127;

/** Delta from `newer` to `older`, given the splices that turned `older` into `newer`. */
export function reverseDelta(older: Buffer, newer: Buffer, splices: readonly Splice[]): Buffer {
  const parts: Buffer[] = [encodeSize(newer.length), encodeSize(older.length)];
  let inOlder = 0;
  let inNewer = 0;
  for (const { start, end, inserted } of splices) {
    copy(parts, inNewer, start - inOlder);
    insert(parts, older.subarray(start, end));
    inNewer += start - inOlder + inserted;
    inOlder = end;
  }
  copy(parts, inNewer, older.length - inOlder);
  return Buffer.concat(parts);
}

/** Applies a delta of `reverseDelta` to its base. */
export function applyDelta(base: Buffer, delta: Buffer): Buffer {
  const parts: Buffer[] = [];
  let at = sizeEnd(delta, sizeEnd(delta, 0));
  while (at < delta.length) {
    const instruction = delta[at++] ?? 0;
    if (instruction < 0x80) {
      parts.push(delta.subarray(at, at + instruction));
      at += instruction;
      continue;
    }
    const fields = [0, 0, 0, 0, 0, 0, 0].map((_, i) =>
      (instruction & (1 << i)) === 0 ? 0 : (delta[at++] ?? 0),
    );
    const [o0 = 0, o1 = 0, o2 = 0, o3 = 0, s0 = 0, s1 = 0, s2 = 0] = fields;
    const from = o0 + o1 * 2 ** 8 + o2 * 2 ** 16 + o3 * 2 ** 24;
    parts.push(base.subarray(from, from + s0 + s1 * 2 ** 8 + s2 * 2 ** 16));
  }
  return Buffer.concat(parts);
}

function sizeEnd(delta: Buffer, at: number): number {
  let end = at;
  while ((delta[end] ?? 0) > 0x7f) end += 1;
  return end + 1;
}

/** Encodes little-endian, seven bits per byte. */
function encodeSize(size: number): Buffer {
  const bytes: number[] = [];
  let rest = size;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}

function copy(parts: Buffer[], from: number, length: number): void {
  for (let done = 0; done < length; done += MAX_COPY) {
    parts.push(copyInstruction(from + done, Math.min(MAX_COPY, length - done)));
  }
}

/** Only nonzero bytes are written; the low seven bits of the first byte say which. */
function copyInstruction(offset: number, size: number): Buffer {
  const fields = [
    offset & 0xff,
    (offset >>> 8) & 0xff,
    (offset >>> 16) & 0xff,
    offset >>> 24,
    size & 0xff,
    (size >>> 8) & 0xff,
    size >>> 16,
  ];
  let present = 0x80;
  const bytes: number[] = [];
  fields.forEach((value, i) => {
    if (value === 0) return;
    present |= 1 << i;
    bytes.push(value);
  });
  return Buffer.from([present, ...bytes]);
}

function insert(parts: Buffer[], bytes: Buffer): void {
  for (let at = 0; at < bytes.length; at += MAX_INSERT) {
    const piece = bytes.subarray(at, at + MAX_INSERT);
    parts.push(Buffer.from([piece.length]), piece);
  }
}
