/**
 * Names of tenant objects on the control-plane cluster. The algorithms are those of the product
 * whose configuration files this folder reads, so that names agree beside it.
 */
import { createHash } from 'node:crypto';

const LONGEST_NAME = 63;
const KEPT = 52;
const HASH_DIGITS = 10;
const SHORT_DIGITS = 13;

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The first ten hex digits of SHA-256, as names and translated label keys end in them. */
export function shortHash(text: string): string {
  return sha256(text).toString('hex').slice(0, HASH_DIGITS);
}

/** 128 bits of SHA-256: enough to take two texts with one hash for the same. */
export function longHash(text: string): string {
  return sha256(text).toString('hex').slice(0, 32);
}

/** Joins with dashes. More than 63 bytes become the first 52, a dash and ten digits of a hash. */
export function safeConcatName(...parts: readonly string[]): string {
  const joined = parts.join('-');
  const bytes = Buffer.from(joined);
  if (bytes.length <= LONGEST_NAME) return joined;
  const start = bytes.subarray(0, KEPT).toString();
  // A dot before the dash would make a name that DNS refuses; hence 62 characters, at times.
  return `${start}-${shortHash(joined)}`.replaceAll('.-', '-');
}

/** `name-x-namespace-x-tenant`, what most kinds are called. An empty name stays empty. */
export function hostName(name: string, namespace: string, tenant: string): string {
  return name === '' ? '' : safeConcatName(name, 'x', namespace, 'x', tenant);
}

/** `v` and 13 characters of base 36: what a reference is called unless asked otherwise. */
export function shortHostName(name: string, namespace: string, tenant: string): string {
  if (name === '') return '';
  const digest = sha256([name, 'x', namespace, 'x', tenant].join('-'));
  return `v${base36(digest).slice(0, SHORT_DIGITS)}`;
}

/** Objects without a namespace, such as PersistentVolumes. */
export function clusterScopedHostName(
  name: string,
  targetNamespace: string,
  tenant: string,
): string {
  return name === '' ? '' : safeConcatName('vcluster', name, 'x', targetNamespace, 'x', tenant);
}

/** The namespace that multi-namespace mode used before there were mappings. */
export function legacyNamespace(namespace: string, current: string, tenant: string): string {
  const digits = (text: string): string => sha256(text).toString('hex').slice(0, 8);
  return `vcluster-${digits(namespace)}-${digits(`${current}x${tenant}`)}`;
}

/** The bytes as one number; each leading zero byte is a leading 0. */
function base36(bytes: Buffer): string {
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '0'.repeat(Math.max(0, zeros)) + BigInt(`0x${bytes.toString('hex')}`).toString(36);
}
