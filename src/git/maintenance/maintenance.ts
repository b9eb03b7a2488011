/**
 * Background maintenance. Every publication adds a pack, and git slows down with their number. Frequent
 * geometric repacks cost little each. Readers and writers continue meanwhile. Nothing is ever pruned.
 */

import { lstat, readdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { GitError } from '../git-error.ts';
import type { GitLogger } from '../logger.ts';
import { isShortLived, packFolder } from '../packs/pack-names.ts';
import type { GitContext } from '../process/git-environment.ts';
import { GitProcess } from '../process/git-process.ts';
import { MAINTENANCE } from '../process/process-limits.ts';
import { removeStaleLock } from '../refs/stale-lock.ts';
import { removeGitLeftovers } from './git-leftovers.ts';

export interface MaintenanceOptions {
  /** Packs beyond those of the last run that start the next one. */
  readonly packThreshold: number;
  readonly logger: GitLogger;
  /** Called after packs were replaced, so that open files of old packs can be closed. */
  readonly onRepacked: () => void;
  /** Wraps a repack: no pack is removed while `work` runs. */
  readonly holdPacks?: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Arguments of git commands, in order. Each is useful without the others. */
type Steps = readonly (readonly string[])[];

/** One thread, since the daemon needs the other CPUs. */
function repack(factor: number): readonly string[] {
  const quiet = ['-c', 'pack.threads=1', 'repack', '-d', '-q'];
  return [...quiet, `--geometric=${factor}`, '--write-midx'];
}

const LIGHT: Steps = [
  repack(2),
  ['commit-graph', 'write', '--reachable', '--split', '--no-progress'],
];

/**
 * Writes one pack of everything, unless the largest pack is a hundred times larger than all others, and
 * one commit-graph file. `repack -a` would drop unreachable objects, and before git 2.42 it removes a
 * pack whose index appears after its start. A geometric repack copies every object of the packs that it
 * opened, and removes only these.
 */
const FULL: Steps = [
  repack(100),
  ['commit-graph', 'write', '--reachable', '--split=replace', '--no-progress'],
];
/** Free disk space required beside a copy of all packs, for concurrent writes. */
const RESERVED_BYTES = 256 * 1024 * 1024;

/** Locks that a killed run may leave. The locked files can be derived again at any time. */
const derivedLocks = [
  ['objects', 'pack', 'multi-pack-index.lock'],
  ['objects', 'info', 'commit-graph.lock'],
  ['objects', 'info', 'commit-graphs', 'commit-graph-chain.lock'],
];
/** No writer of these files holds its lock for this long. */
const STALE_LOCK_MS = 10 * 60 * 1000;

export class Maintenance {
  readonly #context: GitContext;
  readonly #options: MaintenanceOptions;
  #running: Promise<GitError | undefined> | undefined;
  #git: GitProcess | undefined;
  /** Packs added since the last count. */
  #added = 0;
  #packsLeft: number | undefined;
  #closed = false;

  constructor(context: GitContext, options: MaintenanceOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Call after a pack was written; starts a run when the threshold is reached. */
  packAdded(): void {
    this.#added += 1;
    if (this.#added >= this.#options.packThreshold) void this.runIfDue();
  }

  /** Counts all packs, including those of git, and starts a run in the background if needed. */
  async runIfDue(): Promise<boolean> {
    const packs = await countPacks(this.#context.gitDir);
    this.#packsLeft ??= 0;
    this.#added = packs - this.#packsLeft;
    return this.#added >= this.#options.packThreshold ? this.run() : false;
  }

  /** Runs now, or waits for the current run. Returns false if it failed; never rejects. */
  async run(): Promise<boolean> {
    if (this.#closed) return false;
    const error = await (this.#running ?? this.#begin(LIGHT));
    return error === undefined && !this.#closed;
  }

  /**
   * Runs the full maintenance after the current run. Returns false if this was closed before the end.
   * Rejects if the signal aborts it, and with a GitError if a step failed or the disk lacks space.
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

  /** Stops a current run: git removes its temporary files. */
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

  /** Resolves to the first error of a step. Never rejects. */
  async #run(steps: Steps, signal?: AbortSignal): Promise<GitError | undefined> {
    const { logger, onRepacked, holdPacks = (work) => work() } = this.#options;
    const started = performance.now();
    const isOver = (): boolean => this.#closed || signal?.aborted === true;
    const { gitDir } = this.#context;
    for (const names of derivedLocks) {
      await removeStaleLock(gitDir, join(gitDir, ...names), STALE_LOCK_MS);
    }
    const error = await holdPacks(async () => {
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
  const needed = (await Promise.all(sizes)).reduce((sum, size) => sum + size, RESERVED_BYTES);
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
