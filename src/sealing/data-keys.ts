/**
 * Data keys: each file has one, sealed with age for everyone who may read the file. What was opened
 * is remembered, in memory only, by what it was sealed as. Keys of X25519, which is nearly all of
 * them, are opened in place; others by the library, which takes milliseconds and turns.
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
/** Of one recipient, post-quantum ones included; every stanza in it costs a try. */
const LONGEST_WRAPPED = 8192;
const IDENTITY = /^AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]+$/;

/** Loaded when it is first needed: a start that opens nothing should not wait for it. */
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
    // The line is not repeated: it may be a key with a typing error.
    if (!IDENTITY.test(line)) {
      throw new SealingError(
        `line ${i + 1} is no age identity; one begins with AGE-SECRET-KEY-1 (SSH keys and plugins are not supported)`,
      );
    }
    return [line];
  });
}

/** Seals a data key for recipients. Throws SealingError for a recipient that is none. */
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
      `${JSON.stringify(recipient.slice(0, 100))} is no age recipient; one begins with age1 (SSH keys and plugins are not supported)`,
      { cause },
    );
  }
  const text = armor.encode(await encrypter.encrypt(dataKey));
  return text.endsWith('\n') ? text : `${text}\n`;
}

/** A data key and for whom it is sealed. */
export interface FileKey {
  readonly dataKey: Buffer;
  readonly age: readonly WrappedKey[];
  /** Absent: no PGP key opens it. */
  readonly pgp?: readonly PgpEntry[] | undefined;
  /** Absent: nothing tells who made it. */
  readonly mark?: string | undefined;
}

export interface KeyringOptions {
  /** True if data keys are marked by the first identity, and its marks are known: for the daemon. */
  readonly marks?: boolean;
}

/** What opens sealed files: the identities of one reader. */
export class Keyring {
  readonly #identities: readonly string[];
  #own: readonly X25519Identity[] | undefined;
  #made: Promise<Opener> | undefined;
  readonly #marker: KeyMarker | undefined;
  /** Null: none of the identities opens it. */
  readonly #opened = new LRUCache<string, { key: Buffer | null }>({
    // `max` would allocate the room of all of them at once, for each thread.
    maxSize: MOST_REMEMBERED,
    sizeCalculation: () => 1,
  });

  /** What is wrong with an identity shows when it is first used. */
  constructor(identities: readonly string[], { marks = false }: KeyringOptions = {}) {
    this.#identities = identities;
    const [own] = identities;
    this.#marker = own === undefined || !marks ? undefined : new KeyMarker(own);
  }

  /** Throws SealingError when one is no identity. */
  static async open(identities: readonly string[], options?: KeyringOptions): Promise<Keyring> {
    const keyring = new Keyring(identities, options);
    await keyring.recipients();
    return keyring;
  }

  /** Of the identities, in their order. */
  async recipients(): Promise<readonly string[]> {
    const own = this.#x25519();
    if (this.isQuick) return own.map(({ recipient }) => recipient);
    const { recipients } = await this.#opener();
    return recipients;
  }

  /** Whether `known` always knows: no key has to be opened with `dataKey` before. */
  get isQuick(): boolean {
    return this.#x25519().length === this.#identities.length;
  }

  /** Null: no identity opens it. Undefined: `dataKey` has to look, which takes time. */
  known(age: SealMetadata['age']): Buffer | null | undefined {
    const id = fingerprint(age);
    const known = this.#opened.get(id);
    if (known !== undefined) return known.key;
    const opened = this.#openQuickly(age);
    if (opened === undefined && !this.isQuick) return undefined;
    this.#opened.set(id, { key: opened ?? null });
    return opened ?? null;
  }

  /** Undefined: no identity opens it. */
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

/** What a file says of its recipients is a hint and no more. */
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
      throw new SealingError('a key file holds what is no age identity; restore the file', {
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
