/** Author and message of the commit that a write becomes (invariant 2). */
import { describeKey, type ObjectKey, type User } from '../../apimachinery/index.ts';
import type { Person } from '../../git/index.ts';

/** The daemon itself: committer of every commit that comes through the API. */
export const COMMITTER: Person = { name: 'gitplane', email: 'gitplane@noreply.gitplane.dev' };

/** Origin of a write; becomes trailers. */
export interface WriteOrigin {
  readonly user: User;
  readonly requestId?: string | undefined;
  readonly fieldManager?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** `requestDigest`, if every reader of the commit may know it. */
  readonly idempotencyDigest?: string | undefined;
  /** Reason in the caller's words: the body of the message. */
  readonly reason?: string | undefined;
  /** The commit whose version of the object is restored. */
  readonly rollbackTo?: string | undefined;
  /** Further trailers, by name. */
  readonly trailers?: Readonly<Record<string, string>> | undefined;
}

/** RFC 5321, section 4.5.3.1: a longer one is no address, and would be in every commit of its user. */
const LONGEST_ADDRESS = 254;

export function authorOf({ name, email = '' }: User): Person {
  if (email !== '' && email.length <= LONGEST_ADDRESS) return { name, email };
  const local = name.replace(/[^A-Za-z0-9._-]+/g, '-');
  return { name, email: `${local}@users.noreply.gitplane.dev` };
}

const REASON_LIMIT = 4096;
const SHORT_ID = 12;

/** `update Team "ops"`, the reason, and trailers that `git interpret-trailers` reads. */
export function commitMessage(verb: string, key: ObjectKey, origin: WriteOrigin): string {
  const reason = reasonOf(origin)?.trim().slice(0, REASON_LIMIT);
  const trailers = [
    trailer('Request-Id', origin.requestId),
    trailer('Field-Manager', origin.fieldManager),
    trailer('Idempotency-Key', origin.idempotencyKey),
    trailer('Idempotency-Digest', origin.idempotencyDigest),
    trailer('Rollback-To', origin.rollbackTo),
    ...Object.entries(origin.trailers ?? {}).map(([name, value]) => trailer(name, value)),
  ].filter((line) => line !== '');
  const { rollbackTo } = origin;
  const what = describeKey(key);
  const subject =
    rollbackTo === undefined
      ? `${verb} ${what}`
      : `rollback ${what} to ${rollbackTo.slice(0, SHORT_ID)}`;
  return [subject, reason, trailers.join('\n')]
    .filter((part) => part !== undefined && part !== '')
    .join('\n\n');
}

/** Terminals that show the message obey control characters. */
function reasonOf({ reason }: WriteOrigin): string | undefined {
  return reason?.replace(/\r\n?/g, '\n').replace(/(?![\t\n])\p{Cc}/gu, '');
}

/** One line, so that no value can pose as another trailer. */
function trailer(name: string, value: string | undefined): string {
  const text = value?.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return text === undefined || text === '' ? '' : `${name}: ${text}`;
}
