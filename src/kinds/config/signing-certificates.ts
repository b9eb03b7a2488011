/**
 * Signing certificates of a SAML provider, as PEM; several in a row during a rotation. They are the
 * signing certificates themselves, not authorities. Expiry is checked at use, because a stored
 * configuration must not become invalid by the passing of time.
 */
import { type KeyObject, X509Certificate } from 'node:crypto';

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----\s[A-Za-z0-9+/=\s]*-----END \1-----/g;
const LEAST_BITS = 2048;

/** Problem of a text. The message repeats no part of the text. */
export class CertificateError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CertificateError';
  }
}

/**
 * Returns at least one. Text may precede a certificate, as openssl writes it; only white space may
 * follow the last. Throws CertificateError.
 */
export function signingCertificates(pem: string): X509Certificate[] {
  const blocks = [...pem.matchAll(BLOCK)];
  const last = blocks.at(-1);
  if (last === undefined) throw new CertificateError('must hold a certificate as PEM');
  if (pem.slice(last.index + last[0].length).trim() !== '') {
    throw new CertificateError('must hold nothing behind the last certificate');
  }
  return blocks.map(([block, label]) => {
    if (label !== 'CERTIFICATE') {
      throw new CertificateError('must hold certificates only, and no keys');
    }
    return certificateOf(block);
  });
}

/** Decodes `caData`. Throws CertificateError. */
export function certificateText(caData: string): string {
  const compact = caData.replace(/\s/g, '');
  if (compact.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) {
    throw new CertificateError('must be base64 of a PEM file that holds a certificate');
  }
  return Buffer.from(compact, 'base64').toString('utf8');
}

function certificateOf(block: string): X509Certificate {
  const { certificate, key } = read(block);
  // The SAML library checks no signatures with elliptic curves.
  if (!/^rsa(-pss)?$/.test(key.asymmetricKeyType ?? '')) {
    throw new CertificateError('must hold certificates with RSA keys');
  }
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < LEAST_BITS) {
    throw new CertificateError(`must hold certificates with keys of at least ${LEAST_BITS} bits`);
  }
  return certificate;
}

function read(block: string): { certificate: X509Certificate; key: KeyObject } {
  try {
    const certificate = new X509Certificate(block);
    return { certificate, key: certificate.publicKey };
  } catch (cause) {
    throw new CertificateError('must hold certificates: one of them cannot be read', { cause });
  }
}
