/** Health of an object, in the words of the column `Health`. */
import type { Condition, KubeObject } from '../api/objects.ts';

export const READY = 'Ready';

export function healthOf({ status }: KubeObject): string {
  const conditions = status?.conditions ?? [];
  if (conditions.some(isDegradation)) return 'Degraded';
  const isUnready = conditions.some(({ type, status: is }) => type === READY && is === 'False');
  if (!isUnready) return READY;
  const isUnsynced = conditions.some((one) => one.type === 'Synced' && isBad(one));
  return isUnsynced ? 'OutOfSync' : 'NotReady';
}

/** True if the last good version is served, since the newest manifest is not valid. */
export function isDegraded({ status }: KubeObject): boolean {
  return status?.conditions?.some(isDegradation) === true;
}

function isDegradation({ type, status }: Condition): boolean {
  return type === 'Degraded' && status === 'True';
}

/** True for a problem: of most conditions it is `False`, of `Degraded` it is `True`. */
export function isBad(condition: Condition): boolean {
  if (condition.type === 'Degraded') return isDegradation(condition);
  return condition.status === 'False';
}
