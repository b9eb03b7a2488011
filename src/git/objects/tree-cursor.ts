/** Iterates over the entries of a tree object, without allocating an object per entry. */
import { corruptTree } from './tree.ts';

const SPACE = 0x20;
const NUL = 0;
const SLASH = 0x2f;
const ID_BYTES = 20;
/** First digits of modes: `40000`, padded with zeros by old writers; only `160000` starts with `16`. */
const DIGIT_0 = 0x30;
const DIGIT_4 = 0x34;
const DIGIT_6 = 0x36;

export class TreeCursor {
  readonly #bytes: Buffer;
  #start = 0;
  #nameStart = 0;
  #nameEnd = 0;
  #next = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Moves to the next entry; false after the last one. Throws if the bytes are not a tree. */
  next(): boolean {
    const bytes = this.#bytes;
    this.#start = this.#next;
    if (this.#start >= bytes.length) return false;
    let at = this.#start;
    while (at < bytes.length && bytes[at] !== SPACE) at += 1;
    this.#nameStart = at + 1;
    while (at < bytes.length && bytes[at] !== NUL) at += 1;
    this.#nameEnd = at;
    this.#next = at + 1 + ID_BYTES;
    if (this.#nameEnd < this.#nameStart || this.#next > bytes.length) throw corruptTree();
    return true;
  }

  get isTree(): boolean {
    const first = this.#bytes[this.#start];
    return first === DIGIT_4 || (first === DIGIT_0 && this.#bytes[this.#start + 1] === DIGIT_4);
  }

  get isSubmodule(): boolean {
    return this.#bytes[this.#start + 1] === DIGIT_6;
  }

  /** As it is written: `100644`, and `40000` for a folder. */
  get mode(): string {
    return this.#bytes.toString('latin1', this.#start, this.#nameStart - 1);
  }

  get nameBytes(): number {
    return this.#nameEnd - this.#nameStart;
  }

  /** Name as one character per byte. */
  get name(): string {
    return this.#bytes.toString('latin1', this.#nameStart, this.#nameEnd);
  }

  get id(): string {
    return this.#bytes.toString('hex', this.#nameEnd + 1, this.#next);
  }

  /** The 20 bytes of the id, one character each: a cheap key for frequent lookups. */
  get rawId(): string {
    return this.#bytes.toString('latin1', this.#nameEnd + 1, this.#next);
  }

  /** True if both entries have the same mode and id. */
  isSameAs(other: TreeCursor): boolean {
    return this.#sameMode(other) && this.#sameId(other);
  }

  #sameMode(other: TreeCursor): boolean {
    const [mode, theirs] = [this.#nameStart - this.#start, other.#nameStart - other.#start];
    if (mode !== theirs) return false;
    return this.#equals(other, [this.#start, this.#nameStart], [other.#start, other.#nameStart]);
  }

  #sameId(other: TreeCursor): boolean {
    return this.#equals(other, [this.#nameEnd, this.#next], [other.#nameEnd, other.#next]);
  }

  #equals(
    other: TreeCursor,
    [start, end]: readonly [number, number],
    [otherStart, otherEnd]: readonly [number, number],
  ): boolean {
    return this.#bytes.compare(other.#bytes, otherStart, otherEnd, start, end) === 0;
  }

  /** Negative, zero or positive, in the order of git: the name of a folder sorts with a trailing `/`. */
  compareTo(other: TreeCursor): number {
    const length = Math.min(this.nameBytes, other.nameBytes);
    const order = this.#bytes.compare(
      other.#bytes,
      other.#nameStart,
      other.#nameStart + length,
      this.#nameStart,
      this.#nameStart + length,
    );
    return order === 0 ? this.#byteAt(length) - other.#byteAt(length) : order;
  }

  #byteAt(offset: number): number {
    if (offset < this.nameBytes) return this.#bytes[this.#nameStart + offset] ?? NUL;
    return this.isTree ? SLASH : NUL;
  }
}

/** Merges two sorted trees; the cursors stand at the entries that differ. */
export function* changedEntries(
  before: TreeCursor,
  after: TreeCursor,
): Generator<'removed' | 'added' | 'changed'> {
  let [hasBefore, hasAfter] = [before.next(), after.next()];
  while (hasBefore && hasAfter) {
    const order = before.compareTo(after);
    if (order < 0) yield 'removed';
    else if (order > 0) yield 'added';
    else if (!before.isSameAs(after)) yield 'changed';
    if (order <= 0) hasBefore = before.next();
    if (order >= 0) hasAfter = after.next();
  }
  for (; hasBefore; hasBefore = before.next()) yield 'removed';
  for (; hasAfter; hasAfter = after.next()) yield 'added';
}
