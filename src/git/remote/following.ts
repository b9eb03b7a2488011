/**
 * Keeps the local branch at what the remote has: fetches move it, and commits of ours pass this gate,
 * which pushes them first. The local branch is never ahead of what the remote acknowledged, so a
 * crash at any instant leaves nothing to undo. One conversation with the remote at a time.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Mutex } from '../../concurrency/index.ts';
import { GitError } from '../git-error.ts';
import { type GitLogger, silent } from '../logger.ts';
import { removeAbandonedObjectDirectories } from '../packs/temporary-object-directory.ts';
import type { Publication } from '../publication/publisher.ts';
import { moveRef } from '../refs/move-ref.ts';
import { readRef } from '../refs/ref-file.ts';
import { REF_LOCK_FOLDER } from '../refs/ref-lock.ts';
import { HeadMovedError } from '../repository.ts';
import { containsCommit, pushConfirmed } from './confirmed-push.ts';
import type { Remote, RemotePush } from './remote.ts';
import { RemoteError, sanitize } from './remote-error.ts';

/** Called synchronously, must not throw. */
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
  /** Why commits of the remote must not come into the branch, a line each; none when they may. */
  readonly distrust?: (range: {
    from: string | undefined;
    to: string;
  }) => Promise<readonly string[]>;
  /** Time until the outcome of a push is given up as unknown. Default: 20 s. */
  readonly doubtMs?: number;
  /** How long writes are refused at once after the remote did not answer. Default: 5 s. */
  readonly pauseMs?: number;
}

/** Commits of the remote that stay out. */
export interface UntrustedMove {
  /** The branch there; its objects are here. */
  readonly to: string;
  readonly reasons: readonly string[];
}

/** What history loses when the remote is rewritten is kept below this name, by its id. */
export const KEPT_REFS = 'refs/gitplane/kept/';
const DOUBT_MS = 20_000;
const PAUSE_MS = 5_000;

export class Following {
  readonly #options: FollowingOptions;
  readonly #mutex = new Mutex();
  /** Until when nobody needs to ask, because nobody answered. */
  #quietUntil = 0;
  /** Where the remote's branch is while its commits are held. */
  #held: UntrustedMove | undefined;
  #closing = new AbortController();

  constructor(options: FollowingOptions) {
    this.#options = options;
  }

  /** Of the remote, for people. */
  get url(): string {
    return this.#options.remote.url;
  }

  /** What the remote's branch has that nobody vouches for; undefined: nothing that was seen. */
  get untrusted(): UntrustedMove | undefined {
    return this.#held;
  }

  /** What somebody who pushes to the mirror has to be told. */
  get pushElsewhere(): string {
    const { url, ref } = this.#options.remote;
    const branch = ref.replace('refs/heads/', '');
    return `This repository follows the branch ${branch} of ${url}: push there`;
  }

  /**
   * To be called once, before anything reads the branch. A repository that followed before may start
   * without its remote: the error is returned. Throws a GitError when there is nothing to start with,
   * or when the repository has commits that never came from the remote.
   */
  async start(): Promise<Error | undefined> {
    const { gitDir, ref, remote } = this.#options;
    mkdirSync(join(gitDir, REF_LOCK_FOLDER), { recursive: true });
    await removeAbandonedObjectDirectories(gitDir);
    if ((await readRef(gitDir, ref)) === undefined || !isMarked(gitDir)) {
      await this.#mutex.run(() => this.#begin());
      return undefined;
    }
    try {
      // Asking is quick where a fetch may take its time to find out that nobody is there.
      if ((await remote.tip()) !== (await readRef(gitDir, ref))) await this.refresh();
      else this.#options.observer.fetched(undefined, 0);
      return undefined;
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      this.#noteFailure(error);
      this.#options.observer.fetched(error, 0);
      return error;
    }
  }

  /**
   * Fetches, and moves the local branch to where the remote's is. Returns that commit. Throws
   * RemoteError; the local branch then is where it was.
   */
  refresh(): Promise<string> {
    return this.#mutex.run(async () => await this.#adopt(await this.#fetch({ asksFirst: true })));
  }

  /** The gate: resolves when the remote has the commits. See `Gate`. */
  async admit(publication: Publication, objects: string): Promise<void> {
    await this.#mutex.run(async () => {
      const { tip, parent } = publication;
      const started = performance.now();
      try {
        if (performance.now() < this.#quietUntil) throw new RemoteError('unreachable');
        await this.#push({ tip, expected: parent, objects });
        this.#options.observer.pushed(undefined, performance.now() - started);
      } catch (error) {
        if (!(error instanceof HeadMovedError)) {
          this.#noteFailure(error);
          const failure = error instanceof Error ? error : new Error(String(error));
          this.#options.observer.pushed(failure, performance.now() - started);
        }
        throw error;
      }
    });
  }

  /** Ends what is under way: a push then has an unknown outcome. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#options.remote.close();
    await this.#mutex.idle();
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
    mark(gitDir, remote.url);
  }

  #noteFailure(error: unknown): void {
    const { pauseMs = PAUSE_MS } = this.#options;
    const silence = error instanceof RemoteError && /^un(reachable|known)/.test(error.problem);
    if (silence) this.#quietUntil = performance.now() + pauseMs;
  }

  /**
   * The tip that the remote has now; its commits are here. `asksFirst`: a remote that hangs is found
   * out by a question, which has a shorter deadline than a fetch.
   */
  async #fetch({ asksFirst = false } = {}): Promise<string> {
    const { remote, gitDir, observer } = this.#options;
    const started = performance.now();
    try {
      const known = await readRef(gitDir, remote.trackingRef);
      // A fetch that was killed left it; nobody but us takes it.
      await unlink(join(gitDir, `${remote.trackingRef}.lock`)).catch(() => undefined);
      const isKnown = asksFirst && known !== undefined && (await remote.tip()) === known;
      if (!isKnown) await remote.fetch(known === undefined);
      const tip = await readRef(gitDir, remote.trackingRef);
      if (tip === undefined) throw new RemoteError('no-branch');
      this.#quietUntil = 0;
      // While the same commits are held nothing is well, however well the fetch went.
      if (tip !== this.#held?.to) observer.fetched(undefined, performance.now() - started);
      return tip;
    } catch (error) {
      this.#noteFailure(error);
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

  /** Commits that nobody vouches for stay out; readers go on with what was there. */
  async #assertTrusted(range: { from: string | undefined; to: string }): Promise<void> {
    const { distrust, observer, logger = silent } = this.#options;
    const reasons = (await distrust?.(range)) ?? [];
    if (reasons.length === 0) {
      if (this.#held?.to === range.to) observer.fetched(undefined, 0);
      this.#held = undefined;
      return;
    }
    if (this.#held?.to !== range.to) {
      logger.warn({ ...range, reasons }, 'commits of the remote are held: nobody vouches for them');
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

  /** Resolves when the remote has the commit; throws HeadMovedError when it went elsewhere. */
  async #push(push: RemotePush): Promise<void> {
    const { remote, gitDir, doubtMs = DOUBT_MS } = this.#options;
    const { signal } = this.#closing;
    const fetch = (): Promise<string> => this.#fetch();
    const moved = await pushConfirmed({ remote, gitDir, fetch, doubtMs, signal }, push);
    // Where the remote has it, with more on top, our own step comes first; the next fetch adopts the rest.
    if (moved?.tip === undefined) return;
    await this.#adopt(moved.tip);
    throw new HeadMovedError(push.expected, moved.tip);
  }
}

/** Tells a repository whose every commit came from its remote, or went there first. */
function marker(gitDir: string): string {
  return join(gitDir, REF_LOCK_FOLDER, 'follows');
}

function isMarked(gitDir: string): boolean {
  return existsSync(marker(gitDir));
}

function mark(gitDir: string, url: string): void {
  writeFileSync(marker(gitDir), `${url}\n`);
}

/** The repository is from now on written to without a remote. */
export function stopFollowing(gitDir: string): void {
  rmSync(marker(gitDir), { force: true });
}
