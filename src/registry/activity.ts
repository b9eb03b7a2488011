/**
 * `status.lastActivity` changes without anybody writing the object. It has a version of its own like
 * every change, so that watchers see it, but whoever read the object before it has missed nothing
 * that they could overwrite: such versions are not stale.
 */
import { createHash } from 'node:crypto';
import type { KubeObject } from '../apimachinery/index.ts';
import type { Change, StoredObject } from '../state/index.ts';

/** Beside the object, out of sight: since which version nothing but activity changed, and of what. */
const SINCE = 'status.lastActivity since';
const OF = 'status.lastActivity of';

/** The change that notes a use of an object. */
export function noteActivity(stored: StoredObject, lastActivity: string): Change {
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

/** Whether an object was changed since a version by anything but its use. */
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
