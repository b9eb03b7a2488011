/**
 * Writes of the platform itself, mostly under its own name. Their bodies were never text, so they
 * have no duplicate keys.
 */
import { SUPERUSER_GROUP, type User } from '../../apimachinery/index.ts';
import type { Kind } from '../../kinds/index.ts';
import { COMMITTER } from './commit-message.ts';
import type { CreateRequest } from './create.ts';
import type { UpdateRequest } from './update.ts';
import type { Target, WriteOptions } from './write-context.ts';

/** The platform itself: author of its own writes, with all rights. */
export const GITPLANE: User = { ...COMMITTER, groups: [SUPERUSER_GROUP] };

export function ownOptions(
  more: Pick<WriteOptions, 'reason' | 'trailers' | 'requestId'> = {},
): WriteOptions {
  return { user: GITPLANE, dryRun: false, fieldValidation: 'Strict', ...more };
}

/** For a kind without namespaces. */
export function ownCreate(kind: Kind, body: unknown, options: WriteOptions): CreateRequest {
  return { kind, namespace: '', body, duplicates: [], options };
}

export function ownChange(
  { kind, namespace, name }: Target,
  options: WriteOptions,
  change: UpdateRequest['change'],
): UpdateRequest {
  return { verb: 'patch', kind, namespace, name, duplicates: [], options, change };
}
