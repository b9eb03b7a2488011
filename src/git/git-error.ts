/** Errors of this folder. Each message is one line with the place and the remedy. */

export class GitError extends Error {
  /** Advice for the operator; also part of the message. */
  readonly remedy: string | undefined;

  constructor(problem: string, options: ErrorOptions & { remedy?: string } = {}) {
    const { remedy } = options;
    super(remedy === undefined ? problem : `${problem}. ${remedy}`, options);
    this.name = 'GitError';
    this.remedy = remedy;
  }
}

/** A path that git cannot store as given. Nothing of its commit was added. */
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
  /** Object type in the words of git: `tag`, `tree`, `blob` or `commit`. */
  readonly found: string;

  constructor(id: string, types: { readonly found: string; readonly wanted: string }) {
    super(`Object ${id} is a ${types.found}, not a ${types.wanted}`);
    this.name = 'ObjectTypeError';
    this.found = types.found;
  }
}

export class BlobTooLargeError extends GitError {
  readonly id: string;
  /** Undefined: git stopped at a limit before it reported the size. */
  readonly size: number | undefined;
  /** All blobs of the request that are too large. */
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

/** Another process held the lock of the branch until the timeout. Nothing was changed. */
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

/** A write to disk failed. */
export class StorageError extends GitError {
  /** The path that could not be written. */
  readonly path: string;
  /** `ENOSPC`, `EROFS`, `EIO` and so on. */
  readonly code: string;
  /**
   * False: the branch was not moved. True: the branch moved, but the move may not survive a power
   * failure.
   */
  readonly moved: boolean;

  constructor(path: string, options: { cause: unknown; moved?: boolean }) {
    const { cause, moved = false } = options;
    const code = errorCode(cause) ?? 'EIO';
    const outcome = moved
      ? 'the branch moved, but the move may be lost in a power failure'
      : 'the branch was not moved';
    const remedy = storageRemedies[code] ?? 'Check the disk';
    super(`Cannot write to ${path} (${code}): ${outcome}`, { remedy, cause });
    this.name = 'StorageError';
    this.path = path;
    this.code = code;
    this.moved = moved;
  }
}

/** Code of a failed system call, for example `ENOENT`; undefined for any other error. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}
