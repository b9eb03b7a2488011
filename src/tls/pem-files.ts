/** Reads keys and certificates. Errors name the damaged file and the remedy. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

/** Name of P-256 in Node. */
const CURVE = 'prime256v1';

export interface PemFile {
  readonly path: string;
  readonly pem: string;
  /** Remedy for a file that cannot be used. */
  readonly remedy: string;
}

export function certificateIn(file: PemFile): X509Certificate {
  try {
    return new X509Certificate(file.pem);
  } catch (error) {
    throw unusable(file, 'is not a certificate (PEM)', error);
  }
}

/** A private key for ECDSA on P-256, the only kind made here. */
export function privateKeyIn(file: PemFile): KeyObject {
  const problem = 'is not a private key on the curve P-256 (PEM)';
  let key: KeyObject;
  try {
    key = createPrivateKey(file.pem);
  } catch (error) {
    throw unusable(file, problem, error);
  }
  if (key.asymmetricKeyDetails?.namedCurve === CURVE) return key;
  throw unusable(file, problem);
}

export function unusable(file: PemFile, problem: string, cause?: unknown): Error {
  return new Error(`${file.path} ${problem}; ${file.remedy}`, { cause });
}

/** The end of a certificate, in milliseconds since the epoch. */
export function endOf(certificate: X509Certificate): number {
  return Date.parse(certificate.validTo);
}
