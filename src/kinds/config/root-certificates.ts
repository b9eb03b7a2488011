/** Root certificates in a field of the configuration, which holds them or the path of a file. */
import { X509Certificate } from 'node:crypto';

const BEGIN = '-----BEGIN ';
const CERTIFICATE = /-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g;

/** The PEM text in a field, which may be base64 of it. Undefined: the field is a path. */
export function pemInField(field: string): string | undefined {
  if (field.includes(BEGIN)) return field;
  const text = Buffer.from(field, 'base64').toString('utf8');
  return text.includes(BEGIN) ? text : undefined;
}

/** Problem of a PEM text. The message repeats no part of the text. */
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
