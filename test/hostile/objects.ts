/** Objects and packs as git would never write them: bytes, by gitformat-pack(5). */
import { createHash } from 'node:crypto';
import { deflateRawSync, deflateSync, constants as zlib } from 'node:zlib';

export type ObjectType = 'commit' | 'tree' | 'blob' | 'tag';

export const TYPE_NUMBERS = { commit: 1, tree: 2, blob: 3, tag: 4, ofsDelta: 6, refDelta: 7 };

export interface TreeEntry {
  readonly mode: string;
  readonly name: string | Buffer;
  readonly id: string;
}

export const FILE = '100644';
export const FOLDER = '40000';
export const GITLINK = '160000';
export const NO_ID = '0'.repeat(40);

const PERSON = 'Mallory <mallory@example.com> 1700000000 +0000';

export function idOf(type: ObjectType, content: Buffer): string {
  return createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex');
}

/** Sorted as git sorts them. */
export function treeOf(entries: readonly TreeEntry[]): Buffer {
  const key = ({ mode, name }: TreeEntry): Buffer =>
    Buffer.concat([Buffer.from(name), Buffer.from(mode === FOLDER ? '/' : '\0')]);
  return rawTree([...entries].sort((one, other) => key(one).compare(key(other))));
}

/** In the order that is given. */
export function rawTree(entries: readonly TreeEntry[]): Buffer {
  return Buffer.concat(
    entries.flatMap(({ mode, name, id }) => [
      Buffer.from(`${mode} `),
      Buffer.from(name),
      Buffer.from([0]),
      Buffer.from(id, 'hex'),
    ]),
  );
}

export function commitOf(
  tree: string,
  parents: readonly string[],
  more: { readonly headers?: string; readonly message?: string; readonly author?: string } = {},
): Buffer {
  const { headers = '', message = 'A commit', author = `author ${PERSON}\n` } = more;
  const lines = parents.map((parent) => `parent ${parent}\n`).join('');
  return Buffer.from(
    `tree ${tree}\n${lines}${author}committer ${PERSON}\n${headers}\n${message}\n`,
  );
}

export function tagOf(object: string, type: ObjectType, name = 'bomb'): Buffer {
  return Buffer.from(`object ${object}\ntype ${type}\ntag ${name}\ntagger ${PERSON}\n\nA tag\n`);
}

/** The header of a pack entry: its type, and the size that it says to have. */
export function entryHeader(type: number, size: number | bigint): Buffer {
  let rest = BigInt(size);
  const bytes = [(type << 4) | Number(rest & 15n)];
  for (rest >>= 4n; rest > 0n; rest >>= 7n) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(Number(rest & 127n));
  }
  return Buffer.from(bytes);
}

/** A pack, entry by entry. */
export class Pack {
  readonly #entries: Buffer[] = [];
  readonly #ids = new Set<string>();

  add(type: ObjectType, content: Buffer): string {
    const id = idOf(type, content);
    if (this.#ids.has(id)) return id;
    this.#ids.add(id);
    this.raw(entryHeader(TYPE_NUMBERS[type], content.length), deflateSync(content));
    return id;
  }

  tree(entries: readonly TreeEntry[]): string {
    return this.add('tree', treeOf(entries));
  }

  blob(text: string): string {
    return this.add('blob', Buffer.from(text));
  }

  /** A blob of zeros: a thousandth of its size in the pack. */
  zeros(size: number, type: ObjectType = 'blob'): string {
    this.raw(entryHeader(TYPE_NUMBERS[type], size), deflatedZeros(size));
    return idOfZeros(size, type);
  }

  /** A delta against an object by its id. */
  delta(base: string, delta: Buffer): void {
    const header = entryHeader(TYPE_NUMBERS.refDelta, delta.length);
    this.raw(header, Buffer.from(base, 'hex'), deflateSync(delta));
  }

  raw(...parts: readonly Buffer[]): void {
    this.#entries.push(Buffer.concat(parts));
  }

  bytes(of: { readonly version?: number; readonly count?: number } = {}): Buffer {
    const { version = 2, count = this.#entries.length } = of;
    const header = Buffer.alloc(12);
    header.write('PACK');
    header.writeUInt32BE(version, 4);
    header.writeUInt32BE(count, 8);
    const body = Buffer.concat([header, ...this.#entries]);
    return Buffer.concat([body, createHash('sha1').update(body).digest()]);
  }
}

const PIECE = 1 << 24;
const known = new Map<string, string>();

function idOfZeros(size: number, type: ObjectType): string {
  const name = `${type} ${size}`;
  const found = known.get(name);
  if (found !== undefined) return found;
  const hash = createHash('sha1').update(`${name}\0`);
  const piece = Buffer.alloc(Math.min(size, PIECE));
  for (let at = 0; at < size; at += piece.length) {
    hash.update(piece.subarray(0, Math.min(piece.length, size - at)));
  }
  const id = hash.digest('hex');
  known.set(name, id);
  return id;
}

/** Whole pieces of a stream that was flushed can be repeated. */
function deflatedZeros(size: number): Buffer {
  const flush = (length: number): Buffer =>
    deflateRawSync(Buffer.alloc(length), { finishFlush: zlib.Z_FULL_FLUSH });
  const piece = flush(PIECE);
  const pieces = Array.from({ length: Math.floor(size / PIECE) }, () => piece);
  const checksum = Buffer.alloc(4);
  // Adler-32 of zeros alone.
  checksum.writeUInt32BE((size % 65_521) * 65_536 + 1);
  const last = deflateRawSync(Buffer.alloc(size % PIECE));
  return Buffer.concat([Buffer.from([0x78, 0x9c]), ...pieces, last, checksum]);
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(Math.floor(value / 128))];
}

/** A delta that copies from the start of its base as often as is wanted, then adds bytes. */
export function deltaOf(of: {
  readonly base: number;
  readonly copies?: readonly number[];
  readonly added?: Buffer;
  readonly result?: number;
}): Buffer {
  const { base, copies = [], added = Buffer.alloc(0) } = of;
  const total = copies.reduce((sum, length) => sum + length, added.length);
  const ops = copies.flatMap((length) => [
    0x80 | 0x70,
    length & 255,
    (length >> 8) & 255,
    (length >> 16) & 255,
  ]);
  const sizes = [...varint(base), ...varint(of.result ?? total)];
  const insert = added.length === 0 ? [] : [added.length];
  return Buffer.concat([Buffer.from([...sizes, ...ops, ...insert]), added]);
}
