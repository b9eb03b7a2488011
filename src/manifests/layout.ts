/**
 * Default paths of objects that the API creates, and namespaces from paths (design: the
 * repository). Identity does not depend on a path; only an absent namespace does.
 */
import { createHash } from 'node:crypto';
import { relativeTo } from './path-filter.ts';

const NAMESPACES = 'namespaces/';

/** Namespace that a folder `namespaces/<ns>/` gives to its documents. */
export function folderNamespace(under: string, path: string): string | undefined {
  const inner = relativeTo(under, path) ?? path;
  if (!inner.startsWith(NAMESPACES)) return undefined;
  const end = inner.indexOf('/', NAMESPACES.length);
  return end < 0 ? undefined : inner.slice(NAMESPACES.length, end);
}

/** `teams/ops.yaml`, `namespaces/payments/sharedsecrets/registry.yaml`, below `under`. */
export function defaultPath(
  under: string,
  plural: string,
  object: { namespace: string; name: string },
): string {
  const file = `${plural}/${fileName(object.name)}.yaml`;
  const inner = object.namespace === '' ? file : `namespaces/${object.namespace}/${file}`;
  return under === '' ? inner : `${under}/${inner}`;
}

/** File names have at most 255 bytes, five of them for `.yaml`. */
const LONGEST_NAME = 250;
/** Hex digits of the digest that distinguishes shortened names: 128 bits. */
const DIGITS = 32;

/**
 * Names of RBAC objects may contain characters that file systems reject; `%` is never in a name.
 */
function fileName(name: string): string {
  // Capitals too: a case-insensitive file system has room for only one of two such names.
  const safe = encodeURIComponent(name).replace(/%[0-9A-F]{2}|[*'()!~A-Z]/g, (found) =>
    found.length > 1 ? found : `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const shown = safe.startsWith('.') ? `%2E${safe.slice(1)}` : safe;
  if (shown.length <= LONGEST_NAME) return shown;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGITS);
  return `${shown.slice(0, LONGEST_NAME - DIGITS - 1)}%${digest}`;
}
