/** A password of a user, and what a User object holds of it. */
import { randomBytes, scryptSync } from 'node:crypto';

export const PASSWORD = 'correct horse battery staple';

export function passwordHash(password: string): string {
  const salt = randomBytes(16);
  const hash = scryptSync(password, salt, 32, { N: 2 ** 14, r: 8, p: 1 });
  const text = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');
  return `$scrypt$ln=14,r=8,p=1$${text(salt)}$${text(hash)}`;
}
