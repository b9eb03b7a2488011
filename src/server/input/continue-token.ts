/**
 * Continue tokens of paged lists: start and snapshot of the next page. Opaque to
 * clients; validated, because a token must not lead out of the collection it was made for.
 */
import { badRequest, isRecord } from '../../apimachinery/index.ts';

/** The page begins after this object. */
export interface Continuation {
  /** -1: the newest state, for lists whose snapshot is gone (an inconsistent continuation). */
  readonly resourceVersion: number;
  readonly namespace: string;
  readonly name: string;
  /** The commit, for lists of the past; these have no resourceVersion. */
  readonly revision?: string;
}

const VERSION = 'meta.k8s.io/v1';

export function formatContinue(position: Continuation): string {
  const { resourceVersion, namespace, name, revision } = position;
  const start = namespace === '' ? `${name}\0` : `${namespace}/${name}\0`;
  const of = revision === undefined ? {} : { at: revision };
  const token = { v: VERSION, rv: resourceVersion, start, ...of };
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

/** Throws 400 for anything that `formatContinue` did not make for this collection. */
export function parseContinue(
  text: string,
  collection: { namespaced: boolean; namespace: string | undefined },
): Continuation {
  const token = decode(text);
  const { v, rv, start, at } = token;
  const readable = v === VERSION && typeof start === 'string' && start.endsWith('\0');
  if (!readable || typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv < -1 || rv === 0) {
    throw badRequest('continue key is not valid: the token was not made by this server');
  }
  if (at !== undefined && !isCommit(at)) {
    throw badRequest('continue key is not valid: the token names no commit');
  }
  const [first = '', second] = start.slice(0, -1).split('/');
  if (collection.namespaced !== (second !== undefined)) {
    throw badRequest('continue key is not valid: the token belongs to another kind');
  }
  const position = collection.namespaced
    ? { namespace: first, name: second ?? '' }
    : { namespace: '', name: first };
  if (collection.namespace !== undefined && position.namespace !== collection.namespace) {
    throw badRequest('continue key is not valid: the token belongs to another namespace');
  }
  const of = at === undefined ? {} : { revision: at };
  return { resourceVersion: rv, ...position, ...of };
}

const HISTORY_VERSION = 'gitplane.dev/history/v1';

/** Start of the next page of a history: after a commit. */
export function formatPosition(revision: string): string {
  return Buffer.from(JSON.stringify({ v: HISTORY_VERSION, at: revision })).toString('base64url');
}

/** Throws 400 for anything that `formatPosition` did not make. */
export function parsePosition(text: string): string {
  const { v, at } = decode(text);
  if (v === HISTORY_VERSION && isCommit(at)) return at;
  throw badRequest('continue key is not valid: the token was not made by this server');
}

function isCommit(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{40}$/.test(value);
}

function decode(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (isRecord(value)) return value;
  } catch {
    // Falls through to the one answer that all unreadable tokens get.
  }
  throw badRequest('continue key is not valid: the token cannot be read');
}
