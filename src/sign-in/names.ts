/** Names of objects that are made for who signs in. */
import { createHash } from 'node:crypto';
import type { AdmittedIdentity } from './accounts.ts';

const LONGEST = 63;
/** 128 bits: a user who chooses what a provider says of them could find a pair for fewer. */
const HASH_LENGTH = 32;

/** What a User may be called, the better name first; the second is of this identity alone. */
export function accountNames(
  of: Pick<AdmittedIdentity, 'accountName' | 'connector' | 'userId'>,
): string[] {
  const label = dnsLabel(of.accountName) || 'user';
  return [label, withHash(label, JSON.stringify([of.connector, of.userId]))];
}

/** Always with a hash: two groups never come to one name. */
export function teamNameOf(group: string): string {
  return withHash(dnsLabel(group) || 'group', group);
}

/** Empty where nothing of the text can be in a name. */
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
