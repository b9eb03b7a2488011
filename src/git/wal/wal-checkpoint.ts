/**
 * The checkpoint: writes the content of the WAL as one pack, and flushes the pack and the branch.
 *
 * A tree is a delta against its version before, and git reads no base in another pack. So a checkpoint
 * continues the pack of the checkpoint before where that saves more than it costs: the new pack has the
 * objects of both, and the old one is removed like the short-lived packs of the batches. While there are
 * many writes, packs grow by shares of their size, so that the bytes written again are bounded.
 */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode, GitError } from '../git-error.ts';
import { sizesOf } from '../objects/delta.ts';
import { type PackNames, packFolder, packNames } from '../packs/pack-names.ts';
import { buildPack, entriesOf, type PackEntries } from '../packs/pack-writer.ts';
import { removeReplaced, withdrawContinued } from '../packs/short-lived-pack.ts';
import { type DurableFiles, syncRefDirectory, writeDurably } from '../publication/durable-files.ts';
import type { Publication } from '../publication/publisher.ts';
import { Reader } from '../reading/reader.ts';
import { CheckpointObjects, type ReadTree } from './checkpoint-objects.ts';
import { decodeWal } from './wal-format.ts';

export interface CheckpointTarget {
  readonly files: DurableFiles;
  readonly gitDir: string;
  readonly ref: string;
  readonly owner: string;
}

/** A WAL segment that is no longer written. */
export interface FullSegment {
  readonly path: string;
  /** Tips of the published batches, oldest first. */
  readonly tips: readonly string[];
  /** Other processes rewrite the packs: the pack of the checkpoint before is not continued. */
  readonly startsPack?: boolean;
}

/** A pack that the next checkpoint may continue. Its bytes are in its file alone. */
interface OpenPack {
  readonly names: PackNames;
  readonly checksum: string;
  /** Bytes of the entries. */
  readonly size: number;
  readonly placed: PackEntries['placed'];
  readonly objects: CheckpointObjects;
}

/** A pack up to this size is continued always. */
const SMALL_PACK_BYTES = 512 * 1024;
/** A larger pack is continued while the trees that it saves have this share of its size. */
const SAVED_SHARE = 1 / 4;
/** So is one that grows by this share of its size. */
const GROWTH_SHARE = 1 / 4;
const MAX_OPEN_BYTES = 32 * 1024 * 1024;
/** Longer than the pause between two looks at the pack files (`controllers/object-integrity.ts`). */
const WITHDRAWN_MS = 10_000;

export class Checkpoints {
  readonly #target: CheckpointTarget;
  #open: OpenPack | undefined;
  /** Packs that a later one continues, by the newest tip of that one. */
  readonly #continued = new Map<string, PackNames>();
  /** Files of packs that git no longer reads, and the time of their withdrawal. */
  #withdrawn: { readonly path: string; readonly since: number }[] = [];
  #reader: Reader | undefined;

  constructor(target: CheckpointTarget) {
    this.#target = target;
  }

  /** Rejects unless everything was written; the segment must stay then. */
  async checkpoint({ path, tips, startsPack }: FullSegment): Promise<void> {
    if (startsPack === true) this.#startPack();
    if (tips.length === 0) return;
    const log = decodeWal(await readFile(path));
    const found = new Map(log?.publications.map((one) => [one.tip, one]));
    const publications = tips.map((tip) => {
      const publication = found.get(tip);
      if (publication === undefined) {
        throw new GitError(`${path} does not contain commit ${tip}, which was appended to it`, {
          remedy: 'Check the disk',
        });
      }
      return publication;
    });
    await this.write(publications);
  }

  /** Writes publications as one pack and flushes the pack and the branch to stable storage. */
  async write(publications: readonly Publication[]): Promise<void> {
    const { files, gitDir, ref } = this.#target;
    const open = this.#continues(publications) ? await this.#readOpen() : undefined;
    // Until the pack is written, there is none that could be continued.
    this.#open = undefined;
    const written = await this.#writePack(publications, open);
    await syncRef(files, join(gitDir, ref));
    this.#open = written;
    const newest = publications.at(-1)?.tip;
    if (open !== undefined && newest !== undefined && open.names.pack !== written.names.pack) {
      this.#continued.set(newest, open.names);
    }
  }

  /** Removes the packs that checkpoints of these tips replaced; see `short-lived-pack.ts`. */
  async removeReplaced(tips: readonly string[]): Promise<void> {
    await removeReplaced(this.#target, tips);
    const continued = tips.flatMap((tip) => this.#continued.get(tip) ?? []);
    for (const tip of tips) this.#continued.delete(tip);
    const since = performance.now();
    for (const path of await withdrawContinued(this.#target, continued)) {
      this.#withdrawn.push({ path, since });
      const remove = () => void this.#removeWithdrawn(performance.now() - WITHDRAWN_MS);
      setTimeout(remove, WITHDRAWN_MS + 1).unref();
    }
  }

  async close(): Promise<void> {
    this.#open = undefined;
    await this.#removeWithdrawn(Number.POSITIVE_INFINITY);
    await this.#reader?.close();
    this.#reader = undefined;
  }

  async #removeWithdrawn(until: number): Promise<void> {
    const due = this.#withdrawn.filter(({ since }) => since <= until);
    this.#withdrawn = this.#withdrawn.filter(({ since }) => since > until);
    for (const { path } of due) await this.#target.files.remove(path).catch(() => undefined);
  }

  #startPack(): void {
    this.#open = undefined;
    // Its process may hold files of packs that are removed.
    this.#reader?.retire();
  }

  /** Undefined: another process removed the file, or it is damaged. */
  async #readOpen(): Promise<(OpenPack & { readonly entries: PackEntries }) | undefined> {
    if (this.#open === undefined) return undefined;
    const { names, checksum, placed } = this.#open;
    const pack = await readFile(names.pack).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    const bytes = pack && entriesOf(pack, checksum);
    return bytes && { ...this.#open, entries: { bytes, placed } };
  }

  async #writePack(
    publications: readonly Publication[],
    open: (OpenPack & { readonly entries: PackEntries }) | undefined,
  ): Promise<OpenPack> {
    const { files, gitDir, owner } = this.#target;
    const objects = open?.objects ?? new CheckpointObjects();
    const added = await objects.add(publications, this.#readTree);
    const { checksum, placed, size, ...pack } = buildPack(added, 'deflated', open?.entries);
    const names = packNames(gitDir, checksum, owner);
    await Promise.all([
      writeDurably(files, names.newPack, { bytes: pack.pack, mode: 0o444 }),
      writeDurably(files, names.newIndex, { bytes: pack.index, mode: 0o444 }),
    ]);
    await files.rename(names.newPack, names.pack);
    await files.rename(names.newIndex, names.index);
    await files.syncDirectory(packFolder(gitDir));
    return { names, checksum, size, placed, objects };
  }

  readonly #readTree: ReadTree = (id) => {
    this.#reader ??= new Reader({ gitDir: this.#target.gitDir }, { objectProcesses: 1 });
    return this.#reader.readObject(id, 'tree');
  };

  #continues(publications: readonly Publication[]): boolean {
    const open = this.#open;
    if (open === undefined) return false;
    let [added, saved] = [0, 0];
    for (const { objects } of publications) {
      for (const { data, base } of objects) {
        added += data.length;
        if (base !== undefined && open.objects.hasTree(base)) saved += sizesOf(data).result;
      }
    }
    const bytes = open.size + added;
    if (bytes > MAX_OPEN_BYTES) return false;
    if (bytes <= SMALL_PACK_BYTES || saved >= bytes * SAVED_SHARE) return true;
    return added >= open.size * GROWTH_SHARE;
  }
}

async function syncRef(files: DurableFiles, ref: string): Promise<void> {
  await files.syncFile(ref).catch((error: unknown) => {
    // Another process removed it, or moved it to packed-refs, which git flushes.
    if (errorCode(error) !== 'ENOENT') throw error;
  });
  await syncRefDirectory(files, dirname(ref));
}
