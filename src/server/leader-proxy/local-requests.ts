/**
 * Requests that a replica answers itself: reads of current objects, and documents that depend only on
 * the program and its options. The leader answers the rest: writes, git, sign-in, results of
 * controllers, the past, and the clusters beside the platform.
 */
import type { KindTable } from '../../kinds/index.ts';
import { PAST_PARAMETERS } from '../input/past.ts';
import type { RequestInfo, ResourceInfo } from '../input/request-info.ts';

export const SAFE_METHODS = ['GET', 'HEAD'];
const READS = ['get', 'list', 'watch'];
const OWN_DOCUMENTS = [
  /^\/(healthz|livez|readyz)(\/|$)/,
  /^\/(metrics|version|schemas|console)(\/|$)/,
  /^\/$/,
];
/** Of the API, below its root. */
const DISCOVERY = [
  /^\/openapi\/v[23](\/|$)/,
  /^\/apis?$/,
  /^\/apis\/[^/]+(\/[^/]+)?$/,
  /^\/api\/v1$/,
];

/** `info`: undefined for what no route may answer. `coreGroups`: of what follows from objects and controllers. */
export function isLocal(
  method: string,
  info: RequestInfo | undefined,
  of: { readonly kinds: KindTable; readonly coreGroups: readonly string[] },
): info is RequestInfo {
  if (info === undefined || !SAFE_METHODS.includes(method)) return false;
  if (info.isResource) return isPlainRead(info) && !of.coreGroups.includes(info.group);
  if (info.belowRoot && DISCOVERY.some((pattern) => pattern.test(info.path))) return true;
  return OWN_DOCUMENTS.some((pattern) => pattern.test(info.path));
}

function isPlainRead({ verb, subresource, query }: ResourceInfo): boolean {
  if (!READS.includes(verb) || (subresource !== '' && subresource !== 'status')) return false;
  return !PAST_PARAMETERS.some((name) => query.has(name));
}

/** True if the answer must include every acknowledged write. `head`: version that this replica shows. */
export function wantsNewest(info: RequestInfo, head: number): boolean {
  if (!info.isResource) return false;
  if ((info.query.get('continue') ?? '') !== '') return true;
  const text = info.query.get('resourceVersion') ?? '';
  if (text === '') return true;
  // A watch waits for what is ahead of it by nature.
  return !info.isWatch && Number(text) > head;
}
