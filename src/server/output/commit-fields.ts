/** Fields of a commit as answers show them. */
import { rfc3339 } from '../../apimachinery/index.ts';

const LONGEST_SUBJECT = 256;
/** Git accepts times beyond the range of Date. */
const LAST_SECOND = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000;

/** Committer time, in seconds since the epoch, as RFC 3339. */
export function commitTime(seconds: number): string {
  return rfc3339(Math.min(seconds, LAST_SECOND) * 1000);
}

/** First line of a commit message. */
export function subjectOf(message: string): string {
  return message.split('\n', 1)[0]?.slice(0, LONGEST_SUBJECT) ?? '';
}
