/**
 * Notices that others moved the branch: a push by path, a fetch, `git update-ref`. The file system
 * tells quickly but not reliably (a second change within about 50 ms of the first is lost), so it
 * only says when to look: the ref itself is compared, again after each event and on a timer.
 */
import { join } from 'node:path';
import { watch } from 'chokidar';
import { type GitLogger, silent } from './logger.ts';
import type { Repository } from './repository.ts';

export interface WatchOptions {
  /** The head that is known already; unless given, the head when the watch begins. */
  readonly known?: string | undefined;
  /** How often to look without any event. Default: 500 ms. */
  readonly intervalMs?: number;
  readonly logger?: GitLogger;
}

export interface RefWatch {
  /** Looks now; resolves when what it found was reported. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Longer than what chokidar loses changes in. */
const SECOND_LOOK_MS = 75;

/**
 * Calls back with each new head, one call at a time, never twice in a row with the same; moves of
 * our own are reported too. A head that was there only between two looks is not. A report that
 * fails is logged, not repeated.
 */
export async function watchRef(
  repository: Pick<Repository, 'gitDir' | 'ref' | 'head'>,
  onMoved: (head: string | undefined) => void | Promise<void>,
  options: WatchOptions = {},
): Promise<RefWatch> {
  const known = 'known' in options ? options.known : await repository.head();
  const watcher = new Watcher(repository, onMoved, { ...options, known });
  await watcher.start();
  return watcher;
}

class Watcher implements RefWatch {
  readonly #repository: Pick<Repository, 'gitDir' | 'ref' | 'head'>;
  readonly #onMoved: (head: string | undefined) => void | Promise<void>;
  readonly #intervalMs: number;
  readonly #logger: GitLogger;
  #known: string | undefined;
  #files: ReturnType<typeof watch> | undefined;
  #interval: NodeJS.Timeout | undefined;
  #secondLook: NodeJS.Timeout | undefined;
  #checking: Promise<void> = Promise.resolve();
  #queued = false;
  #closed = false;

  constructor(
    repository: Pick<Repository, 'gitDir' | 'ref' | 'head'>,
    onMoved: (head: string | undefined) => void | Promise<void>,
    options: WatchOptions,
  ) {
    this.#repository = repository;
    this.#onMoved = onMoved;
    this.#known = options.known;
    this.#intervalMs = options.intervalMs ?? 500;
    this.#logger = options.logger ?? silent;
  }

  async start(): Promise<void> {
    const { gitDir } = this.#repository;
    this.#files = watch(gitDir, {
      ignoreInitial: true,
      atomic: false,
      followSymlinks: false,
      ignored: (path) => !this.#concerns(path),
    });
    this.#files.on('all', () => this.#noticed());
    this.#files.on('error', (err) => {
      this.#logger.warn({ err }, 'watching refs failed; looking at them on a timer instead');
    });
    await new Promise<void>((ready) => this.#files?.once('ready', ready));
    this.#interval = setInterval(() => void this.check(), this.#intervalMs);
    await this.check();
  }

  check(): Promise<void> {
    // Whoever asks while a look is waiting for its turn is served by that one.
    if (this.#queued) return this.#checking;
    this.#queued = true;
    this.#checking = this.#checking.then(() => {
      this.#queued = false;
      return this.#compare();
    });
    return this.#checking;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#interval);
    clearTimeout(this.#secondLook);
    await this.#files?.close();
    await this.#checking;
  }

  /** The ref, packed-refs, and the directories on the way to the ref. */
  #concerns(path: string): boolean {
    const { gitDir, ref } = this.#repository;
    const file = join(gitDir, ref);
    return path === join(gitDir, 'packed-refs') || path === file || file.startsWith(`${path}/`);
  }

  #noticed(): void {
    if (this.#closed) return;
    void this.check();
    clearTimeout(this.#secondLook);
    this.#secondLook = setTimeout(() => void this.check(), SECOND_LOOK_MS);
  }

  async #compare(): Promise<void> {
    if (this.#closed) return;
    try {
      const head = await this.#repository.head();
      if (head === this.#known || this.#closed) return;
      this.#known = head;
      await this.#onMoved(head);
    } catch (err) {
      this.#logger.warn({ err }, 'a move of the branch could not be taken in');
    }
  }
}
