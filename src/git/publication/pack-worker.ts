/** Work on publications that keeps a processor or the disk busy, done where nobody waits for it. */

import { errorCode } from '../git-error.ts';
import { removeReplaced, writeShortLived } from '../packs/short-lived-pack.ts';
import type { Stock } from '../wal/preallocated-files.ts';
import { checkpointLog, type FullLog } from '../wal/wal-checkpoint.ts';
import { type DurableFiles, writeSoon } from './durable-files.ts';
import { type Publication, Publisher, type PublisherOptions } from './publisher.ts';

export interface PackWorker {
  /** The way without a log: resolves when the publication is durable and the branch is there. */
  publish(publication: Publication): Promise<void>;
  /** Shows git a group that goes to the log, see `writeShortLived`. */
  show(publication: Publication): Promise<void>;
  /** See `saveLog`. */
  save(log: FullLog): Promise<void>;
  /** See `removeReplaced`. */
  remove(tips: readonly string[]): Promise<void>;
  /** Makes and removes spare files; rejects when a part of it failed. */
  stock(stock: Stock): Promise<void>;
  /** Resolves when what was asked for has ended, and left nothing behind. */
  settled(): Promise<void>;
}

export interface PackWorkerOptions extends Omit<PublisherOptions, 'gate'> {
  readonly gitDir: string;
  readonly ref: string;
  readonly files: DurableFiles;
}

/** On the thread of the caller. */
export class LocalPackWorker implements PackWorker {
  readonly #place: PackWorkerOptions;
  readonly #publisher: Publisher;

  constructor(place: PackWorkerOptions) {
    this.#place = place;
    this.#publisher = new Publisher(place, place);
  }

  publish(publication: Publication): Promise<void> {
    return this.#publisher.publish(publication);
  }

  show(publication: Publication): Promise<void> {
    return writeShortLived(this.#place, publication);
  }

  save(log: FullLog): Promise<void> {
    return checkpointLog(this.#place, log);
  }

  remove(tips: readonly string[]): Promise<void> {
    return removeReplaced(this.#place, tips);
  }

  async stock({ make, drop }: Stock): Promise<void> {
    const { files } = this.#place;
    const done = [
      ...make.map((path) => writeSoon(files, path, { bytes: Buffer.alloc(0), mode: 0o666 })),
      ...drop.map((path) => files.remove(path).catch(unlessGone)),
    ];
    const failed = (await Promise.allSettled(done)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  settled(): Promise<void> {
    return this.#publisher.settled();
  }
}

function unlessGone(error: unknown): void {
  if (errorCode(error) !== 'ENOENT') throw error;
}
