/** Object ids: SHA-1 over type, size and content. */
import { hash } from 'node:crypto';
import { GitError } from './git-error.ts';

export type ObjectType = 'commit' | 'tree' | 'blob';

const hexId = /^[0-9a-f]{40}$/;

export function isObjectId(value: string): boolean {
  return hexId.test(value);
}

/** Throws unless `value` is a full id: nothing else ever becomes an argument of git. */
export function assertObjectId(value: string): void {
  if (!isObjectId(value)) {
    throw new GitError(`${JSON.stringify(value)} is not an object id`, {
      remedy: 'Give all 40 hexadecimal digits',
    });
  }
}

export function objectId(type: ObjectType, content: Buffer): string {
  return hash('sha1', Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]));
}
