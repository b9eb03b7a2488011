/** Errors of this folder. Every message is one line that names the place and the remedy. */

/** Git, or the repository, cannot do what was asked. */
export class GitError extends Error {
  /** What the reader can do about it; part of the message too. */
  readonly remedy: string | undefined;

  constructor(problem: string, options: ErrorOptions & { remedy?: string } = {}) {
    const { remedy } = options;
    super(remedy === undefined ? problem : `${problem}. ${remedy}`, options);
    this.name = 'GitError';
    this.remedy = remedy;
  }
}

/** A path that cannot be written as asked. Nothing of its commit was added. */
export class PathError extends GitError {
  readonly path: string;

  constructor(path: string, problem: string) {
    super(`Cannot write ${JSON.stringify(path)}: ${problem}`);
    this.name = 'PathError';
    this.path = path;
  }
}

export class MissingObjectError extends GitError {
  readonly id: string;

  constructor(id: string, gitDir: string) {
    super(`Object ${id} is not in ${gitDir}`, {
      remedy: 'If it should be, run `git fsck --full` there and restore a backup',
    });
    this.name = 'MissingObjectError';
    this.id = id;
  }
}

export class ObjectTypeError extends GitError {
  /** As git calls it: `tag`, `tree`, `blob` or `commit`. */
  readonly found: string;

  constructor(id: string, types: { readonly found: string; readonly wanted: string }) {
    super(`Object ${id} is a ${types.found}, not a ${types.wanted}`);
    this.name = 'ObjectTypeError';
    this.found = types.found;
  }
}

export class BlobTooLargeError extends GitError {
  readonly id: string;
  /** Undefined: so large that git met a limit before it told. */
  readonly size: number | undefined;
  /** All that were asked for together and are too large. */
  ids: readonly string[];

  constructor(id: string, size: number | undefined, limit: number) {
    const found = size === undefined ? 'is too large for git to read' : `has ${size} bytes`;
    super(`Blob ${id} ${found}; at most ${limit} bytes are read`);
    this.name = 'BlobTooLargeError';
    this.id = id;
    this.ids = [id];
    this.size = size;
  }

  with(others: readonly BlobTooLargeError[]): this {
    this.ids = [this.id, ...others.map(({ id }) => id)];
    return this;
  }
}

/** Somebody else holds the lock of the branch and did not let go. Nothing was changed. */
export class RefLockedError extends GitError {
  readonly lockFile: string;
  readonly waitedMs: number;

  constructor(lockFile: string, waitedMs: number) {
    super(`${lockFile} exists: another process has held the branch for more than ${waitedMs} ms`, {
      remedy: 'If no git process is running on this repository, remove that file',
    });
    this.name = 'RefLockedError';
    this.lockFile = lockFile;
    this.waitedMs = waitedMs;
  }
}

const storageRemedies: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full: free some space',
  EDQUOT: 'The disk quota is used up: free some space or raise it',
  EROFS: 'The file system is read-only: mount it writable',
  EIO: 'The disk reports errors: check it',
  EACCES: 'Give the user who runs gitplane write access',
  EPERM: 'Give the user who runs gitplane write access, on a file system with hard links',
  ENOTSUP: 'Use a file system with hard links',
  EMFILE: 'Raise the limit of open files',
};

/** The disk did not take a write. */
export class StorageError extends GitError {
  /** The path that could not be written. */
  readonly place: string;
  /** As in `ENOSPC`, `EROFS`, `EIO`. */
  readonly code: string;
  /**
   * False: the branch is where it was. True: the branch did move, but whether the move outlives a
   * loss of power is not known.
   */
  readonly moved: boolean;

  constructor(place: string, options: { cause: unknown; moved?: boolean }) {
    const { cause, moved = false } = options;
    const code = errorCode(cause) ?? 'EIO';
    const outcome = moved
      ? 'the branch moved, but may move back when the power fails'
      : 'the branch was not moved';
    const remedy = storageRemedies[code] ?? 'Check the disk';
    super(`Cannot write to ${place} (${code}): ${outcome}`, { remedy, cause });
    this.name = 'StorageError';
    this.place = place;
    this.code = code;
    this.moved = moved;
  }
}

/** The code of a failed system call, as in `ENOENT`; undefined for any other error. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : undefined;
}
