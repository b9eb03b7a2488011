/** Names of objects that sign-in creates. */
import { createHash } from 'node:crypto';
import type { AdmittedIdentity } from './accounts.ts';

const LONGEST = 63;
/** 128 bits: a user who controls claims could find a collision of a shorter hash. */
const HASH_LENGTH = 32;

/** Candidate names of a User, best first; the second is unique to the identity. */
export function accountNames(
  of: Pick<AdmittedIdentity, 'accountName' | 'connector' | 'userId'>,
): string[] {
  const label = dnsLabel(of.accountName) || 'user';
  return [label, withHash(label, JSON.stringify([of.connector, of.userId]))];
}

/** Always with a hash, so that two groups never get the same name. */
export function teamNameOf(group: string): string {
  return withHash(dnsLabel(group) || 'group', group);
}

/** Empty: no part of the text is allowed in a name. */
export function dnsLabel(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replace(/^-+|-+$/g, '');
}

function withHash(label: string, of: string): string {
  const hash = createHash('sha256').update(of).digest('hex').slice(0, HASH_LENGTH);
  return `${label.slice(0, LONGEST - HASH_LENGTH - 1).replace(/-+$/, '')}-${hash}`;
}
