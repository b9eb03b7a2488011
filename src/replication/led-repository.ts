/**
 * The repository of the leader. A move of its branch (an API write, a push, or by hand) is valid
 * when etcd has it; the disk follows, and is corrected if it does not.
 */

import { Mutex } from '../concurrency/index.ts';
import { EtcdError } from '../etcd/index.ts';
import {
  type Agreement,
  buildPack,
  exportPack,
  type GitContext,
  GitError,
  type GitLogger,
  HeadMovedError,
  PackTooLargeError,
  type Publication,
  readRef,
  tryWalk,
} from '../git/index.ts';
import type { Mirror } from './mirror.ts';
import type { RepositoryLog } from './repository-log.ts';
import { TermEndedError } from './term.ts';

/** Larger moves are refused: etcd stores a move until two replicas have it on disk. */
const MAX_MOVE_BYTES = 64 * 1024 * 1024;

export interface LedRepositoryOptions {
  readonly log: RepositoryLog;
  readonly mirror: Mirror;
  readonly gitDir: string;
  /** Full name of the branch. */
  readonly ref: string;
  readonly logger: GitLogger;
  /**
   * Called when the disk of this replica does not accept a move that etcd has: another replica
   * should lead.
   */
  readonly onStuck: (error: unknown) => void;
  readonly timeoutMs?: number;
}

export interface PushedRange {
  readonly from: string | undefined;
  readonly to: string;
}

/**
 * Time limit for git to move the branch on the disk after etcd has the move. A slower git finds the
 * branch already moved, and reports a failed push.
 */
const DEFAULT_TIMEOUT_MS = 10_000;
const POLL_MS = 2;
/** Time limit for moving the disk to the head in etcd; after that, another replica should lead. */
const RESTORE_MS = 20_000;
const UNKNOWN_RESULT =
  'This replica is no longer the leader, and the result of the push is unknown: fetch, and push again if the branch does not have it';

export class LedRepository implements Agreement {
  readonly #options: LedRepositoryOptions;
  /** Until this time, the branch on the disk may still be at the previous commit. */
  #moveDeadline = 0;
  readonly #mutex = new Mutex();

  constructor(options: LedRepositoryOptions) {
    this.#options = options;
  }

  /** Called before the branch moves to API commits. */
  async agree({ parent, tip, objects }: Publication): Promise<void> {
    const { pack, index } = buildPack(objects);
    await this.#append({ from: parent, to: tip }, { pack, index });
  }

  /** The disk did not accept the agreed move: the next check corrects it at once. */
  diverged(): void {
    this.#moveDeadline = 0;
  }

  /**
   * Called by the hook before a push moves the branch; `context` can read the pushed objects.
   * Returns the reasons of a refusal, for the client; none if etcd has the move.
   */
  async admit(context: GitContext, range: PushedRange): Promise<readonly string[]> {
    try {
      const pack = await exportPack(context, range, MAX_MOVE_BYTES);
      await this.#append(range, { pack, index: undefined });
      return [];
    } catch (error) {
      if (error instanceof PackTooLargeError) return [tooLarge()];
      // The request to etcd may still succeed.
      if (error instanceof TermEndedError) return [UNKNOWN_RESULT];
      if (error instanceof GitError && error.cause instanceof EtcdError) return [error.message];
      if (!(error instanceof HeadMovedError)) throw error;
      return ['The branch moved meanwhile; fetch, rebase and push again'];
    }
  }

  /**
   * Resolves when the disk has the admitted commit; moves the branch itself if git does not do it
   * in time.
   */
  async arrived(to: string): Promise<void> {
    const { gitDir, ref } = this.#options;
    while (performance.now() < this.#moveDeadline) {
      if ((await readRef(gitDir, ref)) === to) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    await this.settle(await readRef(gitDir, ref));
  }

  /** Returns the valid head for the commit `found` on the disk. */
  async settle(found: string | undefined): Promise<string | undefined> {
    const { log } = this.#options;
    const commit = log.head?.commit;
    if (found === commit) return found;
    const isInFlight = found === log.previous && performance.now() < this.#moveDeadline;
    return isInFlight ? found : await this.#mutex.run(() => this.#adopt());
  }

  async #append(
    range: PushedRange,
    objects: { pack: Buffer; index: Buffer | undefined },
  ): Promise<void> {
    const { log, mirror } = this.#options;
    await log.append({ ...range, ...objects });
    this.#moveDeadline = performance.now() + (this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    if (log.head !== undefined) mirror.moved(log.head);
  }

  async #adopt(): Promise<string | undefined> {
    const { log, gitDir, ref, logger } = this.#options;
    const found = await readRef(gitDir, ref);
    const commit = log.head?.commit;
    if (found === commit) return commit;
    const isAhead =
      found !== undefined && (commit === undefined || (await isAncestor(gitDir, commit, found)));
    if (!isAhead) return await this.#restore();
    logger.warn({ from: commit, to: found }, 'The branch was moved by hand');
    try {
      const pack = await exportPack({ gitDir }, { from: commit, to: found }, MAX_MOVE_BYTES);
      await this.#append({ from: commit, to: found }, { pack, index: undefined });
    } catch (error) {
      if (!(error instanceof PackTooLargeError)) throw error;
      logger.warn({ to: found }, tooLarge());
      return await this.#restore();
    }
    return found;
  }

  /** Moves the disk to the head in etcd. */
  async #restore(): Promise<string | undefined> {
    const { mirror, onStuck } = this.#options;
    try {
      const late = new GitError(`The disk did not follow etcd within ${RESTORE_MS / 1000} s`);
      return (await within(mirror.catchUp(), RESTORE_MS, late))?.commit;
    } catch (error) {
      onStuck(error);
      throw error;
    }
  }
}

function tooLarge(): string {
  const most = MAX_MOVE_BYTES / 1024 / 1024;
  return `A push to replicas has at most ${most} MiB, compressed: push the commits in several steps`;
}

async function within<T>(work: Promise<T>, milliseconds: number, late: Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late), milliseconds);
  });
  return await Promise.race([work, limit]).finally(() => clearTimeout(timer));
}

async function isAncestor(gitDir: string, one: string, other: string): Promise<boolean> {
  return (await tryWalk({ gitDir }, ['merge-base', '--is-ancestor', one, other])).code === 0;
}
