/**
 * Keeps the local branch at the branch of the remote: fetches move it, and local commits pass a gate
 * that pushes them first. The local branch is never ahead of the remote, so that a crash at any time
 * leaves nothing to undo. One exchange with the remote runs at a time.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Counter, Mutex } from '../../concurrency/index.ts';
import { GitError } from '../git-error.ts';
import { type GitLogger, silent } from '../logger.ts';
import { removeAbandonedObjectDirectories } from '../packs/temporary-object-directory.ts';
import { runGit } from '../process/git-process.ts';
import type { Publication } from '../publication/publisher.ts';
import { containsCommit } from '../reading/contains-commit.ts';
import { moveRef } from '../refs/move-ref.ts';
import { readRef } from '../refs/ref-file.ts';
import { REF_LOCK_FOLDER } from '../refs/ref-lock.ts';
import { HeadMovedError } from '../repository.ts';
import { pushConfirmed } from './confirmed-push.ts';
import type { Remote, RemotePush } from './remote.ts';
import { RemoteError, sanitize } from './remote-error.ts';

/** Callbacks are synchronous and must not throw. */
export interface FollowingObserver {
  fetched(error: Error | undefined, milliseconds: number): void;
  pushed(error: Error | undefined, milliseconds: number): void;
}

export interface FollowingOptions {
  readonly remote: Remote;
  readonly gitDir: string;
  /** The local branch, full name. */
  readonly ref: string;
  readonly observer: FollowingObserver;
  readonly logger?: GitLogger;
  /** Returns reasons to keep the commits of a range out of the branch, one per line; empty: none. */
  readonly distrust?: (range: {
    from: string | undefined;
    to: string;
  }) => Promise<readonly string[]>;
  /** Counts the objects of the first fetch. */
  readonly counter?: Counter;
  /** Reason why an operator has stopped exchanges; undefined: they run. */
  readonly suspended?: () => string | undefined;
  /** Time until the outcome of a push counts as unknown. Default: 20 s. */
  readonly outcomeTimeoutMs?: number;
  /** Time for which writes fail at once after the remote did not answer. Default: 5 s. */
  readonly pauseMs?: number;
}

/** Commits of the remote that are kept out of the local branch. */
export interface UntrustedMove {
  /** Tip of the branch of the remote; its objects are fetched. */
  readonly to: string;
  readonly reasons: readonly string[];
}

/** Commits that a rewrite of the remote history dropped are kept under this prefix, by their id. */
export const KEPT_REFS = 'refs/gitplane/kept/';
const OUTCOME_TIMEOUT_MS = 20_000;
const PAUSE_MS = 5_000;

export class Following {
  readonly #options: FollowingOptions;
  readonly #mutex = new Mutex();
  /** Time until which no exchange is tried, because the remote did not answer. */
  #quietUntil = 0;
  /** Tip of the remote whose commits are kept out. */
  #held: UntrustedMove | undefined;
  #closing = new AbortController();

  constructor(options: FollowingOptions) {
    this.#options = options;
  }

  /** Address of the remote, for messages. */
  get url(): string {
    return this.#options.remote.url;
  }

  /** Commits that were refused by `distrust`; undefined: none known. */
  get untrusted(): UntrustedMove | undefined {
    return this.#held;
  }

  /** Message for a client that pushes to the mirror. */
  get pushRefusal(): string {
    const { url, ref } = this.#options.remote;
    const branch = ref.replace('refs/heads/', '');
    return `This repository follows the branch ${branch} of ${url}: push there`;
  }

  /**
   * Call once, before anything reads the branch. A repository that followed before may start without
   * its remote: the error is returned. Throws a GitError if there is no branch to start with, or if
   * the repository has commits that never came from the remote.
   */
  async start(): Promise<Error | undefined> {
    const { gitDir, ref, remote } = this.#options;
    mkdirSync(join(gitDir, REF_LOCK_FOLDER), { recursive: true });
    await removeAbandonedObjectDirectories(gitDir);
    if ((await readRef(gitDir, ref)) === undefined || !existsSync(marker(gitDir))) {
      await this.#mutex.run(() => this.#begin());
      return undefined;
    }
    // An operator's suspension outlives a restart.
    if (this.#options.suspended?.() !== undefined) return undefined;
    try {
      // The query has a short deadline, while a fetch takes long to fail on an unreachable remote.
      if ((await remote.tip()) !== (await readRef(gitDir, ref))) await this.refresh();
      else this.#options.observer.fetched(undefined, 0);
      return undefined;
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      this.#pauseAfter(error);
      this.#options.observer.fetched(error, 0);
      return error;
    }
  }

  /**
   * Fetches, and moves the local branch to the tip of the remote. Returns that commit. Throws
   * RemoteError, with the local branch unmoved.
   */
  refresh(): Promise<string> {
    return this.#mutex.run(async () => {
      this.#assertRuns();
      return await this.#adopt(await this.#fetch({ asksFirst: true }));
    });
  }

  /** The gate: resolves when the remote has the commits. See `Gate`. */
  async admit(publication: Publication, objects: string): Promise<void> {
    await this.#mutex.run(async () => {
      this.#assertRuns();
      const { tip, parent } = publication;
      const started = performance.now();
      try {
        if (performance.now() < this.#quietUntil) throw new RemoteError('unreachable');
        await this.#push({ tip, expected: parent, objects });
        this.#options.observer.pushed(undefined, performance.now() - started);
      } catch (error) {
        if (!(error instanceof HeadMovedError)) {
          this.#pauseAfter(error);
          const failure = error instanceof Error ? error : new Error(String(error));
          this.#options.observer.pushed(failure, performance.now() - started);
        }
        throw error;
      }
    });
  }

  /** Aborts running exchanges: a push then has an unknown outcome. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#options.remote.close();
    await this.#mutex.idle();
  }

  #assertRuns(): void {
    const why = this.#options.suspended?.();
    if (why !== undefined) throw new RemoteError('suspended', why);
  }

  async #begin(): Promise<void> {
    const { gitDir, ref, remote } = this.#options;
    const tip = await this.#fetch().catch(async (error: unknown) => {
      if (!(error instanceof RemoteError) || error.problem !== 'no-branch') throw error;
      const names = await remote.branches().catch(() => []);
      const there = names.length === 0 ? 'none; make the first commit there' : names.join(', ');
      throw new RemoteError('no-branch', `${ref}; it has ${sanitize(there)}`, { cause: error });
    });
    const head = await readRef(gitDir, ref);
    if (head !== undefined && !(await containsCommit(gitDir, tip, head))) {
      throw new GitError(`${gitDir} has commits that ${remote.url} does not have`, {
        remedy: `Push ${ref} there first, or use another data directory`,
      });
    }
    await this.#adopt(tip);
    writeFileSync(marker(gitDir), `${remote.url}\n`);
  }

  #pauseAfter(error: unknown): void {
    const { pauseMs = PAUSE_MS } = this.#options;
    const silence = error instanceof RemoteError && /^un(reachable|known)/.test(error.problem);
    if (silence) this.#quietUntil = performance.now() + pauseMs;
  }

  /**
   * Fetches, and returns the tip of the remote. `asksFirst`: query the tip before, since the query
   * finds out about a hanging remote with a shorter deadline than a fetch.
   */
  async #fetch({ asksFirst = false } = {}): Promise<string> {
    const { remote, gitDir, observer } = this.#options;
    const started = performance.now();
    try {
      const known = await readRef(gitDir, remote.trackingRef);
      // A killed fetch left it; no other process takes this lock.
      await unlink(join(gitDir, `${remote.trackingRef}.lock`)).catch(() => undefined);
      const isKnown = asksFirst && known !== undefined && (await remote.tip()) === known;
      const isFirst = known === undefined;
      if (!isKnown) await remote.fetch(isFirst, isFirst ? this.#options.counter : undefined);
      const tip = await readRef(gitDir, remote.trackingRef);
      if (tip === undefined) throw new RemoteError('no-branch');
      if (tip !== (await readRef(gitDir, this.#options.ref))) await assertCommit(gitDir, tip);
      this.#quietUntil = 0;
      // While the same commits are kept out, the success of the fetch is not reported.
      if (tip !== this.#held?.to) observer.fetched(undefined, performance.now() - started);
      return tip;
    } catch (error) {
      this.#pauseAfter(error);
      const failure = error instanceof Error ? error : new Error(String(error));
      observer.fetched(failure, performance.now() - started);
      throw error;
    }
  }

  async #adopt(tip: string): Promise<string> {
    const { gitDir, ref, logger = silent } = this.#options;
    const head = await readRef(gitDir, ref);
    if (head === tip) {
      this.#held = undefined;
      return tip;
    }
    const rewritten = head !== undefined && !(await containsCommit(gitDir, tip, head));
    if (rewritten) {
      logger.warn({ from: head, to: tip }, 'the history of the remote branch was rewritten');
    }
    await this.#assertTrusted({ from: head, to: tip });
    if (rewritten) await this.#keep(head);
    await moveRef(gitDir, { ref, from: head, to: tip });
    return tip;
  }

  /** Throws for commits that `distrust` refuses; readers keep the branch as it was. */
  async #assertTrusted(range: { from: string | undefined; to: string }): Promise<void> {
    const { distrust, observer, logger = silent } = this.#options;
    const reasons = (await distrust?.(range)) ?? [];
    if (reasons.length === 0) {
      if (this.#held?.to === range.to) observer.fetched(undefined, 0);
      this.#held = undefined;
      return;
    }
    if (this.#held?.to !== range.to) {
      logger.warn({ ...range, reasons }, 'commits of the remote are held: no trusted signature');
    }
    this.#held = { to: range.to, reasons };
    const [first = ''] = reasons;
    const more = reasons.length === 1 ? '' : ` (and ${reasons.length - 1} more)`;
    const error = new RemoteError('untrusted', `${sanitize(first)}${more}`);
    observer.fetched(error, 0);
    throw error;
  }

  async #keep(head: string): Promise<void> {
    const { gitDir } = this.#options;
    const ref = `${KEPT_REFS}${head}`;
    if ((await readRef(gitDir, ref)) === undefined) {
      await moveRef(gitDir, { ref, from: undefined, to: head });
    }
  }

  /** Resolves when the remote has the commit; throws HeadMovedError if its branch moved elsewhere. */
  async #push(push: RemotePush): Promise<void> {
    const { remote, gitDir, outcomeTimeoutMs = OUTCOME_TIMEOUT_MS } = this.#options;
    const { signal } = this.#closing;
    const fetch = (): Promise<string> => this.#fetch();
    const moved = await pushConfirmed({ remote, gitDir, fetch, outcomeTimeoutMs, signal }, push);
    // If the remote has further commits on top, this commit comes first. The next fetch adopts the rest.
    if (moved?.tip === undefined) return;
    await this.#adopt(moved.tip);
    throw new HeadMovedError(push.expected, moved.tip);
  }
}

/** Throws RemoteError for a branch that a server has put at another object, which git fetches as well. */
export async function assertCommit(gitDir: string, tip: string): Promise<void> {
  const type = (await runGit({ gitDir }, ['cat-file', '-t', tip])).toString('latin1').trim();
  if (type !== 'commit') throw new RemoteError('no-commit', `${tip} is a ${type}`);
}

/** File that marks a repository whose commits all came from its remote, or went there first. */
function marker(gitDir: string): string {
  return join(gitDir, REF_LOCK_FOLDER, 'follows');
}

/** Marks the repository as written without a remote from now on. */
export function stopFollowing(gitDir: string): void {
  rmSync(marker(gitDir), { force: true });
}
