/** CPU-heavy and disk-heavy work on publications, kept off the path of the caller. */

import { writeShortLived } from '../packs/short-lived-pack.ts';
import type { Preallocation } from '../wal/preallocated-files.ts';
import { Checkpoints, type FullSegment } from '../wal/wal-checkpoint.ts';
import { type DurableFiles, removeIfThere, writeSoon } from './durable-files.ts';
import { type Publication, Publisher, type PublisherOptions } from './publisher.ts';

export interface PackWorker {
  /** Publishes without the WAL: resolves when the publication is durable and the branch has moved. */
  publish(publication: Publication): Promise<void>;
  /** Writes the short-lived pack of a batch that goes to the WAL, see `writeShortLived`. */
  writeShortLived(publication: Publication): Promise<void>;
  /** See `Checkpoints`. */
  checkpoint(segment: FullSegment): Promise<void>;
  /** See `Checkpoints`. */
  removeReplaced(tips: readonly string[]): Promise<void>;
  /** Creates and removes preallocated files; rejects if some of it failed. */
  preallocate(files: Preallocation): Promise<void>;
  /** Resolves when all requested work has ended. */
  close(): Promise<void>;
}

export interface PackWorkerOptions extends Omit<PublisherOptions, 'gate'> {
  readonly gitDir: string;
  readonly ref: string;
  readonly files: DurableFiles;
}

/** Runs on the thread of the caller. */
export class LocalPackWorker implements PackWorker {
  readonly #target: PackWorkerOptions;
  readonly #publisher: Publisher;
  readonly #checkpoints: Checkpoints;

  constructor(target: PackWorkerOptions) {
    this.#target = target;
    this.#publisher = new Publisher(target, target);
    this.#checkpoints = new Checkpoints(target);
  }

  publish(publication: Publication): Promise<void> {
    return this.#publisher.publish(publication);
  }

  writeShortLived(publication: Publication): Promise<void> {
    return writeShortLived(this.#target, publication);
  }

  checkpoint(segment: FullSegment): Promise<void> {
    return this.#checkpoints.checkpoint(segment);
  }

  removeReplaced(tips: readonly string[]): Promise<void> {
    return this.#checkpoints.removeReplaced(tips);
  }

  async preallocate({ create, remove }: Preallocation): Promise<void> {
    const { files } = this.#target;
    const done = [
      ...create.map((path) => writeSoon(files, path, { bytes: Buffer.alloc(0), mode: 0o666 })),
      ...remove.map((path) => removeIfThere(files, path)),
    ];
    const failed = (await Promise.allSettled(done)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  async close(): Promise<void> {
    await Promise.all([this.#publisher.close(), this.#checkpoints.close()]);
  }
}
