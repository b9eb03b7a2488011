/**
 * Ids of requests: UUIDs of version 8 (RFC 9562, section 5.8), of which the first half is random and
 * the last a number. They have to be unique, not secret, and every read pays for its own.
 */
import { randomBytes } from 'node:crypto';

const COUNT_DIGITS = 12;
const MOST = 16 ** COUNT_DIGITS;

/** Makes ids that no other maker makes. */
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
