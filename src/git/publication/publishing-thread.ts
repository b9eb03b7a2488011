/**
 * A pack worker on its own thread: compression, hashing and slow calls to the file system do not block
 * the event loop. The caller (`WalPublisher`) defines the order of the operations.
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

/** Repository and branch of the thread. */
export interface ThreadSetup {
  readonly gitDir: string;
  readonly ref: string;
  readonly lockTimeoutMs: number;
}

/** Requests to the thread, one per method of `PackWorker`. */
export type ThreadAsk =
  | { readonly do: 'publish' | 'writeShortLived'; readonly publication: PublicationMessage }
  | { readonly do: 'checkpoint'; readonly segment: FullSegment }
  | { readonly do: 'removeReplaced'; readonly tips: readonly string[] }
  | { readonly do: 'preallocate'; readonly files: Preallocation }
  | { readonly do: 'close' };

/** Undefined: the request succeeded. */
export type ThreadAnswer = FailureMessage | undefined;

/** Most of its memory is in buffers, outside of the heap: by default an idle thread takes 48 MB. */
const YOUNG_MEGABYTES = 6;

export class PublishingThread implements PackWorker {
  readonly #gitDir: string;
  readonly #channel: WorkerChannel<ThreadAsk, ThreadAnswer>;

  constructor(setup: ThreadSetup) {
    this.#gitDir = setup.gitDir;
    const source = new URL('./publishing-worker.ts', import.meta.url);
    this.#channel = new WorkerChannel({
      name: 'the pack worker',
      start: () => {
        const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MEGABYTES };
        return startWorker(source, { workerData: setup, name: 'publish', resourceLimits });
      },
      // A caller that waits keeps the process running, and an idle thread does not.
      keepsProcess: true,
    });
  }

  /** Starts the thread ahead of the first request. */
  start(): void {
    this.#channel.start();
  }

  publish(publication: Publication): Promise<void> {
    return this.#send('publish', publication);
  }

  writeShortLived(publication: Publication): Promise<void> {
    return this.#send('writeShortLived', publication);
  }

  checkpoint(segment: FullSegment): Promise<void> {
    return this.#ask({ do: 'checkpoint', segment });
  }

  removeReplaced(tips: readonly string[]): Promise<void> {
    return this.#ask({ do: 'removeReplaced', tips });
  }

  preallocate(files: Preallocation): Promise<void> {
    return this.#ask({ do: 'preallocate', files });
  }

  /** Ends the thread. A later request starts a new one. */
  async close(): Promise<void> {
    if (!this.#channel.isStarted) return;
    await this.#ask({ do: 'close' });
    await this.#channel.terminate();
  }

  #send(request: 'publish' | 'writeShortLived', publication: Publication): Promise<void> {
    const message = encodePublication(publication);
    return this.#ask({ do: request, publication: message }, [message.bytes.buffer]);
  }

  async #ask(ask: ThreadAsk, transfer: ArrayBuffer[] = []): Promise<void> {
    const failure = await this.#channel.ask(ask, { transfer }).catch((cause: unknown) => {
      // Only a publication moves the branch, and it may have done so before the thread ended.
      if (ask.do === 'publish') throw new StorageError(this.#gitDir, { cause, moved: true });
      throw new GitError('The pack worker thread ended', { cause });
    });
    if (failure !== undefined) throw decodeFailure(failure);
  }
}
