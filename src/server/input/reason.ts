/** The reason that a person gives for an act, in the body of a request. */
import { badRequest } from '../../apimachinery/index.ts';

const LONGEST_REASON = 1024;

/** Events, logs and terminals show it, so that it is one line without control characters. Throws 400. */
export function readReason(value: unknown): string {
  const line = typeof value === 'string' && value.length <= LONGEST_REASON ? value.trim() : '';
  if (line === '' || /\p{Cc}/u.test(line)) {
    throw badRequest(`"reason" must say why, in one line of 1 to ${LONGEST_REASON} characters`);
  }
  return line;
}
