/**
 * Cache of map keys by their bytes: manifests repeat a few dozen keys, and decoding each takes
 * longer than reading it.
 */
import { UNUSUAL } from './plain-yaml-cursor.ts';
import { plainValue } from './plain-yaml-scalar.ts';

/** One instance per key while a document is read. */
export interface KnownKey {
  readonly bytes: Uint8Array;
}

/** Position of a key. */
interface KeyBytes {
  readonly text: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** 24-bit hash of the bytes. */
  readonly hash: number;
}

const SLOTS = 4096;
/**
 * Above this size the cache is cleared before the next document: probes must find a free slot soon.
 */
const MOST = 1024;

export class KnownKeys {
  #slots: (KnownKey | undefined)[] = new Array(SLOTS);
  #count = 0;

  /** Must be called between documents. */
  tidy(): void {
    if (this.#count < MOST) return;
    this.#slots = new Array(SLOTS);
    this.#count = 0;
  }

  /** The key with these bytes and this hash; undefined if this reader does not support it. */
  find(of: KeyBytes): KnownKey | undefined {
    const { text, start, end, hash } = of;
    for (let slot = hash % SLOTS; ; slot = (slot + 1) % SLOTS) {
      const known = this.#slots[slot];
      if (known === undefined) return this.#learn(new Uint8Array(text.subarray(start, end)), slot);
      if (isAt(of, known.bytes)) return known;
    }
  }

  #learn(bytes: Uint8Array, slot: number): KnownKey | undefined {
    if (this.#count >= SLOTS / 2 || !isPlainKey(Buffer.from(bytes).toString('latin1'))) {
      return undefined;
    }
    const key = { bytes };
    this.#slots[slot] = key;
    this.#count += 1;
    return key;
  }
}

function isAt({ text, start, end }: KeyBytes, bytes: Uint8Array): boolean {
  if (end - start !== bytes.length) return false;
  for (let i = 0; i < bytes.length; i++) if (text[start + i] !== bytes[i]) return false;
  return true;
}

const LONGEST = 500;

/** False for keys that JSON escapes, for indexes, and for properties of every object. */
function isPlainKey(key: string): boolean {
  if (key.length > LONGEST || /["\\]|^\d/.test(key) || key in Object.prototype) return false;
  try {
    return typeof plainValue(key) === 'string';
  } catch (error) {
    if (error === UNUSUAL) return false;
    throw error;
  }
}
