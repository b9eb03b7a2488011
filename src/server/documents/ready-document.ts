/** Documents that do not change while the server runs: encoded once, with an ETag. */
import { createHash } from 'node:crypto';

export interface ReadyDocument {
  readonly contentType: string;
  readonly body: Buffer;
  /** Quoted, as the header wants it. */
  readonly etag: string;
}

export function readyDocument(contentType: string, body: Buffer): ReadyDocument {
  return { contentType, body, etag: `"${hashOf(body)}"` };
}

export function hashOf(body: Buffer): string {
  return createHash('sha512').update(body).digest('hex').toUpperCase();
}

/** True if an `If-None-Match` header names this version: 304 (RFC 9110). */
export function isNotModified(ifNoneMatch: string | undefined, { etag }: ReadyDocument): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}

/** Memoizes values by key. */
export function memoized<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, { value: Value }>();
  return (key) => {
    const known = made.get(key) ?? { value: make(key) };
    made.set(key, known);
    return known.value;
  };
}
