/** Converts the claims of a provider to an identity (spec section 2.8.2). Pure. */
import { isRecord, type JsonObject, type JsonValue } from '../../apimachinery/index.ts';
import type { OIDCConfig } from '../../config/index.ts';
import type { ProvidedIdentity } from '../connector.ts';
import { SignInError } from '../sign-in-error.ts';

export type Claims = Readonly<Record<string, unknown>>;

type ClaimRules = Pick<
  OIDCConfig,
  | 'preferredUsername'
  | 'platformUsernameClaim'
  | 'usernameClaim'
  | 'emailClaim'
  | 'allowedExtraClaims'
  | 'groupsClaim'
  | 'groups'
>;

/** Protocol claims of the token, which UserInfo must not override. */
const OF_THE_TOKEN = ['iss', 'aud', 'sub', 'exp', 'iat', 'nbf', 'nonce', 'azp', 'auth_time', 'acr'];

/** The claims of the ID token, with those of UserInfo over them. `emailClaim`: claim that `email_verified` counts for. */
export function mergedClaims(idToken: Claims, userInfo: Claims, emailClaim?: string): Claims {
  const own = OF_THE_TOKEN.flatMap((name) => (name in idToken ? [[name, idToken[name]]] : []));
  const further = Object.entries(userInfo).filter(([name]) => !OF_THE_TOKEN.includes(name));
  const isSame = (name: string): boolean =>
    !Object.hasOwn(userInfo, name) || folded(userInfo[name]) === folded(idToken[name]);
  // The ID token verifies its own address, and not another one in UserInfo.
  const valid = Object.entries(idToken).filter(([name]) => {
    const of = name.replace(/_verified$/, '');
    if (of === name) return true;
    const isOther = of === 'email' && emailClaim && emailClaim in idToken && !isSame(emailClaim);
    return isSame(of) && !isOther;
  });
  return Object.fromEntries([...valid, ...further, ...own]);
}

/** Directories write one address in several cases. Other letters than those of ASCII can look alike. */
function folded(value: unknown): unknown {
  return typeof value === 'string'
    ? value.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    : value;
}

/** Throws SignInError 403 for an identity that is not admitted, or without a required claim. */
export function identityOf(
  claims: Claims,
  rules: ClaimRules,
  warn: (message: string) => void,
): ProvidedIdentity {
  const groups = groupsOf(claims, rules, warn);
  const allowed = rules.groups ?? [];
  if (allowed.length > 0 && !allowed.some((group) => groups.includes(group))) {
    throw refused('not-a-member', 'is in none of the groups that may sign in');
  }
  const userId = userIdOf(claims, rules);
  const preferred = own(claims, rules.preferredUsername) ?? text(claims['preferred_username']);
  const email = text(claims[rules.emailClaim || 'email']);
  const accountName = accountNameOf(claims, rules);
  return {
    userId,
    username: text(claims['name']) ?? preferred ?? email ?? userId,
    ...(preferred === undefined ? {} : { preferredUsername: preferred }),
    ...(accountName === undefined ? {} : { accountName }),
    ...(email === undefined ? {} : { email }),
    emailVerified: isVerified(claims, rules.emailClaim || 'email'),
    groups,
    extraClaims: extraClaims(claims, rules.allowedExtraClaims ?? []),
  };
}

/**
 * `email_verified` counts for the configured claim, unless the provider states it for the claim itself, as
 * `mail_verified` for `mail`.
 */
function isVerified(claims: Claims, name: string): boolean {
  const own = `${name}_verified`;
  return claims[Object.hasOwn(claims, own) ? own : 'email_verified'] === true;
}

function own(claims: Claims, name: string | undefined): string | undefined {
  return name === undefined || name === '' ? undefined : text(claims[name]);
}

/** A mail address can be reassigned, so it is an id only if it was verified. */
function userIdOf(claims: Claims, { usernameClaim }: ClaimRules): string {
  const name = usernameClaim || 'sub';
  const userId = text(claims[name]);
  if (userId === undefined) throw refused('missing-claim', `has no claim ${name} to be known by`);
  if (name === 'email' && claims['email_verified'] !== true) {
    throw refused('email-unverified', 'has a mail address that the provider did not verify');
  }
  return userId;
}

/** No fallback: the operator chose this claim, and not another name. */
function accountNameOf(
  claims: Claims,
  { platformUsernameClaim: name }: ClaimRules,
): string | undefined {
  const found = own(claims, name);
  if (name && found === undefined) throw refused('missing-claim', `has no claim ${name}`);
  return found;
}

function groupsOf(claims: Claims, rules: ClaimRules, warn: (message: string) => void): string[] {
  const { groupsClaim: name } = rules;
  if (name === undefined || name === '') return [];
  const value = claims[name];
  if (value === undefined || value === null) {
    const sources = claims['_claim_names'];
    // The token names a URL to ask; following it would let a token choose the target of requests.
    if (isRecord(sources) && name in sources) {
      warn(`${name} is left out of the token, which has too many groups; none of them count`);
    }
    return [];
  }
  if (typeof value === 'string') return value === '' ? [] : [value];
  const names = Array.isArray(value) ? value.map(groupName) : [undefined];
  if (names.every((one) => one !== undefined)) return names;
  throw refused('bad-groups-claim', `has a claim ${name} that is no text and no list of texts`);
}

function groupName(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return isRecord(value) && typeof value['name'] === 'string' ? value['name'] : undefined;
}

/** Scalars and lists of them; nothing that could be taken for a part of the platform. */
function extraClaims(claims: Claims, allowed: readonly string[]): JsonObject {
  const kept = allowed.flatMap((name): [string, JsonValue][] => {
    const value = claims[name];
    if (OF_THE_TOKEN.includes(name) || !Object.hasOwn(claims, name)) return [];
    if (isPlain(value)) return [[name, value]];
    return Array.isArray(value) && value.every(isPlain) ? [[name, value]] : [];
  });
  return Object.fromEntries(kept);
}

function isPlain(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

function text(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function refused(reason: string, what: string): SignInError {
  return new SignInError(`who signs in ${what}`, { reason, code: 403 });
}
