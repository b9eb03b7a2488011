/** The `sops` map of an encrypted file: recipients, rule, and MAC. */
import { isRecord, type JsonObject, type JsonValue, jsonEqual } from '../apimachinery/index.ts';
import { type PgpEntry, pgpEntries } from './pgp.ts';
import { SealingError } from './sealing-error.ts';
import { DEFAULT_RULE, RULES, type Rule } from './selection.ts';

export const SOPS = 'sops';

/** False: no document of the text is encrypted. Keys and values of YAML may be written with escapes. */
export function mayBeSealed(text: string | Buffer): boolean {
  return text.includes(SOPS) || text.includes('\\');
}

/** The data key, encrypted for one recipient. */
export interface WrappedKey {
  readonly recipient: string;
  /** An age file in armor. */
  readonly enc: string;
}

export interface SealMetadata {
  readonly age: readonly WrappedKey[];
  /** Recipients that decrypt the file elsewhere. Absent: none. */
  readonly pgp?: readonly PgpEntry[] | undefined;
  /** RFC 3339; the MAC is bound to this text. */
  readonly lastModified: string;
  /** An encrypted value. */
  readonly mac: string;
  readonly macOnlyEncrypted: boolean;
  readonly rule: Rule;
  /** Provenance of the data key, as `key-mark.ts` makes it. */
  readonly mark?: string | undefined;
}

/** Not a field of SOPS: `sops` ignores it, and drops it when it writes. */
export const MARK = 'gitplane_mark';

/** The SOPS release whose format this writes. */
const FORMAT_VERSION = '3.13.2';
/** Limit, because each costs milliseconds and a pushed file decides their number. */
export const MOST_RECIPIENTS = 64;

/** Throws SealingError, worded to follow "sops". */
export function parseMetadata(value: unknown): SealMetadata {
  if (!isRecord(value)) throw new SealingError('must be a map; seal the file again');
  const groups = value['key_groups'];
  if (Array.isArray(groups) && groups.length > 1) {
    throw new SealingError('has several key groups, which are not supported; use one');
  }
  const only = Array.isArray(groups) && isRecord(groups[0]) ? groups[0] : undefined;
  const { lastmodified: lastModified, mac } = value;
  if (typeof lastModified !== 'string') {
    throw new SealingError('has no lastmodified; restore it, or seal the file again');
  }
  if (typeof mac !== 'string') {
    throw new SealingError('has no mac; restore it, or seal the file again');
  }
  const pgp = pgpEntries((only ?? value)['pgp']);
  return {
    age: wrappedKeys((only ?? value)['age']),
    ...(pgp.length > 0 && { pgp }),
    lastModified,
    mac,
    macOnlyEncrypted: value['mac_only_encrypted'] === true,
    rule: ruleOf(value),
    mark: typeof value[MARK] === 'string' ? value[MARK] : undefined,
  };
}

/** True if a block holds nothing beyond `metadata`: no other keys, groups or rules. */
export function saysOnly(block: unknown, metadata: SealMetadata): boolean {
  if (!isRecord(block)) return false;
  const { version = '' } = block;
  return jsonEqual(block, { ...formatMetadata(metadata), version });
}

function wrappedKeys(list: unknown): WrappedKey[] {
  if (!Array.isArray(list)) return [];
  if (list.length > MOST_RECIPIENTS) {
    throw new SealingError(`has more than ${MOST_RECIPIENTS} recipients`);
  }
  return list.flatMap((item: unknown) => {
    if (!isRecord(item) || typeof item['enc'] !== 'string') return [];
    return [{ recipient: String(item['recipient'] ?? ''), enc: item['enc'] }];
  });
}

function ruleOf(value: Record<string, unknown>): Rule {
  const stated = RULES.filter((name) => typeof value[name] === 'string' && value[name] !== '');
  const [name, second] = stated;
  if (second !== undefined) throw new SealingError('has more than one rule of what is sealed');
  return name === undefined ? DEFAULT_RULE : { name, text: String(value[name]) };
}

/** The map to write, with keys in the order of SOPS. */
export function formatMetadata(metadata: SealMetadata): JsonObject {
  const { age, pgp = [], rule, lastModified, mac, macOnlyEncrypted, mark } = metadata;
  const fields: Record<string, JsonValue | undefined> = {
    age: age.map(({ recipient, enc }) => ({ enc, recipient })),
    [MARK]: mark,
    [rule.name]: rule.text,
    lastmodified: lastModified,
    mac,
    mac_only_encrypted: macOnlyEncrypted ? true : undefined,
    pgp: pgp.length > 0 ? [...pgp] : undefined,
    version: FORMAT_VERSION,
  };
  const keys = Object.keys(fields).filter((key) => fields[key] !== undefined);
  return Object.fromEntries(keys.sort().map((key) => [key, fields[key] ?? null]));
}
