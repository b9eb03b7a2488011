/**
 * Which files hold manifests, and where an object that the API creates goes (design: the
 * repository). Identity never follows from a path; only an absent namespace does.
 */
import { createHash } from 'node:crypto';
import { type IgnorePatterns, ignorePatterns } from './ignore-patterns.ts';

export const IGNORE_FILE = '.gitplaneignore';
/** For whom secrets are sealed. */
export const SOPS_CONFIG = '.sops.yaml';

/** Files that steer the daemon, or git and sops in every clone, in lower case. */
const CONTROL_FILES: ReadonlySet<string> = new Set([IGNORE_FILE, SOPS_CONFIG, '.gitattributes']);

/**
 * True if a file steers what is below `under`: it is there, or in a folder above. In any case of
 * letters: a clone on a file system that ignores case takes `.SOPS.yaml` for `.sops.yaml`.
 */
export function isControlFile(under: string, path: string): boolean {
  const names = path.toLowerCase().split('/');
  if (!CONTROL_FILES.has(names.pop() ?? '')) return false;
  const root = under === '' ? [] : under.toLowerCase().split('/');
  const shared = Math.min(root.length, names.length);
  return root.slice(0, shared).join('/') === names.slice(0, shared).join('/');
}

const MANIFEST_EXTENSION = /\.ya?ml$/;

/** Decides which paths of a tree are read. */
/** Every path is compared with every pattern. */
export const LARGEST_IGNORE_FILE = 64 * 1024;

export interface PathFilter {
  includes(path: string): boolean;
  /** The same for a path that need not be named like a manifest. */
  covers(path: string): boolean;
}

/** Git makes no such tree, and other programs can. */
export function leavesTree(path: string): boolean {
  return /(^|\/)\.{0,2}(\/|$)/.test(path);
}

/**
 * Manifests are `.yaml` and `.yml` files below `under` that no dot-directory hides and no pattern
 * of the ignore file covers. Symlinks and submodules are left out by their mode, not here.
 */
export function pathFilter(under: string, ignoreText: string | undefined): PathFilter {
  const patterns: IgnorePatterns | undefined =
    ignoreText === undefined ? undefined : ignorePatterns(ignoreText);
  const covers = (path: string): boolean => {
    const inner = relativeTo(under, path);
    if (inner === undefined) return false;
    // What leaves the tree is to be told of, though not read.
    if (inner.startsWith('.') || inner.includes('/.')) return leavesTree(inner);
    return patterns === undefined || !patterns.ignores(inner);
  };
  return { covers, includes: (path) => MANIFEST_EXTENSION.test(path) && covers(path) };
}

/** `path` as seen from the folder `under` (`''` is the root), or undefined when it is outside. */
export function relativeTo(under: string, path: string): string | undefined {
  if (under === '') return path;
  return path.startsWith(`${under}/`) ? path.slice(under.length + 1) : undefined;
}

/** The folder that `--path` names, in git's spelling: no leading or trailing slash, '' for all. */
export function normalizeFolder(folder: string): string {
  const parts = folder.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) {
    throw new Error(`Cannot use --path "${folder}": it leaves the repository`);
  }
  return parts.join('/');
}

const NAMESPACES = 'namespaces/';

/** The namespace that a folder `namespaces/<ns>/` gives to the documents below it. */
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

/** File systems end at 255 bytes, of which `.yaml` takes five. */
const LONGEST_NAME = 250;
/** Of the digest that tells shortened names apart: 128 bits. */
const DIGITS = 32;

/** Names of RBAC objects may hold characters that file systems dislike; `%` is never in a name. */
function fileName(name: string): string {
  // Capitals too: file systems that do not tell them apart have room for one of two names.
  const safe = encodeURIComponent(name).replace(/%[0-9A-F]{2}|[*'()!~A-Z]/g, (found) =>
    found.length > 1 ? found : `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const shown = safe.startsWith('.') ? `%2E${safe.slice(1)}` : safe;
  if (shown.length <= LONGEST_NAME) return shown;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGITS);
  return `${shown.slice(0, LONGEST_NAME - DIGITS - 1)}%${digest}`;
}
