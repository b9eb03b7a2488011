/** Object ids: SHA-1 over type, size and content. */
import { hash } from 'node:crypto';
import { GitError } from '../git-error.ts';

export type ObjectType = 'commit' | 'tree' | 'blob';

const hexId = /^[0-9a-f]{40}$/;

export function isObjectId(value: string): boolean {
  return hexId.test(value);
}

/** Throws unless `value` is a full id. No other value ever becomes an argument of git. */
export function assertObjectId(value: string): void {
  if (!isObjectId(value)) {
    throw new GitError(`${JSON.stringify(value)} is not an object id`, {
      remedy: 'Give all 40 hexadecimal digits',
    });
  }
}

/** Reused buffer: a one-shot hash of a copy is faster than a streaming hash or a new buffer. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);

export function objectId(type: ObjectType, content: Buffer): string {
  const head = `${type} ${content.length}\0`;
  const length = head.length + content.length;
  const bytes = length <= scratch.length ? scratch : Buffer.allocUnsafe(length);
  bytes.write(head, 'latin1');
  content.copy(bytes, head.length);
  return hash('sha1', bytes.subarray(0, length));
}
