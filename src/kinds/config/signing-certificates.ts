/**
 * The certificates that a SAML provider signs with, as PEM: several in a row while it changes them.
 * They are the signing certificates themselves and no authorities; whether one is valid today is
 * asked when it is used, since a configuration must not become wrong by itself.
 */
import { type KeyObject, X509Certificate } from 'node:crypto';

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----\s[A-Za-z0-9+/=\s]*-----END \1-----/g;
const LEAST_BITS = 2048;

/** What is wrong with a text, in words that repeat nothing of it. */
export class CertificateError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CertificateError';
  }
}

/**
 * At least one. Text may stand before a certificate, as openssl writes it, and nothing but white
 * space behind the last. Throws CertificateError.
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

/** The text in `caData`. Throws CertificateError. */
export function certificateText(caData: string): string {
  const compact = caData.replace(/\s/g, '');
  if (compact.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) {
    throw new CertificateError('must be base64 of a PEM file that holds a certificate');
  }
  return Buffer.from(compact, 'base64').toString('utf8');
}

function certificateOf(block: string): X509Certificate {
  const { certificate, key } = read(block);
  // The library that is used checks no signatures with elliptic curves.
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
