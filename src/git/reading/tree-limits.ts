/** Limits of a tree, and the error that names the folder that exceeds one. */
import { GitError } from '../git-error.ts';
import { decodePath } from '../objects/path-text.ts';

/** Default limit for the files and folders of one tree. */
export const DEFAULT_MAX_PATHS = 1_000_000;
/** Limit for nested folders. */
export const MAX_DEPTH = 64;
/** PATH_MAX of Linux. */
export const MAX_PATH_BYTES = 4_096;
/** Limit for one tree object, which git reads into memory as a whole. */
export const MAX_TREE_BYTES = 16 * 1024 * 1024;
/** Limit for one tree object of a push. */
const MAX_PUSHED_TREE_BYTES = 12 * 1024 * 1024;

/** Limit for the list of all paths of a tree, which git writes to a buffer of 256 MiB. */
export const MAX_LIST_BYTES = 250 * 1024 * 1024;
/** The same for a push. */
const MAX_PUSHED_LIST_BYTES = 200 * 1024 * 1024;
/** Bytes of a path in such a list, beside its own. */
const RECORD_BYTES = 100;

/** Bytes of a list of paths. */
export function listBytes(of: { readonly paths: number; readonly pathBytes: number }): number {
  return of.paths * RECORD_BYTES + of.pathBytes;
}

/** Limits of the trees of one commit. */
export interface TreeLimits {
  readonly maxPaths: number;
  /** Origin of `maxPaths`, for messages. */
  readonly option: string;
  readonly maxTreeBytes: number;
  readonly maxListBytes: number;
}

const OPTION = '--push-max-paths';
/** Share of what a push may reach that API writes can add, in percent. */
const ROOM_PERCENT = 25;

/** Limits of a push. */
export function pushedLimits(maxPaths: number): TreeLimits {
  const bytes = { maxTreeBytes: MAX_PUSHED_TREE_BYTES, maxListBytes: MAX_PUSHED_LIST_BYTES };
  return { maxPaths, option: OPTION, ...bytes };
}

/**
 * Limits of what is read. They are wider: after a push that reaches its limits, commits of the API are
 * still read, and so is a push that takes the paths away.
 */
export function readLimits(maxPaths: number): TreeLimits {
  const room = Math.ceil((maxPaths * ROOM_PERCENT) / 100);
  const option = `${OPTION} and a quarter`;
  const bytes = { maxTreeBytes: MAX_TREE_BYTES, maxListBytes: MAX_LIST_BYTES };
  return { maxPaths: maxPaths + room, option, ...bytes };
}
/** Limit for one commit object of a push. The largest of Linux has 73 KiB. */
export const MAX_COMMIT_BYTES = 256 * 1024;
/** Limit for the tag objects of one ref: git reads those of all refs at each push. */
export const MAX_TAG_BYTES = 64 * 1024;
/** Limit for all of them together: git keeps those in memory that its commit-graph file does not have. */
export const MAX_COMMITS_BYTES = 64 * 1024 * 1024;
/** Limit for parents, since each is compared with the commit. */
export const MAX_PARENTS = 100;

/** A tree that must not be read: it would take more memory or time than the limits allow. */
export class TreeLimitError extends GitError {
  /** Path of the folder, `''` for the root. */
  readonly path: string;
  readonly problem: string;

  constructor(path: string, problem: string) {
    super(`${path === '' ? 'The tree' : quoted(path)} ${problem}`);
    this.name = 'TreeLimitError';
    this.path = path;
    this.problem = problem;
  }
}

/** Converts names from tree objects (one character per byte) to the text of a path. */
export function pathOfNames(names: readonly string[]): string {
  return decodePath(Buffer.from(names.join('/'), 'latin1'));
}

const SHOWN = 200;

function quoted(path: string): string {
  return JSON.stringify(path.length > SHOWN ? `${path.slice(0, SHOWN)}…` : path);
}
