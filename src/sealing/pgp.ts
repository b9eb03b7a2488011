/**
 * PGP recipients of encrypted files. They decrypt a file elsewhere with gpg or sops; this platform
 * cannot. Their entries stay unchanged; a new data key is encrypted with their public keys.
 */
import { isRecord, type JsonObject } from '../apimachinery/index.ts';
import { SealingError } from './sealing-error.ts';

/** The data key, encrypted for one PGP key: an entry of `sops.pgp` with all its fields. */
export type PgpEntry = JsonObject & { readonly fp: string; readonly enc: string };

/** Public keys of PGP recipients. */
export interface PgpKeys {
  has(fingerprint: string): boolean;
  /** Encrypts to an armored message. Rejects with an Error whose message is a sentence. */
  encrypt(content: Buffer, fingerprint: string): Promise<string>;
}

/** Limit, because each key costs a gpg process. */
const MOST_KEYS = 64;
/** Fingerprints of version 4, or of versions 5 and 6. */
const FINGERPRINT = /^(?:[0-9A-F]{40}|[0-9A-F]{64})$/;

/** Validates fingerprints of `.sops.yaml`. Throws SealingError. */
export function pgpFingerprints(list: readonly string[]): string[] {
  const names = list.map((one) => one.replaceAll(' ', '').toUpperCase()).filter(Boolean);
  const wrong = names.find((name) => !FINGERPRINT.test(name));
  if (wrong !== undefined) {
    throw new SealingError(
      `pgp: ${JSON.stringify(wrong.slice(0, 80))} must be a whole fingerprint, as "gpg --list-keys --with-colons" prints it: 40 hexadecimal digits`,
    );
  }
  if (names.length > MOST_KEYS) throw new SealingError(`has more than ${MOST_KEYS} PGP keys`);
  return [...new Set(names)];
}

/** PGP entries of an encrypted file. Throws SealingError, worded to follow "sops". */
export function pgpEntries(list: unknown): PgpEntry[] {
  if (!Array.isArray(list)) return [];
  if (list.length > MOST_KEYS) throw new SealingError(`has more than ${MOST_KEYS} PGP keys`);
  return list.flatMap((item: unknown) => {
    if (!isRecord(item) || typeof item['enc'] !== 'string') return [];
    return [{ ...item, fp: String(item['fp'] ?? ''), enc: item['enc'] }];
  });
}

/** Encrypts a data key for PGP recipients. Throws SealingError that names the first key that is missing. */
export async function wrapForPgp(
  dataKey: Buffer,
  fingerprints: readonly string[],
  keys: PgpKeys | undefined,
): Promise<PgpEntry[]> {
  const missing = fingerprints.find((fp) => keys?.has(fp) !== true);
  if (missing !== undefined) throw new SealingError(missingKey(missing));
  const created_at = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const entries: PgpEntry[] = [];
  for (const fp of fingerprints) {
    const enc = await keys?.encrypt(dataKey, fp).catch((cause: unknown) => {
      throw new SealingError(cause instanceof Error ? cause.message : String(cause), { cause });
    });
    if (enc !== undefined) entries.push({ created_at, enc, fp });
  }
  return entries;
}

export function missingKey(fingerprint: string): string {
  return `the PGP key ${fingerprint} is named, and its public key is not here to encrypt for it; write it with "gpg --armor --export ${fingerprint}" into the file of --pgp-keys`;
}
