/** Limits of a tree, and the error that names the place where one is exceeded. */
import { GitError } from '../git-error.ts';
import { decodePath } from '../objects/path-text.ts';

/** Files and folders of one tree, unless the operator says otherwise. */
export const DEFAULT_MAX_PATHS = 1_000_000;
/** Folders below each other. */
export const MAX_DEPTH = 64;
/** As PATH_MAX of Linux has it. */
export const MAX_PATH_BYTES = 4_096;
/** One tree object, which git reads into memory as a whole. */
export const MAX_TREE_BYTES = 16 * 1024 * 1024;
/** One commit or tag object. */
export const MAX_COMMIT_BYTES = 1024 * 1024;
/** Each parent is compared with the commit. */
export const MAX_PARENTS = 100;

/** A tree that no process may walk: it would take more memory or time than the limits allow. */
export class TreeLimitError extends GitError {
  /** The folder, `''` for the root. */
  readonly path: string;
  readonly problem: string;

  constructor(path: string, problem: string) {
    super(`${path === '' ? 'The tree' : quoted(path)} ${problem}`);
    this.name = 'TreeLimitError';
    this.path = path;
    this.problem = problem;
  }
}

/** Names as they are in trees, one character a byte, as the text of a path. */
export function pathOfNames(names: readonly string[]): string {
  return decodePath(Buffer.from(names.join('/'), 'latin1'));
}

const SHOWN = 200;

function quoted(path: string): string {
  return JSON.stringify(path.length > SHOWN ? `${path.slice(0, SHOWN)}…` : path);
}
