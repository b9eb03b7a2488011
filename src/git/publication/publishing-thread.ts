/**
 * The packWorker on a thread of its own: compressing, hashing and calls to the file system that may wait
 * for the journal of the disk hold up nobody else. The order of things is `LoggedPublisher`'s.
 */
import { startWorker, WorkerChannel } from '../../concurrency/index.ts';
import { GitError, StorageError } from '../git-error.ts';
import type { Preallocation } from '../wal/preallocated-files.ts';
import type { FullSegment } from '../wal/wal-checkpoint.ts';
import type { PackWorker } from './pack-worker.ts';
import {
  decodeFailure,
  encodePublication,
  type FailureMessage,
  type PublicationMessage,
} from './publication-message.ts';
import type { Publication } from './publisher.ts';

/** Where a thread publishes to. */
export interface ThreadSetup {
  readonly gitDir: string;
  readonly ref: string;
  readonly lockTimeoutMs: number;
}

/** What is asked of the thread, see `Workshop`. */
export type ThreadAsk =
  | { readonly do: 'publish' | 'show'; readonly publication: PublicationMessage }
  | { readonly do: 'save'; readonly log: FullSegment }
  | { readonly do: 'remove'; readonly tips: readonly string[] }
  | { readonly do: 'stock'; readonly stock: Preallocation }
  | { readonly do: 'settle' };

/** Absent: the thread did it. */
export type ThreadAnswer = FailureMessage | undefined;

export class PublishingThread implements PackWorker {
  readonly #gitDir: string;
  readonly #channel: WorkerChannel<ThreadAsk, ThreadAnswer>;

  constructor(setup: ThreadSetup) {
    this.#gitDir = setup.gitDir;
    const source = new URL('./publishing-worker.ts', import.meta.url);
    this.#channel = new WorkerChannel({
      name: 'the pack worker',
      start: () => startWorker(source, { workerData: setup, name: 'publish' }),
      // A caller that waits keeps the process running, and an idle thread does not.
      keepsProcess: true,
    });
  }

  /** Whoever asks first need not wait for the thread. */
  start(): void {
    this.#channel.start();
  }

  publish(publication: Publication): Promise<void> {
    return this.#send('publish', publication);
  }

  writeShortLived(publication: Publication): Promise<void> {
    return this.#send('show', publication);
  }

  checkpoint(log: FullSegment): Promise<void> {
    return this.#ask({ do: 'save', log });
  }

  removeReplaced(tips: readonly string[]): Promise<void> {
    return this.#ask({ do: 'remove', tips });
  }

  preallocate(stock: Preallocation): Promise<void> {
    return this.#ask({ do: 'stock', stock });
  }

  /** Ends the thread; what is asked for afterwards starts another. */
  async close(): Promise<void> {
    if (!this.#channel.isStarted) return;
    await this.#ask({ do: 'settle' });
    await this.#channel.terminate();
  }

  #send(what: 'publish' | 'show', publication: Publication): Promise<void> {
    const message = encodePublication(publication);
    return this.#ask({ do: what, publication: message }, [message.bytes.buffer]);
  }

  async #ask(ask: ThreadAsk, transfer: ArrayBuffer[] = []): Promise<void> {
    const failure = await this.#channel.ask(ask, { transfer }).catch((cause: unknown) => {
      // Only a publication moves the branch, and it may have done so before the thread ended.
      if (ask.do === 'publish') throw new StorageError(this.#gitDir, { cause, moved: true });
      throw new GitError('The thread that makes packs ended', { cause });
    });
    if (failure !== undefined) throw decodeFailure(failure);
  }
}
