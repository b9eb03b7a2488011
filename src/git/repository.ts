/**
 * The interface of a repository at one branch: bytes, paths, commits and refs. This folder knows
 * nothing about manifests. Object ids are 40 hexadecimal digits.
 */
import type { GitContext } from './process/git-environment.ts';

export interface TreeFile {
  readonly path: string;
  readonly id: string;
  /** `100644`, `100755`, `120000` (symlink), `160000` (submodule). */
  readonly mode: string;
}

/** Change of one path between a commit and one of its parents. */
export interface PathChange {
  readonly path: string;
  /** Absent when the path did not exist before. */
  readonly oldId?: string;
  /** Absent when the commit removed the path. */
  readonly newId?: string;
  /** Mode after the change; `000000` when removed. */
  readonly mode: string;
}

export interface HistoryCommit {
  readonly id: string;
  readonly parents: readonly string[];
  /** Committer time in seconds since the epoch. */
  readonly committerTime: number;
  /**
   * One list per parent that was compared, in the order of `parents`. A root commit has one list,
   * against nothing.
   */
  readonly changes: readonly (readonly PathChange[])[];
}

/**
 * Parents that the commits of a history are compared with. A merge differs from its second parent in all
 * that came since its base, so the first parent alone is less by far.
 */
export type HistoryComparison = 'every parent' | 'first parent' | 'no parent';

/** Part of a history that is read. */
export interface HistoryScope {
  /** Default: every parent. */
  readonly against?: HistoryComparison | undefined;
  /** Changes of other files are left out. Default: all files. */
  readonly paths?: PathSelection | undefined;
}

/** Files of a tree, by their paths. */
export interface PathSelection {
  /** Folder with the files that have one of the endings; '' is the whole tree. */
  readonly under: string;
  readonly endings: readonly string[];
  /** Paths of more files. */
  readonly others: readonly string[];
}

export interface Person {
  readonly name: string;
  readonly email: string;
}

/** Content of a commit beside its tree. */
export interface CommitMetadata {
  readonly parents: readonly string[];
  readonly author: Person;
  readonly committer: Person;
  /** Seconds since the epoch; 0 where it cannot be read. */
  readonly committerTime: number;
  readonly message: string;
}

export interface FileChange {
  readonly path: string;
  /** null removes the file. */
  readonly content: Buffer | null;
}

/** Takes a file of another tree, whose blob the repository has. */
export interface FileTake {
  readonly path: string;
  readonly blob: string;
  /** As in a tree: `100644`. */
  readonly mode: string;
}

export interface NewCommit {
  readonly changes: readonly (FileChange | FileTake)[];
  readonly author: Person;
  readonly committer: Person;
  /** Seconds since the epoch, UTC. */
  readonly time: number;
  readonly message: string;
  /** Second parent, of a merge; the first one is the tip of the batch. */
  readonly merged?: string | undefined;
}

/** The branch is not at the parent of the batch; nothing was changed. */
export class HeadMovedError extends Error {
  readonly expected: string | undefined;
  readonly actual: string | undefined;

  constructor(expected: string | undefined, actual: string | undefined) {
    super(`The branch moved from ${expected ?? 'nothing'} to ${actual ?? 'nothing'}`);
    this.name = 'HeadMovedError';
    this.expected = expected;
    this.actual = actual;
  }
}

/** Entries of one folder, those of folders below it not included. */
export interface FolderEntries {
  readonly size: number;
  names(): Iterable<string>;
}

/** A chain of commits that becomes visible and durable together, or not at all. */
export interface CommitBatch {
  /** Parent of the next commit. */
  readonly tip: string | undefined;
  /**
   * Builds one commit on top of `tip` in memory, and returns its id. Throws when a path cannot exist in a git tree.
   */
  add(commit: NewCommit): Promise<{ id: string }>;
  /** A folder at `tip`: empty if it does not exist, undefined if a file is in its place. */
  readFolder(folder: string): Promise<FolderEntries | undefined>;
  /**
   * Makes every commit durable and moves the branch. On return the branch reaches all of them on
   * stable storage. Throws HeadMovedError, and changes nothing, if the branch is no longer at the
   * parent of the batch. A batch is published once.
   */
  publish(): Promise<void>;
  /**
   * Makes every commit durable and leaves the branch where it is; `Repository.advance` moves it. A
   * batch is stored or published once.
   */
  store(): Promise<void>;
}

/** Limits of what is read, which is the default, or the narrower ones of a push. */
export type LimitsOf = 'read' | 'push';

/** Result of checking the tree of a commit against the limits. */
export interface LimitCheck {
  /** Undefined: the tree is within the limits. */
  readonly problem: string | undefined;
  /** The commit itself, or the commit to read in its place; undefined: read the empty tree. */
  readonly standIn: string | undefined;
}

/** Widths of the folders of one commit. A commit writes the tree of each folder that it changes anew. */
export interface FolderWidths {
  /** Entries of the widest folder, and bytes of its tree. */
  readonly entries: number;
  readonly bytes: number;
  /** The widest folders, at most ten, with 1,000 entries or more, widest first. */
  readonly wide: readonly {
    readonly path: string;
    readonly entries: number;
    readonly bytes: number;
  }[];
}

/** Pushed commits and annotated tags, and the commits that the repository already has. */
export interface PushedTips {
  readonly tips: readonly string[];
  /** One commit, or everything that the refs reach. */
  readonly known: { readonly commit: string | undefined } | 'all refs';
}

/** Reason for refusing a push. */
export interface PushObjection {
  /** Undefined: the problem is not about a single path. */
  readonly path: string | undefined;
  readonly problem: string;
}

export interface Repository {
  /** The bare repository, absolute. */
  readonly gitDir: string;
  /** Full name, as in `refs/heads/main`. */
  readonly ref: string;
  /** Lets another thread read the same objects; absent where that is impossible. Always the same instance. */
  readonly context?: GitContext;
  /** Branch tip, read from disk; undefined while the branch has no commit. */
  head(): Promise<string | undefined>;
  /** Files of the tree of a revision: below a folder ('' = all), or those that are selected, in the order of git. */
  listFiles(revision: string, of?: string | PathSelection): Promise<TreeFile[]>;
  /** Differences between two trees; `from` undefined: every path is new. */
  diff(from: string | undefined, to: string): Promise<PathChange[]>;
  /** Those of the differences that are at some paths, at a cost that follows the paths. */
  diffAt(from: string, to: string, paths: readonly string[]): Promise<PathChange[]>;
  /** Contents in the order of `ids`. Rejects if one is missing. */
  readBlobs(ids: readonly string[]): Promise<Buffer[]>;
  /**
   * Commits reachable from `to` and not from `from`, parents before children, each with its changes
   * against every parent, unless less is asked for.
   */
  history(from: string | undefined, to: string, scope?: HistoryScope): AsyncIterable<HistoryCommit>;
  /** Like `history`, for commits reachable from `tips` (commits or tags) and from no ref. */
  newHistory(tips: readonly string[]): AsyncIterable<HistoryCommit>;
  /** Bytes of commit objects, in the order of `ids`. Rejects if one is missing or not a commit. */
  readCommits(ids: readonly string[]): Promise<Buffer[]>;
  /** Merge bases of two commits: none for unrelated histories, seldom several. */
  mergeBases(one: string, other: string): Promise<string[]>;
  /** Root commit of the first-parent line of `revision`. */
  rootCommit(revision: string): Promise<string>;
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;
  /** Metadata of a commit. Rejects if it is missing. */
  commitMetadata(commit: string): Promise<CommitMetadata>;
  /** Checks the tree of a commit against the limits. Only a tree within them may be listed or compared. */
  checkLimits(commit: string, of?: LimitsOf): Promise<LimitCheck>;
  /** Reads the trees that were not measured before. */
  folderWidths(commit: string): Promise<FolderWidths>;
  /** Reasons to refuse pushed commits: limits, names, submodules. */
  objectionsTo(pushed: PushedTips): Promise<readonly PushObjection[]>;
  /** Starts a batch on top of `parent` (undefined: the first commit of an empty branch). */
  begin(parent: string | undefined): CommitBatch;
  /**
   * Moves the branch to a commit that the repository has, with everything that it reaches, on stable
   * storage. Throws HeadMovedError, and changes nothing, if the branch is not at `from`.
   */
  advance(from: string | undefined, to: string): Promise<void>;
  /** Stops child processes and background work. */
  close(): Promise<void>;
}
