/**
 * The branch for writes that wait for review: its commits beyond the followed branch are pending. When
 * the followed branch moves, the pending commits are rebased on it, file by file. If both changed the
 * same file, or a commit has no copy with the same signature, the branch stays unchanged and a person
 * has to merge it.
 */
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { BlobTooLargeError, PathError } from '../git-error.ts';
import { type GitLogger, silent } from '../logger.ts';
import { GitLimitError } from '../process/process-limits.ts';
import type { Publication } from '../publication/publisher.ts';
import { containsCommit } from '../reading/contains-commit.ts';
import { moveRef } from '../refs/move-ref.ts';
import { readRef } from '../refs/ref-file.ts';
import type { HistoryCommit, NewCommit, PathChange, Repository } from '../repository.ts';
import { pushConfirmed } from './confirmed-push.ts';
import { assertCommit, KEPT_REFS } from './following.ts';
import type { Remote } from './remote.ts';
import { RemoteError } from './remote-error.ts';

export interface WriteBranchOptions {
  /** Remote with the branch for writes, and a tracking ref of its own. */
  readonly remote: Remote;
  readonly gitDir: string;
  /** The local branch of that name. */
  readonly ref: string;
  readonly logger?: GitLogger;
  readonly outcomeTimeoutMs?: number;
  /** False for the bytes of a commit whose signature a copy would replace or lose. */
  readonly mayCopy: (commit: Buffer) => boolean;
}

export interface PendingState {
  /** The pending commits could not be rebased on the followed branch. */
  readonly conflicts: boolean;
  /** Commits that were asked about and are at the remote. */
  readonly arrived: readonly string[];
}

type Mirror = Pick<
  Repository,
  'begin' | 'checkLimits' | 'commitMetadata' | 'diff' | 'history' | 'mergeBases' | 'readCommits'
>;

const OUTCOME_TIMEOUT_MS = 20_000;
const COMMITS_PER_YIELD = 64;

export class WriteBranch {
  readonly #options: WriteBranchOptions;
  readonly #closing = new AbortController();
  /** Tip of the branch at the remote. */
  #remoteTip: string | undefined;
  #isStale = true;

  constructor(options: WriteBranchOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.ref.replace('refs/heads/', '');
  }

  /** Another process moved the branch: call `prepare` before the next write. */
  get isStale(): boolean {
    return this.#isStale;
  }

  /** Queries the remote for a move by another process. Throws RemoteError. */
  async checkRemote(): Promise<void> {
    const known = this.#remoteTip;
    const tip = await this.#options.remote.tip();
    if (tip !== known && known === this.#remoteTip) this.#isStale = true;
  }

  /** Gate of a repository at this branch. See `Gate`. */
  async admit({ tip }: Publication, objects: string): Promise<void> {
    const { remote, gitDir, outcomeTimeoutMs = OUTCOME_TIMEOUT_MS } = this.#options;
    const { signal } = this.#closing;
    const fetch = (): Promise<string | undefined> => this.#fetch();
    const push = { tip, expected: this.#remoteTip, objects };
    const moved = await pushConfirmed(
      { remote, gitDir, fetch, outcomeTimeoutMs, signal },
      push,
    ).catch((error: unknown) => {
      this.#isStale = true;
      throw error;
    });
    if (moved === undefined) {
      this.#remoteTip = tip;
      return;
    }
    this.#isStale = true;
    throw new RemoteError('moved', this.name);
  }

  /**
   * Moves the local branch to the parent of the next write: the pending commits rebased on `base`, or
   * `base`. Without a branch at the remote, nothing is pending.
   */
  async prepare(
    base: string,
    mirror: Mirror,
    asked: readonly string[] = [],
  ): Promise<PendingState> {
    const theirs = await this.#fetch();
    this.#remoteTip = theirs;
    // Those of a rebase are others.
    const arrived: string[] = [];
    for (const commit of asked) {
      if (theirs === undefined) break;
      if (await containsCommit(this.#options.gitDir, theirs, commit)) arrived.push(commit);
    }
    return { ...(await this.#prepare(base, theirs, mirror)), arrived };
  }

  async #prepare(
    base: string,
    theirs: string | undefined,
    mirror: Mirror,
  ): Promise<Omit<PendingState, 'arrived'>> {
    const { gitDir, logger = silent } = this.#options;
    await this.#preserveRemoved(base, theirs);
    const isDone = theirs === undefined || (await containsCommit(gitDir, base, theirs));
    if (isDone) return await this.#moveAndReport(base, false);
    if (await containsCommit(gitDir, theirs, base)) return await this.#moveAndReport(theirs, false);
    const commits = await this.#rebasedWithinLimits(base, theirs, mirror);
    if (commits !== undefined && (await this.#publish(base, commits, mirror))) {
      return await this.#moveAndReport((await readRef(gitDir, this.#options.ref)) ?? base, false);
    }
    logger.warn({ base, tip: theirs }, 'pending writes cannot be rebased on the followed branch');
    return await this.#moveAndReport(theirs, true);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#options.remote.close();
  }

  async #moveAndReport(tip: string, conflicts: boolean): Promise<Omit<PendingState, 'arrived'>> {
    await this.#moveTo(tip);
    this.#isStale = false;
    return { conflicts };
  }

  /** Fetches, and returns the tip at the remote; undefined if the branch does not exist there. */
  async #fetch(): Promise<string | undefined> {
    const { remote, gitDir } = this.#options;
    await unlink(join(gitDir, `${remote.trackingRef}.lock`)).catch(() => undefined);
    try {
      await remote.fetch(false);
      const tip = await readRef(gitDir, remote.trackingRef);
      if (tip !== undefined) await assertCommit(gitDir, tip);
      return tip;
    } catch (error) {
      if (!(error instanceof RemoteError) || error.problem !== 'no-branch') throw error;
      return undefined;
    }
  }

  /** Returns false if the remote refuses to rewrite the branch, or there is a conflict. */
  async #publish(base: string, commits: readonly NewCommit[], mirror: Mirror): Promise<boolean> {
    await this.#moveTo(base);
    if (commits.length === 0) return true;
    const batch = mirror.begin(base);
    try {
      for (const [at, commit] of commits.entries()) {
        // A batch waits for what is in memory, which lets no request go on.
        if (at % COMMITS_PER_YIELD === COMMITS_PER_YIELD - 1) await setImmediate();
        await batch.add(commit);
      }
      await batch.publish();
      return true;
    } catch (error) {
      // A file of one side is a folder of the other.
      if (error instanceof PathError) return false;
      if (error instanceof RemoteError && error.problem === 'refused') return false;
      throw error;
    }
  }

  /** Keeps pending commits that others removed from the branch under a ref of the mirror. */
  async #preserveRemoved(base: string, theirs: string | undefined): Promise<void> {
    const { gitDir, ref, logger = silent } = this.#options;
    const ours = await readRef(gitDir, ref);
    if (ours === undefined || (await containsCommit(gitDir, base, ours))) return;
    if (theirs !== undefined && (await containsCommit(gitDir, theirs, ours))) return;
    const kept = `${KEPT_REFS}${ours}`;
    logger.warn({ kept }, 'pending writes were removed from their branch');
    if ((await readRef(gitDir, kept)) !== undefined) return;
    await moveRef(gitDir, { ref: kept, from: undefined, to: ours });
  }

  async #moveTo(tip: string): Promise<void> {
    const { gitDir, ref } = this.#options;
    const from = await readRef(gitDir, ref);
    if (from !== tip) await moveRef(gitDir, { ref, from, to: tip });
  }

  /** Undefined also for commits that exceed a limit: every person who may push to the branch can make one. */
  async #rebasedWithinLimits(
    base: string,
    theirs: string,
    mirror: Mirror,
  ): Promise<NewCommit[] | undefined> {
    if ((await mirror.checkLimits(theirs)).problem !== undefined) return undefined;
    try {
      return await this.#rebased(base, theirs, mirror);
    } catch (error) {
      // Of a commit below the tip.
      if (error instanceof GitLimitError) return undefined;
      throw error;
    }
  }

  /** Pending commits rebased on `base`; undefined if there is a conflict. */
  async #rebased(base: string, theirs: string, mirror: Mirror): Promise<NewCommit[] | undefined> {
    const [fork] = await mirror.mergeBases(base, theirs);
    if (fork === undefined) return undefined;
    const files = new Files(await mirror.diff(fork, base), await mirror.diff(fork, theirs));
    const commits: NewCommit[] = [];
    for await (const commit of mirror.history(fork, theirs)) {
      const changes = commit.parents.length === 1 ? files.step(commit) : undefined;
      if (changes === undefined || !(await this.#mayCopy(commit, mirror))) return undefined;
      if (changes.length > 0) commits.push(await this.#copy(commit, changes, mirror));
    }
    return commits;
  }

  async #mayCopy({ id }: HistoryCommit, mirror: Mirror): Promise<boolean> {
    try {
      const [content = Buffer.alloc(0)] = await mirror.readCommits([id]);
      return this.#options.mayCopy(content);
    } catch (error) {
      // The platform makes no commit of that size.
      if (error instanceof BlobTooLargeError) return false;
      throw error;
    }
  }

  /** Copies a commit with its author, committer, time and message. Files are taken as they are, unread. */
  async #copy(
    { id, committerTime: time }: HistoryCommit,
    changes: readonly PathChange[],
    mirror: Mirror,
  ): Promise<NewCommit> {
    const { author, committer, message } = await mirror.commitMetadata(id);
    return {
      author,
      committer,
      time,
      message: message.trimEnd(),
      changes: changes.map(({ path, newId, mode }) =>
        newId === undefined ? { path, content: null } : { path, blob: newId, mode },
      ),
    };
  }
}

/** Blob per path, for the paths that either side changed since the fork. */
class Files {
  readonly #now = new Map<string, string | undefined>();
  /** Paths with the same result on both sides: already merged. */
  readonly #done: ReadonlySet<string>;

  constructor(followed: readonly PathChange[], pending: readonly PathChange[]) {
    for (const { path, newId } of followed) this.#now.set(path, newId);
    const isDone = ({ path, newId }: PathChange): boolean =>
      this.#now.has(path) && this.#now.get(path) === newId;
    this.#done = new Set(pending.filter(isDone).map(({ path }) => path));
  }

  /** Remaining changes of a commit; undefined if a file is not at the version the commit changed. */
  step(commit: HistoryCommit): PathChange[] | undefined {
    const left: PathChange[] = [];
    for (const change of commit.changes[0] ?? []) {
      if (this.#done.has(change.path)) continue;
      const now = this.#now.has(change.path) ? this.#now.get(change.path) : change.oldId;
      if (now === change.newId) continue;
      if (now !== change.oldId) return undefined;
      left.push(change);
      this.#now.set(change.path, change.newId);
    }
    return left;
  }
}
