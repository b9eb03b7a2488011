/** Names of commits on the branch: a full or abbreviated id, or a time. */
import { badRequest, rfc3339, StatusError } from '../apimachinery/index.ts';
import type { CommitIndex } from './commit-index.ts';

/** A point in the past. */
export type Past = { readonly revision: string } | { readonly time: number };

const ID = /^[0-9a-f]{4,40}$/i;
const SHOWN = 80;

/**
 * Throws 400 unless it is a commit id. Names of branches and revision expressions are not accepted.
 */
export function checkRevision(text: string): string {
  if (ID.test(text)) return text.toLowerCase();
  throw badRequest(
    `${JSON.stringify(text.slice(0, SHOWN))} is not a commit id: give 4 to 40 hexadecimal digits`,
  );
}

const RFC3339 =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** Milliseconds since the epoch. Throws 400 unless the text is a time of RFC 3339. */
export function checkTime(text: string): number {
  const time = RFC3339.test(text) && isDay(text.slice(0, 10)) ? parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  const plus = / \d{2}:\d{2}$/.test(text) ? ' (in a URL, write + as %2B)' : '';
  throw badRequest(
    `${JSON.stringify(text.slice(0, SHOWN))} is not a time: write it as in 2026-01-31T09:30:00Z${plus}`,
  );
}

/** Calendars have leap seconds; the clock of git does not. */
function parse(text: string): number {
  return Date.parse(text.toUpperCase().replace(/:60(?=[.Z+-])/, ':59'));
}

/** `Date` reads February 30 as March 2. */
function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

/**
 * The ordinal of a commit in the history of `head`. Throws 400 for ambiguous ids, and 404 for
 * commits outside that history, even if the repository has them.
 */
export function findCommit(index: CommitIndex, head: number, past: Past): number {
  return 'time' in past ? atTime(index, head, past.time) : byId(index, past.revision);
}

function byId(index: CommitIndex, digits: string): number {
  const exact = digits.length === 40 ? index.ordinal(digits) : undefined;
  if (exact !== undefined) return exact;
  const found = digits.length === 40 ? [] : index.idsWith(digits);
  const [only, ...others] = found;
  if (only === undefined) throw noCommit(digits, `the branch has no commit ${digits}`);
  if (others.length === 0) return index.ordinal(only) ?? 0;
  const list = found.map((id) => id.slice(0, Math.max(12, digits.length + 4))).join(', ');
  throw badRequest(`several commits begin with ${digits}: ${list}; give more digits`);
}

/**
 * The newest commit of the first-parent line up to that time; committer times may decrease along
 * it.
 */
function atTime(index: CommitIndex, head: number, time: number): number {
  let oldest = head;
  for (let at = head; at >= 0; at = index.firstParent(at)) {
    if (index.time(at) * 1000 <= time) return at;
    oldest = at;
  }
  const first = rfc3339(Math.min(index.time(oldest), LAST_SECOND) * 1000);
  const name = rfc3339(time);
  throw noCommit(name, `the branch has no commit at or before ${name}; its first is of ${first}`);
}

/** RFC 3339 ends with the year 9999; git accepts any time. */
const LAST_SECOND = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000;

export function noCommit(name: string, message: string): StatusError {
  return new StatusError(404, 'NotFound', message, { name, kind: 'commits' });
}
