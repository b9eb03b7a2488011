/**
 * `status.lastActivity` changes without a write of the object. Each such change gets a
 * resourceVersion, so that watchers see it. A client that read the object before it can still
 * update: activity alone does not make a version stale.
 */
import { createHash } from 'node:crypto';
import type { KubeObject } from '../apimachinery/index.ts';
import type { Change, StoredObject } from '../state/index.ts';

/**
 * Hidden fields: the version since which only activity changed, and the digest of the object then.
 */
const SINCE = 'status.lastActivity since';
const OF = 'status.lastActivity of';

/** The change that records a use of an object. */
export function recordActivity(stored: StoredObject, lastActivity: string): Change {
  const { key, object, hidden } = stored;
  const of = digest(object);
  const same = hidden?.[OF] === of;
  const since = same ? hidden?.[SINCE] : object.metadata.resourceVersion;
  return {
    type: 'put',
    key,
    object: { ...object, status: { ...object.status, lastActivity } },
    hidden: { ...hidden, [SINCE]: since ?? '', [OF]: of },
  };
}

/** True if the object was changed since a version by more than activity. */
export function isStale(resourceVersion: string, { object, hidden }: StoredObject): boolean {
  const current = object.metadata.resourceVersion ?? '';
  if (resourceVersion === current) return false;
  const since = hidden?.[SINCE];
  if (typeof since !== 'string' || !/^\d+$/.test(resourceVersion)) return true;
  const between =
    BigInt(resourceVersion) >= BigInt(since || '0') && BigInt(resourceVersion) <= BigInt(current);
  return !between || since === '' || hidden?.[OF] !== digest(object);
}

function digest({ metadata, status, ...rest }: KubeObject): string {
  const { resourceVersion: _version, ...meta } = metadata;
  const { lastActivity: _activity, ...others } = status ?? {};
  return createHash('sha256')
    .update(JSON.stringify([meta, others, rest]))
    .digest('base64');
}
