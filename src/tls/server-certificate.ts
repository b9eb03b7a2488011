/**
 * The server certificate below `tls/` of the data directory, for a daemon that was given none: made
 * on the first start by the private authority beside it, and renewed at a start when it is about to
 * end or its names changed.
 */
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { isIP, SocketAddress } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../apimachinery/index.ts';
import { OWNER_ONLY, readIfThere, replaceFile } from '../auth/index.ts';
import type { Authority } from './certificates.ts';
import { certificateIn, endOf, privateKeyIn } from './pem-files.ts';
import { ensureAuthority } from './private-authority.ts';
import { BACKDATE_MS, DAY_MS, PUBLIC_MODE } from './validity.ts';

/** Labels of letters, digits, hyphens and underscores; the first may be a star. */
const HOST_NAME = /^(\*\.)?[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*$/;

/** Addresses that mean every interface; clients cannot connect to them. */
const UNSPECIFIED_ADDRESSES = ['0.0.0.0', '::'];

export interface ServerCertificateOptions {
  /** The `tls` directory; made when absent. */
  readonly directory: string;
  /** DNS names and IP addresses beside localhost, the loopback addresses and the host's own name. */
  readonly hostnames: readonly string[];
  readonly clock: Clock;
}

export interface ServerCertificate {
  readonly keyPem: string;
  readonly certificatePem: string;
  /** Certificate of the authority, which clients must trust. */
  readonly caPem: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** True when the certificate was made by this call. */
  readonly renewed: boolean;
}

/** Clients of Apple refuse certificates with a life of more than 398 days. */
const LIFE_DAYS = 397;
const RENEW_WITHIN_DAYS = 30;
const REMEDY = 'remove it to get a new one from the same authority';

interface Pair {
  readonly certificatePem: string;
  readonly keyPem: string;
}

interface Wanted {
  readonly names: readonly string[];
  readonly now: number;
}

/** Throws when a file is damaged or cannot be used, with its path and what to do. */
export async function ensureServerCertificate(
  options: ServerCertificateOptions,
): Promise<ServerCertificate> {
  const { directory, hostnames, clock } = options;
  const wanted = { names: certificateNames(hostnames), now: clock.now() };
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const authority = await ensureAuthority(directory, wanted.now);
  const current = await readPair(directory);
  const renewed = current === undefined || !isGood(current, authority, wanted);
  const pair = renewed ? await makePair(directory, authority, wanted) : current;
  const expiresAt = endOf(new X509Certificate(pair.certificatePem));
  return { ...pair, caPem: authority.certificatePem, expiresAt, renewed };
}

/**
 * localhost, the loopback addresses, this host's name and what is given, each once and in one
 * spelling. Throws when a given one is neither a name nor an address.
 */
function certificateNames(given: readonly string[]): string[] {
  const wrong = given.find((name) => !isHostName(name));
  if (wrong !== undefined) {
    throw new Error(
      `${JSON.stringify(wrong)} cannot be in a certificate: it is neither a host name nor an IP address`,
    );
  }
  const host = hostname();
  const own = ['localhost', '127.0.0.1', '::1', ...(isHostName(host) ? [host] : [])];
  const names = [...own, ...given].map(canonicalName);
  return [...new Set(names)].filter((name) => !UNSPECIFIED_ADDRESSES.includes(name));
}

/** An address with a zone (`fe80::1%eth0`) means something on one machine only. */
function isHostName(name: string): boolean {
  return isIP(name) === 0 ? HOST_NAME.test(name) : !name.includes('%');
}

/** The pair on disk, or undefined when one of the two files is not there. */
async function readPair(directory: string): Promise<Pair | undefined> {
  const [keyPath, certificatePath] = pathsIn(directory);
  const keyPem = await readIfThere(keyPath);
  const certificatePem = await readIfThere(certificatePath);
  if (keyPem !== undefined) privateKeyIn({ path: keyPath, pem: keyPem, remedy: REMEDY });
  if (certificatePem !== undefined) {
    certificateIn({ path: certificatePath, pem: certificatePem, remedy: REMEDY });
  }
  if (keyPem === undefined || certificatePem === undefined) return undefined;
  return { keyPem, certificatePem };
}

/** A crash between the two writes leaves a pair that does not match. */
function isGood(pair: Pair, authority: Authority, { names, now }: Wanted): boolean {
  const certificate = new X509Certificate(pair.certificatePem);
  const present = new Set(namesOf(pair.certificatePem));
  return (
    certificate.verify(createPublicKey(authority.certificatePem)) &&
    certificate.checkPrivateKey(createPrivateKey(pair.keyPem)) &&
    endOf(certificate) - now >= RENEW_WITHIN_DAYS * DAY_MS &&
    present.size === names.length &&
    names.every((name) => present.has(name))
  );
}

async function makePair(
  directory: string,
  authority: Authority,
  { names, now }: Wanted,
): Promise<Pair> {
  const [keyPath, certificatePath] = pathsIn(directory);
  // Loaded late: most starts find a valid certificate.
  const { newKeyPem, serverCertificate } = await import('./certificates.ts');
  const keyPem = await newKeyPem();
  const from = now - BACKDATE_MS;
  const authorityEnd = endOf(new X509Certificate(authority.certificatePem));
  const validity = { from, until: Math.min(from + LIFE_DAYS * DAY_MS, authorityEnd) };
  const certificatePem = await serverCertificate(authority, { keyPem, names, validity });
  await replaceFile(keyPath, keyPem, OWNER_ONLY);
  await replaceFile(certificatePath, certificatePem, PUBLIC_MODE);
  return { keyPem, certificatePem };
}

/** The DNS names and IP addresses that a certificate is for, in one spelling. */
export function namesOf(certificatePem: string): string[] {
  const { subjectAltName = '' } = new X509Certificate(certificatePem);
  return [...subjectAltName.matchAll(ALTERNATIVE_NAME)].map(([, name = '']) => canonicalName(name));
}

/** One spelling per name and address. */
function canonicalName(name: string): string {
  if (isIP(name) !== 6) return name.toLowerCase();
  return new SocketAddress({ address: name, family: 'ipv6' }).address;
}

/** As OpenSSL writes them: `DNS:localhost, IP Address:127.0.0.1`. */
const ALTERNATIVE_NAME = /(?:DNS|IP Address):([^,\s]+)/g;

function pathsIn(directory: string): [string, string] {
  return [join(directory, 'server.key'), join(directory, 'server.crt')];
}
