/**
 * Rotating keys that sign tokens. A new key is published before it signs, for longer than verifiers cache
 * the key set, and stays published until the last token signed with it has ended. The ages of the keys
 * alone determine their roles.
 *
 * The first key is, say, `token-signing.key`; later ones are `token-signing.<time>.key` beside it, with
 * their creation time in milliseconds since the epoch. Removing a file and restarting ends the tokens of
 * that key at once.
 */
import { readdir, stat, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { Clock } from '../../apimachinery/index.ts';
import {
  createSigningKey,
  openSigningKey,
  readSigningKey,
  type SigningAlgorithm,
  type SigningKey,
} from './signing-key.ts';

/** Longer than verifiers cache a key set (5 minutes by its header) and wait before a new fetch. */
export const PUBLISHED_AHEAD_MS = 15 * 60_000;
/** For verifiers with a slow clock. */
const SKEW_MS = 60_000;

export interface SigningKeys {
  /** The key to sign with now. */
  current(): SigningKey;
  /** Keys of all tokens that have not ended, and the next key. */
  published(): readonly SigningKey[];
}

export interface KeyRingOptions {
  /** The file of the first key. */
  readonly file: string;
  /** `ES256` when absent. */
  readonly algorithm?: SigningAlgorithm;
  readonly clock: Clock;
  /** A key of this age gets a successor. */
  readonly rotateAfterMs: number;
  /** Longest lifetime of a token. */
  readonly longestTokenMs: number;
}

interface AgedKey {
  readonly file: string;
  readonly madeAt: number;
  readonly key: SigningKey;
}

export class KeyRing implements SigningKeys {
  readonly #options: KeyRingOptions;
  /** Oldest first; never empty. */
  #keys: readonly AgedKey[];

  private constructor(options: KeyRingOptions, keys: readonly AgedKey[]) {
    this.#options = options;
    this.#keys = keys;
  }

  /** Makes the first key if there is none. Throws when a file holds anything else. */
  static async open(options: KeyRingOptions): Promise<KeyRing> {
    const later = await laterFiles(options.file);
    const files = later.length === 0 || (await exists(options.file)) ? [options.file] : [];
    const keys: AgedKey[] = [];
    for (const file of [...files, ...later]) {
      const key = await openSigningKey(file, options.algorithm);
      keys.push({ file, key, madeAt: madeAtOf(file) ?? (await stat(file)).mtimeMs });
    }
    keys.sort((a, b) => a.madeAt - b.madeAt);
    const ring = new KeyRing(options, keys);
    await ring.tend();
    return ring;
  }

  current(): SigningKey {
    return this.#at(this.#active()).key;
  }

  published(): readonly SigningKey[] {
    return this.#keys.slice(this.#firstPublished()).map(({ key }) => key);
  }

  /** Makes the next key when it is due, and removes keys that no valid token needs. */
  async tend(): Promise<void> {
    const { clock, rotateAfterMs, file, algorithm } = this.#options;
    const now = clock.now();
    if (this.#at(this.#keys.length - 1).madeAt + rotateAfterMs <= now) {
      const made = { file: laterFile(file, now), madeAt: now };
      this.#keys = [...this.#keys, { ...made, key: await createSigningKey(made.file, algorithm) }];
    }
    const over = this.#keys.slice(0, this.#firstPublished());
    this.#keys = this.#keys.slice(over.length);
    for (const { file: old } of over) await unlink(old);
  }

  /** Newest key that was published for long enough; the first key signs from the start. */
  #active(): number {
    const now = this.#options.clock.now();
    const ready = this.#keys.findLastIndex(({ madeAt }) => madeAt + PUBLISHED_AHEAD_MS <= now);
    return Math.max(ready, 0);
  }

  #firstPublished(): number {
    const { clock, longestTokenMs } = this.#options;
    const now = clock.now();
    const active = this.#active();
    const needed = this.#keys.findIndex((_key, index) => {
      if (index >= active) return true;
      const replacedAt = this.#at(index + 1).madeAt + PUBLISHED_AHEAD_MS;
      return replacedAt + longestTokenMs + SKEW_MS > now;
    });
    return Math.max(needed, 0);
  }

  #at(index: number): AgedKey {
    const found = this.#keys[index];
    if (found === undefined) throw new Error('A key ring is never empty');
    return found;
  }
}

function laterFile(first: string, time: number): string {
  const extension = extname(first);
  return join(dirname(first), `${basename(first, extension)}.${time}${extension}`);
}

/**
 * Keys of a ring that another process rotates; makes and removes none. Throws when a file holds anything
 * else.
 */
export async function readSigningKeys(file: string): Promise<SigningKey[]> {
  const files = [file, ...(await laterFiles(file))];
  const keys = await Promise.all(files.map((path) => readSigningKey(path)));
  return keys.filter((key) => key !== undefined);
}

async function laterFiles(first: string): Promise<string[]> {
  const names = await readdir(dirname(first));
  return names
    .map((name) => join(dirname(first), name))
    .filter((file) => {
      const time = madeAtOf(file);
      return time !== undefined && laterFile(first, time) === file;
    });
}

function madeAtOf(file: string): number | undefined {
  const time = /\.(\d{1,16})\.[^.]+$/.exec(basename(file))?.[1];
  return time === undefined ? undefined : Number(time);
}

async function exists(file: string): Promise<boolean> {
  return await stat(file).then(
    () => true,
    () => false,
  );
}
