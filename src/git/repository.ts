/**
 * A repository at one branch: bytes, paths, commits and refs. Nothing in this folder knows what a
 * manifest is. Ids are 40 hexadecimal digits.
 */
import type { GitContext } from './process/git-environment.ts';

export interface TreeFile {
  readonly path: string;
  readonly id: string;
  /** `100644`, `100755`, `120000` (symlink), `160000` (submodule). */
  readonly mode: string;
}

/** What a commit did to one path, against one parent. */
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
  /** Seconds since the epoch, of the committer. */
  readonly committerTime: number;
  /** One list a parent, in the order of `parents`; a root commit has one list, against nothing. */
  readonly changes: readonly (readonly PathChange[])[];
}

export interface Person {
  readonly name: string;
  readonly email: string;
}

/** What a commit says beside its tree. */
export interface CommitNote {
  readonly parents: readonly string[];
  readonly author: Person;
  readonly committer: Person;
  readonly message: string;
}

export interface FileChange {
  readonly path: string;
  /** null removes the file. */
  readonly content: Buffer | null;
}

export interface NewCommit {
  readonly changes: readonly FileChange[];
  readonly author: Person;
  readonly committer: Person;
  /** Seconds since the epoch, UTC. */
  readonly time: number;
  readonly message: string;
}

/** The branch is not where the batch began; nothing was changed. */
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

/** Chained commits that become visible and durable together, or not at all. */
export interface CommitBatch {
  /** The commit the next one goes on top of. */
  readonly tip: string | undefined;
  /** Builds one commit on top of `tip` in memory; returns its id and the ids of the new blobs by
   * path. Throws when a path cannot exist in a git tree. */
  add(commit: NewCommit): Promise<{ id: string; blobs: ReadonlyMap<string, string> }>;
  /**
   * Makes every commit durable and moves the branch. On return the branch reaches all of them on
   * stable storage. Throws HeadMovedError, and changes nothing, unless the branch still is where
   * the batch began. A batch is published once.
   */
  publish(): Promise<void>;
}

/** True if the tree of a commit is within the limits. */
export interface Bounded {
  /** Undefined: it is. */
  readonly problem: string | undefined;
  /** The commit itself, or the one that stands for it; undefined: the empty tree does. */
  readonly standIn: string | undefined;
}

/** Commits and annotated tags that come, and what is here already. */
export interface PushedTips {
  readonly tips: readonly string[];
  /** A commit, or whatever the refs lead to. */
  readonly known: { readonly commit: string | undefined } | 'all refs';
}

/** Why a push is not taken. */
export interface PushObjection {
  /** Undefined: it is about no path, or about many. */
  readonly path: string | undefined;
  readonly problem: string;
}

export interface Repository {
  /** The bare repository, absolute. */
  readonly gitDir: string;
  /** Full name, as in `refs/heads/main`. */
  readonly ref: string;
  /** How another thread reads the same objects; absent where it cannot. Always the same instance. */
  readonly context?: GitContext;
  /** Where the branch is now, read from disk; undefined while it has no commit. */
  head(): Promise<string | undefined>;
  /** Every file of a revision's tree below `under` ('' = all), in git's order. */
  listFiles(revision: string, under?: string): Promise<TreeFile[]>;
  /** What differs between two trees; `from` undefined: everything is new. */
  diff(from: string | undefined, to: string): Promise<PathChange[]>;
  /** Contents in the order of `ids`. Rejects when one is missing. */
  readBlobs(ids: readonly string[]): Promise<Buffer[]>;
  /**
   * Commits reachable from `to` and not from `from`, parents before children, each with what it
   * changed against every parent.
   */
  history(from: string | undefined, to: string): AsyncIterable<HistoryCommit>;
  /** The same for commits reachable from `tips`, tags among them, and from no ref. */
  newHistory(tips: readonly string[]): AsyncIterable<HistoryCommit>;
  /** The bytes of commit objects, in the order of `ids`. Rejects when one is missing or no commit. */
  readCommits(ids: readonly string[]): Promise<Buffer[]>;
  /** Where two lines of history parted: none when they have nothing in common, seldom several. */
  mergeBases(one: string, other: string): Promise<string[]>;
  /** The commit without parents that the first-parent line of `revision` begins with. */
  rootCommit(revision: string): Promise<string>;
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;
  /** What the commit says. Rejects when it is missing. */
  noteOf(commit: string): Promise<CommitNote>;
  /** True if the tree of a commit is within the limits; no other one is listed or compared. */
  boundsOf(commit: string): Promise<Bounded>;
  /** Why a push of commits is not taken: limits, names, submodules. */
  objectionsTo(pushed: PushedTips): Promise<readonly PushObjection[]>;
  /** A batch on top of `parent` (undefined: the first commit of an empty branch). */
  begin(parent: string | undefined): CommitBatch;
  /** Ends child processes and background work. */
  close(): Promise<void>;
}
