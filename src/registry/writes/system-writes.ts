/**
 * Writes that no request asked for: the platform makes them itself, mostly in its own name. Their
 * bodies were never text, so nothing in them can be there twice.
 */
import { SUPERUSER_GROUP, type User } from '../../apimachinery/index.ts';
import type { Kind } from '../../kinds/index.ts';
import { COMMITTER } from './commit-message.ts';
import type { CreateRequest } from './create.ts';
import type { UpdateRequest } from './update.ts';
import type { Target, WriteOptions } from './write-context.ts';

/** The platform itself: author of what it writes, with all rights. */
export const GITPLANE: User = { ...COMMITTER, groups: [SUPERUSER_GROUP] };

export function ownOptions(
  more: Pick<WriteOptions, 'reason' | 'trailers' | 'requestId'> = {},
): WriteOptions {
  return { user: GITPLANE, dryRun: false, fieldValidation: 'Strict', ...more };
}

/** Of a kind without namespaces. */
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
