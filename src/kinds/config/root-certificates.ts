/** Root certificates that a field of the configuration has in it or names by a path. */
import { X509Certificate } from 'node:crypto';

const BEGIN = '-----BEGIN ';
const CERTIFICATE = /-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g;

/** The PEM text in a field that may hold it as it is or as base64; undefined: the field is a path. */
export function pemInField(field: string): string | undefined {
  if (field.includes(BEGIN)) return field;
  const text = Buffer.from(field, 'base64').toString('utf8');
  return text.includes(BEGIN) ? text : undefined;
}

/** What is wrong with a PEM text, in words that repeat nothing of it. */
export function rootsProblem(pem: string): string | undefined {
  const blocks = pem.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) return 'must hold a certificate as PEM';
  return blocks.every(isCertificate) ? undefined : 'holds a certificate that cannot be read';
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).subject !== undefined;
  } catch {
    return false;
  }
}
