/**
 * Upkeep in the background. Every publication is a pack, and git slows down with their number:
 * rolling them up geometrically, often, costs little each time and nobody waits for it. Readers
 * and writers go on meanwhile. Nothing is ever pruned here.
 */
import { lstat, readdir, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { GitError } from '../git-error.ts';
import type { GitLogger } from '../logger.ts';
import { isShortLived, packFolder } from '../packs/pack-names.ts';
import type { GitContext } from '../process/git-environment.ts';
import { GitProcess } from '../process/git-process.ts';
import { MAINTENANCE } from '../process/process-limits.ts';
import { removeGitLeftovers } from './git-leftovers.ts';

export interface MaintenanceOptions {
  /** So many more packs than the last run left start the next one. */
  readonly packThreshold: number;
  readonly logger: GitLogger;
  /** Called after packs were replaced: whoever holds the old ones open can let go. */
  readonly onRepacked: () => void;
  /** Around what looks at all packs: none of them goes meanwhile. */
  readonly whileStill?: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Arguments of git, in this order; each is useful without the other. */
type Steps = readonly (readonly string[])[];

/** One thread: the daemon needs the rest. */
function repack(factor: number): readonly string[] {
  const quiet = ['-c', 'pack.threads=1', 'repack', '-d', '-q'];
  return [...quiet, `--geometric=${factor}`, '--write-midx'];
}

const LIGHT: Steps = [
  repack(2),
  ['commit-graph', 'write', '--reachable', '--split', '--no-progress'],
];

/**
 * One pack of everything, unless the largest has a hundred times what all others have; and one file of
 * the commit graph. Not `repack -a`: it would leave out what nothing reaches, and before git 2.42 it
 * removes a pack whose index comes after it has begun. A geometric repack copies every object of the
 * packs that it opened, and removes these alone.
 */
const FULL: Steps = [
  repack(100),
  ['commit-graph', 'write', '--reachable', '--split=replace', '--no-progress'],
];
/** Left free beside a copy of all packs: writes of others go on meanwhile. */
const SPARE_BYTES = 256 * 1024 * 1024;

/** What a run that was killed may leave locked. All of it can be made anew at any time. */
const derivedLocks = [
  ['objects', 'pack', 'multi-pack-index.lock'],
  ['objects', 'info', 'commit-graph.lock'],
  ['objects', 'info', 'commit-graphs', 'commit-graph-chain.lock'],
];
/** No writer of these holds its lock for so long. */
const STALE_LOCK_MS = 10 * 60 * 1000;

export class Maintenance {
  readonly #context: GitContext;
  readonly #options: MaintenanceOptions;
  #running: Promise<GitError | undefined> | undefined;
  #git: GitProcess | undefined;
  /** Packs added since somebody last counted. */
  #added = 0;
  #packsLeft: number | undefined;
  #closed = false;

  constructor(context: GitContext, options: MaintenanceOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** One more pack was written; starts a run when enough came together. */
  packAdded(): void {
    this.#added += 1;
    if (this.#added >= this.#options.packThreshold) void this.runIfDue();
  }

  /** Starts a run in the background when there are many packs, whoever wrote them. */
  async runIfDue(): Promise<boolean> {
    const packs = await countPacks(this.#context.gitDir);
    this.#packsLeft ??= 0;
    this.#added = packs - this.#packsLeft;
    return this.#added >= this.#options.packThreshold ? this.run() : false;
  }

  /** Runs now, or waits for the run under way. False when it failed; never rejects. */
  async run(): Promise<boolean> {
    if (this.#closed) return false;
    const error = await (this.#running ?? this.#begin(LIGHT));
    return error === undefined && !this.#closed;
  }

  /**
   * Rolls up everything, after the run under way. False where this was closed before it ended. Rejects
   * when the signal ended it, and with a GitError when a step failed or the disk has too little room.
   */
  async runFully(signal: AbortSignal): Promise<boolean> {
    if (this.#closed) return false;
    await assertRoom(this.#context.gitDir);
    while (this.#running !== undefined) await this.#running;
    signal.throwIfAborted();
    if (this.#closed) return false;
    const stop = (): void => this.#git?.stop();
    signal.addEventListener('abort', stop);
    try {
      const error = await this.#begin(FULL, signal);
      signal.throwIfAborted();
      if (this.#closed) return false;
      if (error !== undefined) throw error;
      await removeGitLeftovers(this.#context.gitDir);
      return true;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Ends a run that is under way: git removes its temporary files. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#git?.stop();
    await this.#running;
  }

  #begin(steps: Steps, signal?: AbortSignal): Promise<GitError | undefined> {
    this.#running = this.#run(steps, signal).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Resolves with the first error of a step. Never rejects. */
  async #run(steps: Steps, signal?: AbortSignal): Promise<GitError | undefined> {
    const { logger, onRepacked, whileStill = (work) => work() } = this.#options;
    const started = performance.now();
    const isOver = (): boolean => this.#closed || signal?.aborted === true;
    await removeStaleLocks(this.#context.gitDir);
    const error = await whileStill(async () => {
      const errors: (GitError | undefined)[] = [];
      for (const args of steps) if (!isOver()) errors.push(await this.#step(args));
      return errors.find((one) => one !== undefined);
    });
    this.#packsLeft = await countPacks(this.#context.gitDir);
    this.#added = 0;
    onRepacked();
    const ms = Math.round(performance.now() - started);
    const succeeded = error === undefined && !isOver();
    logger.debug({ packs: this.#packsLeft, ms, succeeded }, 'repository maintained');
    if (error !== undefined && steps === LIGHT && !isOver()) {
      logger.warn({ error: error.message }, 'repository maintenance failed');
    }
    return error;
  }

  async #step(args: readonly string[]): Promise<GitError | undefined> {
    const git = new GitProcess(this.#context, args, MAINTENANCE);
    this.#git = git;
    git.stdin.end();
    git.lowerPriority();
    const end = await git.ended;
    this.#git = undefined;
    return end.code === 0 ? undefined : git.error(end);
  }
}

/** A repack copies before it removes: on a full disk, writes would fail. */
async function assertRoom(gitDir: string): Promise<void> {
  const folder = packFolder(gitDir);
  const names = await readdir(folder);
  const sizes = names.map(
    async (name) => (await lstat(join(folder, name)).catch(() => NOTHING)).size,
  );
  const needed = (await Promise.all(sizes)).reduce((sum, size) => sum + size, SPARE_BYTES);
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= needed) return;
  const mib = Math.ceil(needed / 1024 / 1024);
  throw new GitError(`A copy of all packs of ${gitDir} needs ${mib} MiB of free disk`, {
    remedy: 'Free some space, or turn maintenance off with --maintenance-schedule off',
  });
}

const NOTHING = { size: 0 };

async function countPacks(gitDir: string): Promise<number> {
  try {
    const names = await readdir(packFolder(gitDir));
    return names.filter((name) => name.endsWith('.idx') && !isShortLived(name)).length;
  } catch {
    return 0;
  }
}

async function removeStaleLocks(gitDir: string): Promise<void> {
  for (const parts of derivedLocks) {
    const lock = join(gitDir, ...parts);
    const found = await lstat(lock).catch(() => undefined);
    const isStale = found !== undefined && Date.now() - found.mtimeMs > STALE_LOCK_MS;
    if (isStale) await unlink(lock).catch(() => undefined);
  }
}
