/**
 * Notices that others moved the branch: a push by path, a fetch, `git update-ref`. The file system
 * tells quickly but not reliably (not every one reports every change), so it only says when to
 * look: the ref itself is compared, again a moment after each event and on a timer.
 *
 * A look costs one small read: our own writes move the ref hundreds of times a second.
 */
import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../git-error.ts';
import { type GitLogger, silent } from '../logger.ts';
import type { Repository } from '../repository.ts';

export interface WatchOptions {
  /** The head that is known already; unless given, the head when the watch begins. */
  readonly known?: string | undefined;
  /** How often to look without any event. Default: 500 ms. */
  readonly intervalMs?: number;
  readonly logger?: GitLogger;
  /** Whether a head is one that needs no report, such as what we moved the branch to ourselves. */
  readonly isOwn?: (head: string | undefined) => boolean;
}

export interface RefWatch {
  /** Looks now; resolves when what it found was reported. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Longer than what file systems that gather events take for it. */
const SECOND_LOOK_MS = 75;
/** A head that was there and was not reported: whatever comes next is news. */
const NOT_REPORTED = Symbol('not reported');

/**
 * Calls back with each new head, one call at a time, never twice in a row with the same; moves of
 * our own are reported too, unless `isOwn` knows them. A head that was there only between two looks
 * is not. A report that fails is logged, not repeated.
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
    this.#isOwn = options.isOwn ?? (() => false);
    this.#folders = new FolderWatches(repository, {
      onChange: () => this.#noticed(),
      onError: (err) =>
        this.#logger.warn({ err }, 'watching refs failed; looking at them on a timer instead'),
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
    this.#folders.close();
    await this.#checking;
  }

  #noticed(): void {
    if (this.#closed) return;
    void this.check();
    if (this.#secondLook === undefined) {
      this.#secondLook = setTimeout(() => {
        this.#secondLook = undefined;
        void this.check();
      }, SECOND_LOOK_MS);
    } else this.#secondLook.refresh();
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
      this.#logger.warn({ err }, 'a move of the branch could not be taken in');
    }
  }
}

interface FolderEvents {
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Watches on the folders between the repository and its ref. They come and go with branches, so
 * whatever happens in one of them, those that are missing are looked for again.
 */
class FolderWatches {
  /** Each folder with the names in it that concern the ref. */
  readonly #names: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #watches = new Map<string, FSWatcher>();
  readonly #events: FolderEvents;
  #failed = false;
  #closed = false;

  constructor({ gitDir, ref }: Pick<Repository, 'gitDir' | 'ref'>, events: FolderEvents) {
    this.#names = concerned(gitDir, ref);
    this.#events = events;
  }

  /** Watches what can be watched and is not yet. */
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
        // Without a name the system does not say what changed.
        const text = name === null ? undefined : String(name);
        if (text === undefined || names.has(text)) this.#changed(folder, text);
      });
      one.on('error', (error) => {
        this.#forget(folder);
        this.#fail(error);
      });
    } catch (error) {
      // A folder that is not there yet is found when the one above it changes.
      if (errorCode(error) !== 'ENOENT' && errorCode(error) !== 'ENOTDIR') this.#fail(error);
    }
  }

  #changed(folder: string, name: string | undefined): void {
    // A folder of that name may be a new one, which the old watches know nothing of.
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

/** The ref, packed-refs, and the directories on the way to the ref, outer ones first: what appears
 * in a folder before it is watched is found when the folder is looked for. */
function concerned(gitDir: string, ref: string): Map<string, Set<string>> {
  const names = new Map([[gitDir, new Set(['packed-refs'])]]);
  const segments = ref.split('/');
  for (const [i, name] of segments.entries()) {
    const folder = join(gitDir, ...segments.slice(0, i));
    names.set(folder, new Set([...(names.get(folder) ?? []), name]));
  }
  return names;
}
