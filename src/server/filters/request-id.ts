/**
 * Request ids: UUIDs of version 8 (RFC 9562, section 5.8) whose first half is random and whose second
 * half is a counter. They must be unique and cheap, not secret.
 */
import { randomBytes } from 'node:crypto';

const COUNT_DIGITS = 12;
const MOST = 16 ** COUNT_DIGITS;

/** Returns a generator whose ids differ from those of all others. */
export function requestIds(): () => string {
  let prefix = newPrefix();
  let count = 0;
  return () => {
    if (count === MOST) {
      prefix = newPrefix();
      count = 0;
    }
    return prefix + (count++).toString(16).padStart(COUNT_DIGITS, '0');
  };
}

function newPrefix(): string {
  const hex = randomBytes(10).toString('hex');
  const variant = '89ab'[Number.parseInt(hex.slice(15, 16), 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(12, 15)}-${variant}${hex.slice(16, 19)}-`;
}
