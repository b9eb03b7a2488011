/**
 * Data keys: each file has one, encrypted with age for every recipient of the file. Decrypted keys are
 * cached, in memory only, by their encrypted form. X25519 keys, which are nearly all, are decrypted
 * synchronously; others by the library, which takes milliseconds and is asynchronous.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Decrypter } from 'age-encryption';
import { LRUCache } from 'lru-cache';
import {
  openForX25519,
  readX25519Identity,
  sealForX25519,
  type X25519Identity,
} from './age-x25519.ts';
import { KeyMarker } from './key-mark.ts';
import type { SealMetadata, WrappedKey } from './metadata.ts';
import type { PgpEntry } from './pgp.ts';
import { SealingError } from './sealing-error.ts';

const DATA_KEY_BYTES = 32;
const MOST_REMEMBERED = 50_000;
/** Limit per recipient, with room for post-quantum ones: each stanza costs a decryption attempt. */
const LONGEST_WRAPPED = 8192;
const IDENTITY = /^AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]+$/;

/** Loaded at first use, so that a start without encrypted files does not wait for it. */
function age(): Promise<typeof import('age-encryption')> {
  return import('age-encryption');
}

/** A new identity of age and its recipient. */
export async function makeIdentity(): Promise<{ identity: string; recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await age();
  const identity = await generateX25519Identity();
  return { identity, recipient: await identityToRecipient(identity) };
}

/** The identities in the text of a key file: one a line, `#` begins a comment. Throws SealingError. */
export function parseIdentities(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.flatMap((line, i) => {
    if (line === '' || line.startsWith('#')) return [];
    // The message does not repeat the line: it may be a key with a typing error.
    if (!IDENTITY.test(line)) {
      throw new SealingError(
        `line ${i + 1} is not an age identity; one begins with AGE-SECRET-KEY-1 (SSH keys and plugins are not supported)`,
      );
    }
    return [line];
  });
}

/** Encrypts a data key for recipients. Throws SealingError for an invalid recipient. */
export async function wrapDataKey(
  dataKey: Buffer,
  recipients: readonly string[],
): Promise<WrappedKey[]> {
  const wrapped: WrappedKey[] = [];
  for (const recipient of recipients)
    wrapped.push({ recipient, enc: await wrap(dataKey, recipient) });
  return wrapped;
}

async function wrap(dataKey: Buffer, recipient: string): Promise<string> {
  const quick = sealForX25519(dataKey, recipient);
  if (quick !== undefined) return quick;
  const { armor, Encrypter } = await age();
  const encrypter = new Encrypter();
  try {
    encrypter.addRecipient(recipient);
  } catch (cause) {
    throw new SealingError(
      `${JSON.stringify(recipient.slice(0, 100))} is not an age recipient; one begins with age1 (SSH keys and plugins are not supported)`,
      { cause },
    );
  }
  const text = armor.encode(await encrypter.encrypt(dataKey));
  return text.endsWith('\n') ? text : `${text}\n`;
}

/** A data key and its encrypted forms. */
export interface FileKey {
  readonly dataKey: Buffer;
  readonly age: readonly WrappedKey[];
  /** Absent: no PGP recipients. */
  readonly pgp?: readonly PgpEntry[] | undefined;
  /** Absent: the origin of the key is unknown. */
  readonly mark?: string | undefined;
}

export interface KeyringOptions {
  /** True if data keys are marked by the first identity, and its marks are known: for the daemon. */
  readonly marks?: boolean;
}

/** The age identities of one reader, and a cache of the data keys that they decrypted. */
export class Keyring {
  readonly #identities: readonly string[];
  #own: readonly X25519Identity[] | undefined;
  #made: Promise<Opener> | undefined;
  readonly #marker: KeyMarker | undefined;
  /** Null: no identity can decrypt it. */
  readonly #opened = new LRUCache<string, { key: Buffer | null }>({
    // `max` would allocate memory for all entries at once, in each thread.
    maxSize: MOST_REMEMBERED,
    sizeCalculation: () => 1,
  });

  /** An invalid identity throws at its first use, not here. */
  constructor(identities: readonly string[], { marks = false }: KeyringOptions = {}) {
    this.#identities = identities;
    const [own] = identities;
    this.#marker = own === undefined || !marks ? undefined : new KeyMarker(own);
  }

  /** Throws SealingError for an invalid identity. */
  static async open(identities: readonly string[], options?: KeyringOptions): Promise<Keyring> {
    const keyring = new Keyring(identities, options);
    await keyring.recipients();
    return keyring;
  }

  /** The recipients of the identities, in their order. */
  async recipients(): Promise<readonly string[]> {
    const own = this.#x25519();
    if (this.isQuick) return own.map(({ recipient }) => recipient);
    const { recipients } = await this.#opener();
    return recipients;
  }

  /** True: `known` never returns undefined, because all identities are X25519. */
  get isQuick(): boolean {
    return this.#x25519().length === this.#identities.length;
  }

  /** Null: no identity can decrypt it. Undefined: call `dataKey`, which is asynchronous. */
  known(age: SealMetadata['age']): Buffer | null | undefined {
    const id = fingerprint(age);
    const known = this.#opened.get(id);
    if (known !== undefined) return known.key;
    const opened = this.#openQuickly(age);
    if (opened === undefined && !this.isQuick) return undefined;
    this.#opened.set(id, { key: opened ?? null });
    return opened ?? null;
  }

  /** Undefined: no identity can decrypt it. */
  async dataKey(age: SealMetadata['age']): Promise<Buffer | undefined> {
    const known = this.known(age);
    if (known !== undefined) return known ?? undefined;
    const opened = await this.#open(age);
    this.#opened.set(fingerprint(age), { key: opened ?? null });
    return opened;
  }

  /** A new data key for recipients, and for PGP keys as `wrapPgp` wraps it. */
  async make(
    recipients: readonly string[],
    wrapPgp?: (dataKey: Buffer) => Promise<readonly PgpEntry[]>,
  ): Promise<FileKey> {
    const { dataKey, age } = await this.wrap(
      this.#marker?.generate() ?? randomBytes(DATA_KEY_BYTES),
      recipients,
    );
    const pgp = (await wrapPgp?.(dataKey)) ?? [];
    const key = { dataKey, age, ...(pgp.length > 0 && { pgp }) };
    return { ...key, mark: this.#marker?.mark(key) };
  }

  /** True if the first identity generated the key, and wrapped it for exactly these recipients. */
  isOwn({ mark, ...key }: FileKey): boolean {
    return mark !== undefined && this.#marker?.fits(mark, key) === true;
  }

  /** True if the first identity generated the data key, for whatever file. */
  isGenerated(dataKey: Buffer): boolean {
    return this.#marker?.isGenerated(dataKey) === true;
  }

  async wrap(dataKey: Buffer, recipients: readonly string[]): Promise<FileKey> {
    const age = await wrapDataKey(dataKey, recipients);
    const mine = await this.recipients();
    if (recipients.some((recipient) => mine.includes(recipient)))
      this.#opened.set(fingerprint(age), { key: dataKey });
    return { dataKey, age };
  }

  #x25519(): readonly X25519Identity[] {
    this.#own ??= this.#identities.flatMap((text) => readX25519Identity(text) ?? []);
    return this.#own;
  }

  #opener(): Promise<Opener> {
    this.#made ??= makeOpener(this.#identities);
    return this.#made;
  }

  #openQuickly(age: SealMetadata['age']): Buffer | undefined {
    const own = this.#x25519();
    if (own.length === 0) return undefined;
    const recipients = own.map(({ recipient }) => recipient);
    for (const { enc } of oursFirst(age, recipients)) {
      const opened = openForX25519(enc, own);
      if (opened?.length === DATA_KEY_BYTES) return opened;
    }
    return undefined;
  }

  async #open(age: SealMetadata['age']): Promise<Buffer | undefined> {
    const { decrypter, recipients } = await this.#opener();
    for (const { enc } of oursFirst(age, recipients)) {
      const opened = await decrypter.decrypt(await unarmored(enc)).catch(() => undefined);
      if (opened?.length === DATA_KEY_BYTES) return Buffer.from(opened);
    }
    return undefined;
  }
}

/** Entries of our recipients come first. The names in a file are only a hint, so the others follow. */
function oursFirst(age: SealMetadata['age'], ours: readonly string[]): SealMetadata['age'] {
  const sane = age.filter(({ enc }) => enc.length <= LONGEST_WRAPPED);
  const mine = sane.filter(({ recipient }) => ours.includes(recipient));
  return [...mine, ...sane.filter((entry) => !mine.includes(entry))];
}

interface Opener {
  readonly decrypter: Decrypter;
  readonly recipients: readonly string[];
}

async function makeOpener(identities: readonly string[]): Promise<Opener> {
  const { Decrypter, identityToRecipient } = await age();
  const decrypter = new Decrypter();
  const recipients: string[] = [];
  for (const identity of identities) {
    try {
      decrypter.addIdentity(identity);
      recipients.push(await identityToRecipient(identity));
    } catch (cause) {
      throw new SealingError('a key file holds what is not an age identity; restore the file', {
        cause,
      });
    }
  }
  return { decrypter, recipients };
}

async function unarmored(enc: string): Promise<Uint8Array> {
  const { armor } = await age();
  try {
    return armor.decode(enc);
  } catch {
    return new Uint8Array();
  }
}

function fingerprint(age: SealMetadata['age']): string {
  const digest = createHash('sha256');
  for (const { enc } of age) digest.update(`${enc.length}:${enc}`);
  return digest.digest('base64');
}
