/**
 * The keys that sign tokens of one sort, one after the other. A key is published before anything is
 * signed with it, for longer than verifiers keep what they fetched, and stays published until the
 * last token signed with it has ended. Which key does what follows from the ages of the keys alone.
 *
 * The first key is, say, `token-signing.key`; later ones are `token-signing.<time>.key` beside it, where
 * the time is when they were made, in milliseconds since the epoch. Removing a file and starting
 * again ends the tokens of that key at once.
 */
import { readdir, stat, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { Clock } from '../apimachinery/index.ts';
import {
  createSigningKey,
  openSigningKey,
  readSigningKey,
  type SigningAlgorithm,
  type SigningKey,
} from './signing-key.ts';

/** More than verifiers cache a key set (5 minutes by our header) and wait to ask again. */
export const PUBLISHED_AHEAD_MS = 15 * 60_000;
/** Clocks of verifiers may be behind ours. */
const SKEW_MS = 60_000;

export interface SigningKeys {
  /** The key to sign with now. */
  current(): SigningKey;
  /** Every key that a token which has not ended may be signed with, and the one to come. */
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
  /** How long the longest token lives. */
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

  /** Makes the first key where there is none. Throws when a file holds something else. */
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

  /** Makes the next key when it is due, and removes those that no living token needs. */
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

  /** The newest key that was published for long enough; a first key has to do from the start. */
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
 * The keys of a ring that another process tends, of any age: makes and removes none. Throws when a
 * file holds something else.
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
