/**
 * Deltas between versions of objects, in the pack encoding of git (gitformat-pack, "Deltified representation"): copies
 * of ranges of the base, and inserted bytes.
 */
import type { Splice } from './tree.ts';

const MAX_COPY = 0xffffff;
const MAX_INSERT = 127;

/** Delta from `older` to `newer`, given the splices that turned `older` into `newer`. */
export function treeDelta(older: Buffer, newer: Buffer, splices: readonly Splice[]): Buffer {
  const delta = new DeltaWriter(older.length, newer.length);
  let inOlder = 0;
  let inNewer = 0;
  for (const { start, end, inserted } of splices) {
    delta.copy(inOlder, start - inOlder);
    inNewer += start - inOlder;
    delta.insert(newer.subarray(inNewer, inNewer + inserted));
    inNewer += inserted;
    inOlder = end;
  }
  delta.copy(inOlder, older.length - inOlder);
  return delta.finish();
}

/**
 * Delta between two texts. Lines that both have are copied. Another line is compared with the next line of
 * `older`: of commits of one author, and of manifests of one kind, most lines have a common start and end.
 */
export function textDelta(older: Buffer, newer: Buffer): Buffer {
  const delta = new DeltaWriter(older.length, newer.length);
  const lines = linesOf(older);
  const known = new Map(lines.map(({ text }, index) => [text, index]));
  let next = 0;
  for (const { text, start, end } of linesOf(newer)) {
    const same = lines[next]?.text === text ? next : known.get(text);
    const line = lines[same ?? next];
    next = (same ?? next) + 1;
    if (line === undefined) delta.insert(newer.subarray(start, end));
    else if (same !== undefined) delta.copy(line.start, text.length);
    else {
      const { first, last } = commonEnds(line.text, text);
      delta.copy(line.start, first);
      delta.insert(newer.subarray(start + first, end - last));
      delta.copy(line.end - last, last);
    }
  }
  return delta.finish();
}

interface TextLine {
  /** As latin1, with its line end. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const LF = 0x0a;

function linesOf(bytes: Buffer): TextLine[] {
  const lines: TextLine[] = [];
  for (let start = 0; start < bytes.length; ) {
    const feed = bytes.indexOf(LF, start);
    const end = feed === -1 ? bytes.length : feed + 1;
    lines.push({ text: bytes.toString('latin1', start, end), start, end });
    start = end;
  }
  return lines;
}

/** Lengths of the common start and of the common end, which do not overlap. */
function commonEnds(a: string, b: string): { readonly first: number; readonly last: number } {
  const most = Math.min(a.length, b.length);
  let first = 0;
  while (first < most && a.charCodeAt(first) === b.charCodeAt(first)) first += 1;
  let last = 0;
  while (last < most - first && a.at(-1 - last) === b.at(-1 - last)) last += 1;
  return { first, last };
}

/** The delta from A to C, given that from A to B and that from B to C. Reads neither of the three. */
export function composeDeltas(first: Buffer, second: Buffer): Buffer {
  const pieces = [...instructionsOf(first)];
  const delta = new DeltaWriter(sizesOf(first).base, sizesOf(second).result);
  for (const { from, length, bytes } of instructionsOf(second)) {
    if (bytes === undefined) copyPieces(pieces, { from, length }, delta);
    else delta.insert(bytes);
  }
  return delta.finish();
}

/** Writes the range of B as ranges of A and inserted bytes. */
function copyPieces(
  pieces: readonly Instruction[],
  { from, length }: { readonly from: number; readonly length: number },
  delta: DeltaWriter,
): void {
  const end = from + length;
  for (let i = pieceAt(pieces, from); i < pieces.length; i += 1) {
    const piece = pieces[i];
    if (piece === undefined || piece.at >= end) return;
    const skipped = Math.max(0, from - piece.at);
    const taken = Math.min(piece.length, end - piece.at) - skipped;
    if (piece.bytes === undefined) delta.copy(piece.from + skipped, taken);
    else delta.insert(piece.bytes.subarray(skipped, skipped + taken));
  }
}

/** Index of the last piece that starts at or before an offset of its result. */
function pieceAt(pieces: readonly Instruction[], offset: number): number {
  let low = 0;
  let high = pieces.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((pieces[middle]?.at ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function applyDelta(base: Buffer, delta: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (const { from, length, bytes } of instructionsOf(delta)) {
    parts.push(bytes ?? base.subarray(from, from + length));
  }
  return Buffer.concat(parts);
}

/** Sizes of the base and of the result of a delta. */
export function sizesOf(delta: Buffer): { readonly base: number; readonly result: number } {
  const base = readSize(delta, 0);
  const result = readSize(delta, base.end);
  return { base: base.size, result: result.size };
}

interface Instruction {
  /** Offset in the result. */
  readonly at: number;
  readonly length: number;
  /** Offset in the base, for a copy. */
  readonly from: number;
  /** Undefined for a copy. */
  readonly bytes: Buffer | undefined;
}

const FIELDS = [0, 1, 2, 3, 4, 5, 6];

function* instructionsOf(delta: Buffer): Generator<Instruction, undefined> {
  let next = readSize(delta, readSize(delta, 0).end).end;
  let at = 0;
  while (next < delta.length) {
    const opcode = delta[next++] ?? 0;
    if (opcode < 0x80) {
      yield { at, length: opcode, from: 0, bytes: delta.subarray(next, next + opcode) };
      next += opcode;
      at += opcode;
      continue;
    }
    const fields = FIELDS.map((i) => ((opcode & (1 << i)) === 0 ? 0 : (delta[next++] ?? 0)));
    const [o0 = 0, o1 = 0, o2 = 0, o3 = 0, s0 = 0, s1 = 0, s2 = 0] = fields;
    const from = o0 + o1 * 2 ** 8 + o2 * 2 ** 16 + o3 * 2 ** 24;
    const length = s0 + s1 * 2 ** 8 + s2 * 2 ** 16;
    yield { at, length, from, bytes: undefined };
    at += length;
  }
}

/** Little-endian, seven bits per byte. */
function readSize(delta: Buffer, start: number): { readonly size: number; readonly end: number } {
  let size = 0;
  let end = start;
  for (let factor = 1; ; factor *= 128) {
    const byte = delta[end++] ?? 0;
    size += (byte & 0x7f) * factor;
    if (byte < 0x80) return { size, end };
  }
}

/** Joins neighbouring copies and neighbouring inserts. */
class DeltaWriter {
  readonly #parts: Buffer[];
  #copy = { from: 0, length: 0 };
  #inserts: Buffer[] = [];

  constructor(baseSize: number, resultSize: number) {
    this.#parts = [encodeSize(baseSize), encodeSize(resultSize)];
  }

  copy(from: number, length: number): void {
    if (length === 0) return;
    this.#writeInserts();
    if (this.#copy.from + this.#copy.length !== from) this.#writeCopy();
    if (this.#copy.length === 0) this.#copy = { from, length };
    else this.#copy.length += length;
  }

  insert(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#writeCopy();
    this.#inserts.push(bytes);
  }

  finish(): Buffer {
    this.#writeInserts();
    this.#writeCopy();
    return Buffer.concat(this.#parts);
  }

  #writeCopy(): void {
    const { from, length } = this.#copy;
    for (let done = 0; done < length; done += MAX_COPY) {
      this.#parts.push(copyInstruction(from + done, Math.min(MAX_COPY, length - done)));
    }
    this.#copy = { from: 0, length: 0 };
  }

  #writeInserts(): void {
    if (this.#inserts.length === 0) return;
    const bytes = this.#inserts.length === 1 ? this.#inserts[0] : Buffer.concat(this.#inserts);
    this.#inserts = [];
    for (let at = 0; bytes !== undefined && at < bytes.length; at += MAX_INSERT) {
      const piece = bytes.subarray(at, at + MAX_INSERT);
      this.#parts.push(Buffer.from([piece.length]), piece);
    }
  }
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
