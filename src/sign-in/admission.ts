/**
 * Converts an identity of a provider to one of the platform (reference: identity, section 1.0): prefixes,
 * filters, reserved names. Pure. Rules of the connector's own block were applied before.
 */
import type { JsonObject } from '../apimachinery/index.ts';
import { isReservedGroup } from '../auth/index.ts';
import type { AdmittedIdentity } from './accounts.ts';
import type { NamePrefixes, ProvidedIdentity } from './connector.ts';
import { SignInError } from './sign-in-error.ts';

export interface AdmissionRules {
  /** Id of the connector. */
  readonly connector: string;
  readonly prefixes?: NamePrefixes | undefined;
  /** Filter of groups; absent: all. */
  readonly keepsGroup?: ((group: string) => boolean) | undefined;
}

export interface Admission {
  readonly identity: AdmittedIdentity;
  /** Groups that were dropped as reserved or invalid, not by a filter. */
  readonly refusedGroups: number;
}

const LONGEST_NAME = 256;
const LONGEST_EMAIL = 320;
const MOST_GROUPS = 500;
/** Far more than any directory has for one account; each is normalised and compared. */
const MOST_GIVEN_GROUPS = 20_000;
const CONTROL = /[\p{Cc}\p{Surrogate}\u2028\u2029]/u;

/** Throws SignInError for an identity that could be confused with the platform itself. */
export function admit(provided: ProvidedIdentity, rules: AdmissionRules): Admission {
  const { username: namePrefix = '', groups: groupPrefix = '' } = rules.prefixes ?? {};
  const userId = oneLine(provided.userId, 'user id');
  const username = namePrefix + named(provided.username, 'user name');
  const preferred = optional(provided.preferredUsername);
  const accountName = namePrefix + (optional(provided.accountName) ?? preferred ?? rest(username));
  for (const name of [userId, username, accountName]) refuseReserved(name);
  if (provided.groups.length > MOST_GIVEN_GROUPS) {
    throw new SignInError(`the provider names more than ${MOST_GIVEN_GROUPS} groups`, {
      reason: 'too-many-groups',
      code: 502,
    });
  }
  const { kept, refused } = keptGroups(provided.groups, groupPrefix, rules.keepsGroup);
  const email = optional(provided.email, LONGEST_EMAIL);
  return {
    identity: {
      connector: rules.connector,
      userId,
      username,
      ...(preferred === undefined ? {} : { preferredUsername: namePrefix + preferred }),
      ...(email === undefined ? {} : { email }),
      emailVerified: email !== undefined && provided.emailVerified,
      groups: kept,
      extraClaims: cappedClaims(provided.extraClaims),
      accountName,
      provided,
    },
    refusedGroups: refused,
  };

  function rest(prefixed: string): string {
    return prefixed.slice(namePrefix.length);
  }
}

function keptGroups(
  groups: readonly string[],
  prefix: string,
  keeps: AdmissionRules['keepsGroup'] = () => true,
): { kept: string[]; refused: number } {
  const named = [...new Set(groups.map((group) => prefix + group.normalize('NFC')))].sort();
  const sound = named.filter(
    (group) =>
      group !== prefix &&
      group.length <= LONGEST_NAME &&
      !CONTROL.test(group) &&
      !isReservedGroup(group),
  );
  const wanted = sound.filter(keeps);
  // Sorted, so that every login drops the same groups.
  const kept = wanted.slice(0, MOST_GROUPS);
  return { kept, refused: named.length - sound.length + (wanted.length - kept.length) };
}

/** An id is compared byte by byte, so it is not normalised. */
function oneLine(text: string, what: string): string {
  if (text !== '' && text.length <= LONGEST_NAME && !CONTROL.test(text)) return text;
  throw new SignInError(`the provider gave a ${what} that is empty, too long or no plain text`, {
    reason: 'bad-identity',
    code: 403,
  });
}

function named(text: string, what: string): string {
  return oneLine(text.normalize('NFC').trim(), what);
}

/** Skips absent and unusable values. */
function optional(text: string | undefined, longest = LONGEST_NAME): string | undefined {
  const plain = text?.normalize('NFC').trim() ?? '';
  return plain === '' || plain.length > longest || CONTROL.test(plain) ? undefined : plain;
}

function refuseReserved(name: string): void {
  if (!isReservedGroup(name)) return;
  throw new SignInError('the provider gave a name that belongs to the platform', {
    reason: 'reserved-name',
    code: 403,
  });
}

const MOST_CLAIM_BYTES = 16 * 1024;
/** Protocol claims (issuer, audience, times), which are not properties of a user. */
const OF_THE_TOKEN = new Set([
  'iss',
  'aud',
  'exp',
  'iat',
  'nbf',
  'nonce',
  'azp',
  'at_hash',
  'groups',
]);

/** Drops the claims beyond the size limit. */
function cappedClaims(claims: JsonObject): JsonObject {
  let left = MOST_CLAIM_BYTES;
  const kept: JsonObject = {};
  for (const [name, value] of Object.entries(claims)) {
    if (value === undefined || OF_THE_TOKEN.has(name) || name === '__proto__') continue;
    left -= JSON.stringify([name, value]).length;
    if (left < 0) break;
    kept[name] = value;
  }
  return kept;
}
