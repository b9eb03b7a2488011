/**
 * The repository of the replica that leads. Whatever moves its branch, be it a write of the API, a
 * push, or somebody by hand, counts when etcd has it; the disk follows, and where it did not, it is
 * made to.
 */

import { Mutex } from '../concurrency/index.ts';
import { EtcdError } from '../etcd/index.ts';
import {
  type Agreement,
  buildPack,
  type GitContext,
  GitError,
  type GitLogger,
  HeadMovedError,
  PackTooLargeError,
  type Publication,
  packRange,
  readRef,
  tryGit,
} from '../git/index.ts';
import { MOST_MOVE_BYTES } from './log-record.ts';
import type { Mirror } from './mirror.ts';
import type { RepositoryLog } from './repository-log.ts';
import { TermEndedError } from './term.ts';

export interface LedRepositoryOptions {
  readonly log: RepositoryLog;
  readonly mirror: Mirror;
  readonly gitDir: string;
  /** Full name of the branch. */
  readonly ref: string;
  readonly logger: GitLogger;
  /** The disk of this replica did not take what etcd has: somebody else should lead. */
  readonly onStuck: (error: unknown) => void;
  readonly patienceMs?: number;
}

export interface PushedRange {
  readonly from: string | undefined;
  readonly to: string;
}

/**
 * How long whoever moves the branch on the disk may take for it, after etcd has the move. A git that is
 * slower finds the branch moved already, and tells who pushed that it failed.
 */
const DEFAULT_PATIENCE_MS = 10_000;
const POLL_MS = 2;
/** Writes wait for the disk to be put where etcd is; past this, another replica should lead. */
const RESTORE_MS = 20_000;
const UNSURE =
  'This replica does not lead any more, and it is not known whether the push counts: fetch, and push again if it does not';

export class LedRepository implements Agreement {
  readonly #options: LedRepositoryOptions;
  /** Until when the branch on the disk may be where it was before the last move. */
  #patientUntil = 0;
  readonly #mutex = new Mutex();

  constructor(options: LedRepositoryOptions) {
    this.#options = options;
  }

  /** Before the branch moves to commits of the API. */
  async agree({ parent, tip, objects }: Publication): Promise<void> {
    const { pack, index } = buildPack(objects);
    await this.#append({ from: parent, to: tip }, { pack, index });
  }

  /** The disk did not take what was agreed to, so nobody need be given the time for it. */
  astray(): void {
    this.#patientUntil = 0;
  }

  /**
   * Before the hook lets a push move the branch; `context` sees what is pushed. Returns why it
   * cannot, in words for who pushes; none when etcd has it.
   */
  async admit(context: GitContext, range: PushedRange): Promise<readonly string[]> {
    try {
      const pack = await packRange(context, range, MOST_MOVE_BYTES);
      await this.#append(range, { pack, index: undefined });
      return [];
    } catch (error) {
      if (error instanceof PackTooLargeError) return [tooLarge()];
      // What was sent to etcd may have come through, or may yet.
      if (error instanceof TermEndedError) return [UNSURE];
      if (error instanceof GitError && error.cause instanceof EtcdError) return [error.message];
      if (!(error instanceof HeadMovedError)) throw error;
      return ['The branch moved meanwhile; fetch, rebase and push again'];
    }
  }

  /** Resolves when the disk has what was admitted; it is helped where git does not get on. */
  async arrived(to: string): Promise<void> {
    const { gitDir, ref } = this.#options;
    while (performance.now() < this.#patientUntil) {
      if ((await readRef(gitDir, ref)) === to) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    await this.settle(await readRef(gitDir, ref));
  }

  /** Where the branch counts as being when it is found there on the disk. */
  async settle(found: string | undefined): Promise<string | undefined> {
    const { log } = this.#options;
    const commit = log.head?.commit;
    if (found === commit) return found;
    const isOnItsWay = found === log.former && performance.now() < this.#patientUntil;
    return isOnItsWay ? found : await this.#mutex.run(() => this.#adopt());
  }

  async #append(
    range: PushedRange,
    objects: { pack: Buffer; index: Buffer | undefined },
  ): Promise<void> {
    const { log, mirror } = this.#options;
    await log.append({ ...range, ...objects });
    this.#patientUntil = performance.now() + (this.#options.patienceMs ?? DEFAULT_PATIENCE_MS);
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
      const pack = await packRange({ gitDir }, { from: commit, to: found }, MOST_MOVE_BYTES);
      await this.#append({ from: commit, to: found }, { pack, index: undefined });
    } catch (error) {
      if (!(error instanceof PackTooLargeError)) throw error;
      logger.warn({ to: found }, tooLarge());
      return await this.#restore();
    }
    return found;
  }

  /** The disk goes where the branch is. */
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
  const most = MOST_MOVE_BYTES / 1024 / 1024;
  return `One push to replicas takes at most ${most} MiB, compressed: push the commits in several steps`;
}

async function within<T>(work: Promise<T>, milliseconds: number, late: Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late), milliseconds);
  });
  return await Promise.race([work, limit]).finally(() => clearTimeout(timer));
}

async function isAncestor(gitDir: string, one: string, other: string): Promise<boolean> {
  return (await tryGit({ gitDir }, ['merge-base', '--is-ancestor', one, other])).code === 0;
}
