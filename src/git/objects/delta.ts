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
    delta.insert(newer, inNewer, inserted);
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
    if (line === undefined) delta.insert(newer, start, end - start);
    else if (same !== undefined) delta.copy(line.start, text.length);
    else {
      const { first, last } = commonEnds(line.text, text);
      delta.copy(line.start, first);
      delta.insert(newer, start + first, text.length - first - last);
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
  const [endOfA, endOfB] = [a.length - 1, b.length - 1];
  while (last < most - first && a.charCodeAt(endOfA - last) === b.charCodeAt(endOfB - last)) {
    last += 1;
  }
  return { first, last };
}

/** The delta from A to C, given that from A to B and that from B to C. Reads neither of the three. */
export function composeDeltas(first: Buffer, second: Buffer): Buffer {
  const pieces = instructionsOf(first);
  const delta = new DeltaWriter(sizesOf(first).base, sizesOf(second).result);
  for (const { from, length, isCopy } of instructionsOf(second)) {
    if (isCopy) copyPieces({ delta: first, pieces }, { from, length }, delta);
    else delta.insert(second, from, length);
  }
  return delta.finish();
}

/** Writes the range of B as ranges of A and inserted bytes. */
function copyPieces(
  of: { readonly delta: Buffer; readonly pieces: readonly Instruction[] },
  { from, length }: { readonly from: number; readonly length: number },
  to: DeltaWriter,
): void {
  const end = from + length;
  for (let i = pieceAt(of.pieces, from); i < of.pieces.length; i += 1) {
    const piece = of.pieces[i];
    if (piece === undefined || piece.at >= end) return;
    const skipped = Math.max(0, from - piece.at);
    const taken = Math.min(piece.length, end - piece.at) - skipped;
    if (piece.isCopy) to.copy(piece.from + skipped, taken);
    else to.insert(of.delta, piece.from + skipped, taken);
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
  const parts = instructionsOf(delta).map(({ from, length, isCopy }) =>
    (isCopy ? base : delta).subarray(from, from + length),
  );
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
  /** Offset in the base, for a copy, and in the delta itself for inserted bytes. */
  readonly from: number;
  readonly isCopy: boolean;
}

function instructionsOf(delta: Buffer): Instruction[] {
  const instructions: Instruction[] = [];
  let next = readSize(delta, readSize(delta, 0).end).end;
  for (let at = 0; next < delta.length; ) {
    const opcode = delta[next++] ?? 0;
    let from = next;
    let length = opcode;
    const isCopy = opcode >= 0x80;
    if (isCopy) [from, length] = [field(opcode, 4), field(opcode >>> 4, 3)];
    else next += length;
    instructions.push({ at, length, from, isCopy });
    at += length;
  }
  return instructions;

  /** Little-endian; the bits of `present` say which bytes are not zero. */
  function field(present: number, bytes: number): number {
    let value = 0;
    for (let i = 0; i < bytes; i += 1) {
      if ((present & (1 << i)) !== 0) value += (delta[next++] ?? 0) * 2 ** (8 * i);
    }
    return value;
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

/** Longest copy instruction: the byte that says which fields follow, and seven fields. */
const COPY_BYTES = 8;
/** Writers use it in turn, as long as their delta fits: an allocation takes longer than most deltas. */
const scratch = Buffer.allocUnsafeSlow(16 * 1024);

/** Joins neighbouring copies and neighbouring inserts. One writer at a time. */
class DeltaWriter {
  #bytes: Buffer = scratch;
  #end = 0;
  /** Copy that is not written yet, since the next may continue it. */
  #from = 0;
  #length = 0;
  /** Place of the length of the last insert; undefined: the next bytes need an instruction of their own. */
  #insert: number | undefined;

  constructor(baseSize: number, resultSize: number) {
    this.#writeSize(baseSize);
    this.#writeSize(resultSize);
  }

  copy(from: number, length: number): void {
    if (length === 0) return;
    this.#insert = undefined;
    if (this.#from + this.#length !== from) this.#writeCopy();
    if (this.#length === 0) this.#from = from;
    this.#length += length;
  }

  insert(source: Buffer, from: number, length: number): void {
    if (length === 0) return;
    this.#writeCopy();
    this.#reserve(length + Math.ceil(length / MAX_INSERT));
    const bytes = this.#bytes;
    let end = this.#end;
    let opcode = this.#insert ?? end++;
    for (let i = from; i < from + length; i += 1) {
      if (end - opcode > MAX_INSERT) {
        bytes[opcode] = MAX_INSERT;
        opcode = end++;
      }
      bytes[end++] = source[i] as number;
    }
    bytes[opcode] = end - opcode - 1;
    this.#insert = opcode;
    this.#end = end;
  }

  finish(): Buffer {
    this.#writeCopy();
    return Buffer.concat([this.#bytes.subarray(0, this.#end)]);
  }

  #writeCopy(): void {
    for (let rest = this.#length; rest > 0; rest -= MAX_COPY) {
      this.#writeCopyInstruction(this.#from, Math.min(MAX_COPY, rest));
      this.#from += MAX_COPY;
    }
    this.#from = 0;
    this.#length = 0;
  }

  /** Only nonzero bytes are written; the low seven bits of the first byte say which. */
  #writeCopyInstruction(offset: number, size: number): void {
    this.#reserve(COPY_BYTES);
    const opcode = this.#end++;
    let present = 0x80;
    for (let i = 0; i < 7; i += 1) {
      const byte = (i < 4 ? offset >>> (8 * i) : size >>> (8 * (i - 4))) & 0xff;
      if (byte === 0) continue;
      present |= 1 << i;
      this.#bytes[this.#end++] = byte;
    }
    this.#bytes[opcode] = present;
  }

  /** Little-endian, seven bits per byte. */
  #writeSize(size: number): void {
    let rest = size;
    for (; rest > 0x7f; rest >>>= 7) this.#bytes[this.#end++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.#end++] = rest;
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}
