/** Selects the paths of a tree that are read: manifests below a folder, without ignored ones. */
import { caseFolded } from '../apimachinery/index.ts';
import { type IgnorePatterns, ignorePatterns } from './ignore-patterns.ts';

export const IGNORE_FILE = '.gitplaneignore';
/** SOPS configuration: names the recipients of encrypted files. */
export const SOPS_CONFIG = '.sops.yaml';

/** Files that configure the daemon, or git and sops in every clone, in lower case. */
const CONTROL_FILES: ReadonlySet<string> = new Set([IGNORE_FILE, SOPS_CONFIG, '.gitattributes']);

/**
 * Streams of NTFS: a write to `.gitattributes::$DATA` is a write to the file. A match begins with its run of
 * dots and blanks: a search from each of them would take seconds.
 */
const STREAM = /(?<![. ])[. ]*:[^/]*/g;
/** Short names that Windows may give to control files: to write one is to write the control file. */
const SHORT_NAME = /^(?:gi[a-z\d]{0,4}~\d+|so[a-z\d]{0,4}~\d+\.yam)$/;
/** The same for manifests: Windows may know `storefront.yaml` as `STOREF~1.YAM`. */
const SHORT_MANIFEST = /~\d+\.yam$/;

/**
 * True for a control file below `under` or in a folder above. Compares as clones do: a file system that ignores
 * case treats `.SOPS.yaml` and `.ſops.yaml` as `.sops.yaml`.
 */
export function isControlFile(under: string, path: string): boolean {
  const names = folded(path).split('/');
  const name = names.pop() ?? '';
  if (!CONTROL_FILES.has(name) && !SHORT_NAME.test(name)) return false;
  const root = under === '' ? [] : folded(under).split('/');
  const shared = Math.min(root.length, names.length);
  return root.slice(0, shared).join('/') === names.slice(0, shared).join('/');
}

function folded(path: string): string {
  return caseFolded(path).replace(STREAM, '');
}

export const MANIFEST_EXTENSION = /\.ya?ml$/;
/** The same as text. */
export const MANIFEST_ENDINGS: readonly string[] = ['.yaml', '.yml'];

/** In bytes. The states of matching are in proportion to it. */
export const LARGEST_IGNORE_FILE = 64 * 1024;

export interface PathFilter {
  includes(path: string): boolean;
  /** The same for a path with any file name. */
  covers(path: string): boolean;
  /**
   * The manifest in whose place a clone on some file systems has the content of a path that is not a manifest;
   * undefined: there is none.
   */
  manifestOnClones(path: string): string | undefined;
}

/** Git makes no such tree, but other programs can. */
export function leavesTree(path: string): boolean {
  return /(^|\/)\.{0,2}(\/|$)/.test(path);
}

/**
 * Manifests are `.yaml` and `.yml` files below `under`, outside dot-directories, that no pattern of
 * the ignore file matches. Symlinks and submodules are excluded by their mode, not here.
 */
export function pathFilter(under: string, ignoreText: string | undefined): PathFilter {
  const patterns: IgnorePatterns | undefined =
    ignoreText === undefined ? undefined : ignorePatterns(ignoreText);
  const foldedUnder = folded(under);
  const covers = (path: string, root = under): boolean => {
    const inner = relativeTo(root, path);
    if (inner === undefined) return false;
    // A path that leaves the tree is reported, though not read.
    if (inner.startsWith('.') || inner.includes('/.')) return leavesTree(inner);
    return patterns === undefined || !patterns.ignores(inner);
  };
  const includes = (path: string): boolean => MANIFEST_EXTENSION.test(path) && covers(path);
  const manifestOnClones = (path: string): string | undefined => {
    const clone = folded(path).replace(SHORT_MANIFEST, '*.yaml');
    const isManifest = MANIFEST_EXTENSION.test(clone) && covers(clone, foldedUnder);
    return isManifest && !includes(path) ? clone : undefined;
  };
  return { covers: (path) => covers(path), includes, manifestOnClones };
}

/** `path` relative to the folder `under` ('' is the root), or undefined if it is outside. */
export function relativeTo(under: string, path: string): string | undefined {
  if (under === '') return path;
  return path.startsWith(`${under}/`) ? path.slice(under.length + 1) : undefined;
}

/**
 * The folder of `--path`, normalized as in git: no leading or trailing slash, '' for the whole
 * tree.
 */
export function normalizeFolder(folder: string): string {
  const parts = folder.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) {
    throw new Error(`Cannot use --path "${folder}": it leaves the repository`);
  }
  return parts.join('/');
}
