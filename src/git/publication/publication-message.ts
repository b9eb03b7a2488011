/** Messages between the main thread and the publishing thread. */
import { GitError, RefLockedError, StorageError } from '../git-error.ts';
import type { ObjectType } from '../objects/object-id.ts';
import type { PackObject } from '../packs/pack-writer.ts';
import { HeadMovedError } from '../repository.ts';
import type { Publication } from './publisher.ts';

/** A publication with all its bytes in one buffer, which is transferred without a copy. */
export interface PublicationMessage {
  readonly parent: string | undefined;
  readonly tip: string;
  readonly objects: readonly (readonly [
    id: string,
    type: ObjectType,
    base: string | undefined,
    length: number,
  ])[];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export function encodePublication({ parent, tip, objects }: Publication): PublicationMessage {
  let length = 0;
  for (const { data } of objects) length += data.length;
  const bytes = new Uint8Array(length);
  let at = 0;
  const heads = objects.map(({ id, type, base, data }) => {
    bytes.set(data, at);
    at += data.length;
    return [id, type, base, data.length] as const;
  });
  return { parent, tip, objects: heads, bytes };
}

export function decodePublication(message: PublicationMessage): Publication {
  const { parent, tip } = message;
  const bytes = Buffer.from(message.bytes.buffer);
  let at = 0;
  const objects = message.objects.map(([id, type, base, length]): PackObject => {
    const data = bytes.subarray(at, at + length);
    at += length;
    return { id, type, base, data };
  });
  return { parent, tip, objects };
}

/** Errors lose their class between threads. */
export type FailureMessage =
  | { readonly kind: 'moved'; readonly expected: string | undefined; readonly actual?: string }
  | { readonly kind: 'locked'; readonly lockFile: string; readonly waitedMs: number }
  | {
      readonly kind: 'storage';
      readonly path: string;
      readonly code: string;
      readonly moved: boolean;
    }
  | { readonly kind: 'git' | 'fault'; readonly message: string };

export function encodeFailure(error: unknown): FailureMessage {
  if (error instanceof HeadMovedError) {
    const { expected, actual } = error;
    return { kind: 'moved', expected, ...(actual === undefined ? {} : { actual }) };
  }
  if (error instanceof RefLockedError) {
    return { kind: 'locked', lockFile: error.lockFile, waitedMs: error.waitedMs };
  }
  if (error instanceof StorageError) {
    const { path, code, moved } = error;
    return { kind: 'storage', path, code, moved };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { kind: error instanceof GitError ? 'git' : 'fault', message };
}

export function decodeFailure(failure: FailureMessage): Error {
  switch (failure.kind) {
    case 'moved':
      return new HeadMovedError(failure.expected, failure.actual);
    case 'locked':
      return new RefLockedError(failure.lockFile, failure.waitedMs);
    case 'storage': {
      const { path, code, moved } = failure;
      return new StorageError(path, { cause: Object.assign(new Error(code), { code }), moved });
    }
    case 'git':
      return new GitError(failure.message);
    case 'fault':
      return new Error(failure.message);
  }
}
