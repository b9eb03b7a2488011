/**
 * Reports when another process moved the branch: a push by path, a fetch, `git update-ref`. Events of
 * the file system are fast but not reliable, so they only trigger a check, which compares the ref. A
 * second check follows each event shortly after, and a timer checks too.
 *
 * A check costs one small read, since the daemon itself moves the ref hundreds of times a second.
 */
import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../git-error.ts';
import { type GitLogger, silent } from '../logger.ts';
import type { Repository } from '../repository.ts';

export interface WatchOptions {
  /** Last known head. Default: the head at the start of the watch. */
  readonly known?: string | undefined;
  /** Interval of checks without an event. Default: 500 ms. */
  readonly intervalMs?: number;
  readonly logger?: GitLogger;
  /** True for a head that needs no report, such as one that this process set. */
  readonly isOwn?: (head: string | undefined) => boolean;
}

export interface RefWatch {
  /** Checks now; resolves when the result was reported. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Longer than the delay of file systems that coalesce events. */
const SECOND_CHECK_MS = 75;
/** State after a head that was seen and not reported: any next head is reported. */
const NOT_REPORTED = Symbol('not reported');

/**
 * Calls back with each new head, one call at a time, never twice in a row with the same head. Moves of
 * this process are reported too, unless `isOwn` returns true. A head that existed only between two
 * checks is not reported. A callback that fails is logged and not repeated.
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
  readonly #isOwn: (head: string | undefined) => boolean;
  #known: string | undefined | typeof NOT_REPORTED;
  readonly #folders: FolderWatches;
  #interval: NodeJS.Timeout | undefined;
  #secondCheck: NodeJS.Timeout | undefined;
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
    this.#isOwn = options.isOwn ?? (() => false);
    this.#folders = new FolderWatches(repository, {
      onChange: () => this.#changed(),
      onError: (err) =>
        this.#logger.warn({ err }, 'watching refs failed; checking them on a timer instead'),
    });
  }

  async start(): Promise<void> {
    this.#folders.open();
    this.#interval = setInterval(() => {
      this.#folders.open();
      void this.check();
    }, this.#intervalMs);
    await this.check();
  }

  check(): Promise<void> {
    // A check that has not started yet answers this call too.
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
    clearTimeout(this.#secondCheck);
    this.#folders.close();
    await this.#checking;
  }

  #changed(): void {
    if (this.#closed) return;
    void this.check();
    if (this.#secondCheck === undefined) {
      this.#secondCheck = setTimeout(() => {
        this.#secondCheck = undefined;
        void this.check();
      }, SECOND_CHECK_MS);
    } else this.#secondCheck.refresh();
  }

  async #compare(): Promise<void> {
    if (this.#closed) return;
    try {
      const head = await this.#repository.head();
      if (head === this.#known || this.#closed) return;
      if (this.#isOwn(head)) {
        this.#known = NOT_REPORTED;
        return;
      }
      this.#known = head;
      await this.#onMoved(head);
    } catch (err) {
      this.#logger.warn({ err }, 'a move of the branch could not be processed');
    }
  }
}

interface FolderEvents {
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Watches the folders between the repository and its ref. Folders come and go with branches, so each
 * event in one of them starts another search for the missing ones.
 */
class FolderWatches {
  /** Names that affect the ref, by folder. */
  readonly #names: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #watches = new Map<string, FSWatcher>();
  readonly #events: FolderEvents;
  #failed = false;
  #closed = false;

  constructor({ gitDir, ref }: Pick<Repository, 'gitDir' | 'ref'>, events: FolderEvents) {
    this.#names = concerned(gitDir, ref);
    this.#events = events;
  }

  /** Watches the folders that exist and are not yet watched. */
  open(): void {
    if (this.#closed) return;
    for (const [folder, names] of this.#names) {
      if (!this.#watches.has(folder)) this.#open(folder, names);
    }
  }

  close(): void {
    this.#closed = true;
    for (const one of this.#watches.values()) one.close();
    this.#watches.clear();
  }

  #open(folder: string, names: ReadonlySet<string>): void {
    try {
      const one = watch(folder, { persistent: false });
      this.#watches.set(folder, one);
      one.on('change', (_type, name) => {
        // Without a name, the system does not report which file changed.
        const text = name === null ? undefined : String(name);
        if (text === undefined || names.has(text)) this.#changed(folder, text);
      });
      one.on('error', (error) => {
        this.#forget(folder);
        this.#fail(error);
      });
    } catch (error) {
      // A missing folder is found when its parent changes.
      if (errorCode(error) !== 'ENOENT' && errorCode(error) !== 'ENOTDIR') this.#fail(error);
    }
  }

  #changed(folder: string, name: string | undefined): void {
    // A folder of that name may be a new one, which the old watches do not cover.
    if (name !== undefined) this.#forgetBelow(join(folder, name));
    this.open();
    this.#events.onChange();
  }

  #forgetBelow(path: string): void {
    for (const folder of [...this.#watches.keys()]) {
      if (folder === path || folder.startsWith(`${path}/`)) this.#forget(folder);
    }
  }

  #forget(folder: string): void {
    this.#watches.get(folder)?.close();
    this.#watches.delete(folder);
  }

  #fail(error: unknown): void {
    if (!this.#failed) this.#events.onError(error);
    this.#failed = true;
  }
}

/**
 * Names to watch by folder: the ref, packed-refs, and the directories between. Parents come first: a
 * folder that appears before its parent is watched is found when it is opened.
 */
function concerned(gitDir: string, ref: string): Map<string, Set<string>> {
  const names = new Map([[gitDir, new Set(['packed-refs'])]]);
  const segments = ref.split('/');
  for (const [i, name] of segments.entries()) {
    const folder = join(gitDir, ...segments.slice(0, i));
    names.set(folder, new Set([...(names.get(folder) ?? []), name]));
  }
  return names;
}
