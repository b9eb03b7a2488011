/**
 * The daemon's own certificate authority: `ca.key` and `ca.crt`. They are generated once and never
 * replaced, because every issued kubeconfig trusts them.
 */
import { createHash, createPublicKey } from 'node:crypto';
import { join } from 'node:path';
import { OWNER_ONLY, readIfThere, replaceFile } from '../auth/index.ts';
import type { Authority } from './certificates.ts';
import { certificateIn, endOf, type PemFile, privateKeyIn, unusable } from './pem-files.ts';
import { BACKDATE_MS, DAY_MS, PUBLIC_MODE } from './validity.ts';

const LIFE_DAYS = 3650;
const REMEDY =
  'restore it from a backup, or remove ca.crt and ca.key to get a new authority (clients then need a new kubeconfig)';

/** Throws when the files are damaged or cannot be used, with the path and what to do. */
export async function ensureAuthority(directory: string, now: number): Promise<Authority> {
  const [keyPath, certificatePath] = [join(directory, 'ca.key'), join(directory, 'ca.crt')];
  const keyPem = await readIfThere(keyPath);
  const certificatePem = await readIfThere(certificatePath);
  const key = { path: keyPath, pem: keyPem ?? '', remedy: REMEDY };
  if (certificatePem === undefined) {
    const made = keyPem ?? (await makeKey(keyPath));
    return makeCertificate({ ...key, pem: made }, certificatePath, now);
  }
  if (keyPem === undefined) throw unusable(key, 'is missing');
  check(key, { path: certificatePath, pem: certificatePem, remedy: REMEDY }, now);
  return { keyPem, certificatePem };
}

async function makeKey(path: string): Promise<string> {
  // Loaded late: only the first start of a data directory needs it.
  const { newKeyPem } = await import('./certificates.ts');
  const pem = await newKeyPem();
  await replaceFile(path, pem, OWNER_ONLY);
  return pem;
}

/** Also used for a key that a crash left without its certificate. */
async function makeCertificate(key: PemFile, path: string, now: number): Promise<Authority> {
  const name = `gitplane CA ${fingerprint(key)}`;
  const validity = { from: now - BACKDATE_MS, until: now + LIFE_DAYS * DAY_MS };
  const { authorityCertificate } = await import('./certificates.ts');
  const certificatePem = await authorityCertificate(key.pem, name, validity);
  await replaceFile(path, certificatePem, PUBLIC_MODE);
  return { keyPem: key.pem, certificatePem };
}

/** Clients that know two authorities of one name mix them up, so each key has its own. */
function fingerprint(key: PemFile): string {
  const publicKey = createPublicKey(privateKeyIn(key)).export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(publicKey).digest('hex').slice(0, 8);
}

function check(keyFile: PemFile, certificateFile: PemFile, now: number): void {
  const certificate = certificateIn(certificateFile);
  if (!certificate.checkPrivateKey(privateKeyIn(keyFile))) {
    throw unusable(keyFile, `is not the key of ${certificateFile.path}`);
  }
  if (!certificate.ca) throw unusable(certificateFile, 'is not the certificate of an authority');
  if (endOf(certificate) - now < DAY_MS) {
    throw unusable(certificateFile, `is at its end (${certificate.validTo})`);
  }
}
