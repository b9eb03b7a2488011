/**
 * Upkeep in the background. Every publication is a pack, and git slows down with their number:
 * rolling them up geometrically, often, costs little each time and nobody waits for it. Readers
 * and writers go on meanwhile. Nothing is ever pruned here.
 */
import { lstat, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitContext } from './git-environment.ts';
import { GitProcess } from './git-process.ts';
import type { GitLogger } from './logger.ts';
import { isShortLived, packFolder } from './pack-names.ts';
import { MAINTENANCE } from './process-limits.ts';

export interface MaintenanceOptions {
  /** So many more packs than the last run left start the next one. */
  readonly packThreshold: number;
  readonly logger: GitLogger;
  /** Called after packs were replaced: whoever holds the old ones open can let go. */
  readonly onRepacked: () => void;
  /** Around what looks at all packs: none of them goes meanwhile. */
  readonly whileStill?: <T>(work: () => Promise<T>) => Promise<T>;
}

/** In this order; each is useful without the other. One thread: the daemon needs the rest. */
const steps: readonly (readonly string[])[] = [
  ['-c', 'pack.threads=1', 'repack', '-d', '-q', '--geometric=2', '--write-midx'],
  ['commit-graph', 'write', '--reachable', '--split', '--no-progress'],
];

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
  #running: Promise<boolean> | undefined;
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
  run(): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Ends a run that is under way: git removes its temporary files. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#git?.stop();
    await this.#running;
  }

  async #run(): Promise<boolean> {
    const { logger, onRepacked, whileStill = (work) => work() } = this.#options;
    const started = performance.now();
    await removeStaleLocks(this.#context.gitDir);
    const succeeded = await whileStill(() => this.#steps());
    this.#packsLeft = await countPacks(this.#context.gitDir);
    this.#added = 0;
    onRepacked();
    const ms = Math.round(performance.now() - started);
    logger.debug({ packs: this.#packsLeft, ms, succeeded }, 'repository maintained');
    return succeeded;
  }

  async #steps(): Promise<boolean> {
    let succeeded = true;
    for (const args of steps) {
      if (this.#closed || !(await this.#step(args))) succeeded = false;
    }
    return succeeded;
  }

  async #step(args: readonly string[]): Promise<boolean> {
    const git = new GitProcess(this.#context, args, MAINTENANCE);
    this.#git = git;
    git.stdin.end();
    git.lowerPriority();
    const end = await git.ended;
    this.#git = undefined;
    if (end.code === 0) return true;
    if (!this.#closed) {
      const error = git.error(end);
      this.#options.logger.warn({ error: error.message }, 'repository maintenance failed');
    }
    return false;
  }
}

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
