/** Messages between the main thread and the publishing thread. */
import { GitError, RefLockedError, StorageError } from '../git-error.ts';
import type { ObjectType } from '../objects/object-id.ts';
import type { PackObject } from '../packs/pack-writer.ts';
import { HeadMovedError } from '../repository.ts';
import type { Publication } from './publisher.ts';

/** A publication with all its bytes in one buffer, which is transferred without a copy. */
export interface PublicationMessage {
  /** See `encodeHead`: threads copy one string several times faster than hundreds of small arrays. */
  readonly head: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

type ObjectHead = readonly [
  id: string,
  type: ObjectType,
  base: string | null | undefined,
  length: number,
];

/** JSON of a publication without the bytes of its objects. Records of the WAL have it too. */
export function encodeHead({ parent, tip, objects }: Publication): string {
  const heads = objects.map(
    ({ id, type, base, data }): ObjectHead => [id, type, base, data.length],
  );
  return JSON.stringify({ parent, tip, objects: heads });
}

export function encodePublication(publication: Publication): PublicationMessage {
  let length = 0;
  for (const { data } of publication.objects) length += data.length;
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const { data } of publication.objects) {
    bytes.set(data, at);
    at += data.length;
  }
  return { head: encodeHead(publication), bytes };
}

/** The objects are views of the bytes. */
export function decodePublication(of: { head: string; bytes: Uint8Array }): Publication {
  const { objects: heads, ...rest } = JSON.parse(of.head);
  const bytes = Buffer.from(of.bytes.buffer, of.bytes.byteOffset, of.bytes.length);
  let at = 0;
  const objects = heads.map(([id, type, base, length]: ObjectHead): PackObject => {
    const data = bytes.subarray(at, at + length);
    at += length;
    // JSON has no undefined.
    return { id, type, base: base ?? undefined, data };
  });
  return { ...rest, objects };
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
