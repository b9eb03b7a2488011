/**
 * Default paths of objects that the API creates, and namespaces from paths (design: the
 * repository). Identity does not depend on a path; only an absent namespace does.
 */
import { createHash, hash } from 'node:crypto';
import { MANIFEST_EXTENSION, relativeTo } from './path-filter.ts';

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

/**
 * Entries that fill a folder. A folder is one object of git, and each commit writes the folders of its
 * files anew, so their width is a cost of every write. As many as the first level of a fan-out has folders.
 */
export const FULL_FOLDER = 256;
/** Hex digits of the name of a fan-out folder. */
const FAN_OUT_DIGITS = 2;
const FAN_OUT_LEVELS = 2;
const FAN_OUT_NAME = /^[0-9a-f]{2}$/;
/** So many fan-out folders are no accident: new files join them, however few entries the folder has. */
const SPREAD_FOLDERS = 64;

/** True if new files go to fan-out folders below the folder. */
export function isFull(folder: { readonly size: number; names(): Iterable<string> }): boolean {
  if (folder.size < SPREAD_FOLDERS || folder.size >= FULL_FOLDER) return folder.size >= FULL_FOLDER;
  let spread = 0;
  for (const name of folder.names()) if (FAN_OUT_NAME.test(name)) spread += 1;
  return spread >= SPREAD_FOLDERS;
}

/**
 * Paths for a new file of a folder, preferred first: in the folder, in a fan-out folder below it, and
 * one level deeper. A path is used while its folder is not full; the last one always is usable. The
 * fan-out folders are digits of the SHA-256 of the file name without extension, so that names with
 * a common prefix spread evenly.
 */
export function fanOutPaths(path: string): readonly string[] {
  const cut = path.lastIndexOf('/') + 1;
  const folder = path.slice(0, cut);
  const file = path.slice(cut);
  const digest = hash('sha256', file.replace(MANIFEST_EXTENSION, ''));
  const paths = [path];
  let below = folder;
  for (let level = 0; level < FAN_OUT_LEVELS; level += 1) {
    const from = level * FAN_OUT_DIGITS;
    below += `${digest.slice(from, from + FAN_OUT_DIGITS)}/`;
    paths.push(below + file);
  }
  return paths;
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
