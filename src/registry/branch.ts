/**
 * The only place where the branch, the catalog and the state change. A mutex serializes the
 * writers: groups of API writes, pushes that moved the branch, pushes that are being judged.
 * Readers never wait.
 */

import { LRUCache } from 'lru-cache';
import { type Clock, unavailable } from '../apimachinery/index.ts';
import type { FileReader, Folded } from '../catalog/index.ts';
import { Mutex } from '../concurrency/index.ts';
import type { Problem } from '../manifests/index.ts';
import type { BranchOptions } from './branch-options.ts';
import { DesiredState } from './desired-state.ts';
import { BranchSnapshot } from './pushes/branch-snapshot.ts';
import { FileMerger, UNDER_MUTEX } from './pushes/merge/file-merger.ts';
import { type LeakSource, leaksOf } from './pushes/plaintext-secrets.ts';
import { type Approval, refuseWhileHeld } from './pushes/prune-approvals.ts';
import type { Hold } from './pushes/prune-budget.ts';
import type { DryRunContext } from './pushes/push-dry-run.ts';
import { type EditContext, editFile } from './writes/file-edits.ts';
import type { Sealer } from './writes/sealer.ts';
import type { Write, Written } from './writes/write.ts';
import type { Preview, WritePreview } from './writes/write-context.ts';
import { WriteQueue } from './writes/write-queue.ts';

/** Writes resume after an operator acts or a disk recovers; neither is quick. */
const RETRY_REFUSED_SECONDS = 5;

export class Branch {
  readonly #options: BranchOptions;
  readonly #mutex: Mutex;
  readonly #replays = new Mutex();
  readonly #state: DesiredState;
  readonly #queue: WriteQueue;
  readonly #merger: FileMerger;
  readonly #quickMerger: FileMerger;
  #refusal: string | undefined;

  private constructor(options: BranchOptions, mutex: Mutex, state: DesiredState) {
    this.#options = options;
    this.#mutex = mutex;
    this.#state = state;
    this.#queue = new WriteQueue({ ...options, mutex, state });
    this.#merger = new FileMerger(options);
    this.#quickMerger = new FileMerger(options, UNDER_MUTEX);
  }

  /**
   * Continues from the persisted catalog, or replays the history; then catches up with the branch.
   */
  static async open(options: BranchOptions): Promise<Branch> {
    const branch = new Branch(options, new Mutex(), await DesiredState.open(options));
    await branch.sync();
    return branch;
  }

  /** The desired state. Only holders of the mutex may change it. */
  get state(): DesiredState {
    return this.#state;
  }

  /** Folder with the manifests; '' is the whole tree. */
  get under(): string {
    return this.#options.under;
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  /** Decrypts and encrypts secrets; undefined: neither is done. */
  get sealer(): Sealer | undefined {
    return this.#options.sealer;
  }

  /** Reads files of the branch and of pushes. */
  get reader(): FileReader {
    return this.#options.reader;
  }

  /** Merges files of pushes beside the branch. */
  get merger(): FileMerger {
    return this.#merger;
  }

  /** The same for callers that hold the mutex: it never waits for a merge beside the branch. */
  get quickMerger(): FileMerger {
    return this.#quickMerger;
  }

  /** The hold that stops readers from following the branch; undefined: readers follow it. */
  get hold(): Hold | undefined {
    return this.#state.approvals.hold;
  }

  /** Number of queued writes. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Reason why writes are refused; undefined: writes are accepted. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** Refuses API writes and pushes from now on; undefined: accepts them again. */
  refuseWrites(reason: string | undefined): void {
    this.#refusal = reason;
  }

  /** Throws 503 while writes are refused. */
  assertTakesWrites(): void {
    if (this.#refusal !== undefined) throw unavailable(this.#refusal, RETRY_REFUSED_SECONDS);
  }

  async submit(write: Write): Promise<Written> {
    this.assertTakesWrites();
    return await this.#queue.submit(write);
  }

  /** True if API writes moved the branch to `head`: readers see them, or will soon. */
  isOwn(head: string | undefined): boolean {
    // Moving the branch back ends a hold, so that every move counts during one.
    if (head === undefined || this.hold !== undefined) return false;
    return head === this.#state.revision || this.#queue.isOwn(head);
  }

  /** Follows the branch to its present commit. */
  async sync(): Promise<void> {
    await this.runExclusive((state) => state.catchUp());
  }

  /** Replays one history at a time: each takes memory for a whole catalog, or several. */
  replayAlone<T>(job: () => Promise<T>): Promise<T> {
    return this.#replays.run(job);
  }

  /** Approves a revision that is held, or that will be held when the branch reaches it. */
  async approve(approval: Approval): Promise<void> {
    await this.runExclusive(async (state) => {
      await state.approvals.approve(approval);
      await state.catchUp();
    });
  }

  /** Runs `work` while nothing else changes the branch, the catalog or the state. */
  runExclusive<T>(work: (state: DesiredState) => Promise<T>): Promise<T> {
    return this.#mutex.run(async () => {
      await this.#queue.settle();
      return await work(this.#state);
    });
  }

  /** Context for dry runs of commits that `repository` has, also in quarantine. */
  dryRunContext(repository: DryRunContext['repository']): DryRunContext {
    const { under, reader, kinds, sealer } = this.#options;
    return { repository, under, reader, kinds, sealer };
  }

  /** Works on the desired state as it is now, while writes go on. */
  async onPin<T>(work: (now: Folded) => Promise<T>): Promise<T> {
    const { pin, view } = await this.runExclusive(async (state) => {
      await state.recover();
      return { pin: state.catalog.pin(), view: state.view.clone() };
    });
    try {
      return await work({ catalog: pin.catalog, view });
    } finally {
      pin.release();
    }
  }

  /** The desired state at the head of the branch, which the caller releases. Undefined: it is held. */
  async snapshot(): Promise<BranchSnapshot | undefined> {
    return await this.runExclusive(async (state) => {
      await state.recover();
      await state.catchUp();
      const { catalog, view, revision } = state;
      if (this.hold !== undefined) return undefined;
      return new BranchSnapshot({ catalog, view, revision }, this.#options);
    });
  }

  /**
   * Plaintext secrets in commits that the tips reach and no ref does. Empty if the repository does
   * not encrypt.
   */
  async leaksOf(source: LeakSource, tips: readonly string[]): Promise<readonly Problem[]> {
    const { view } = this.#state;
    if (view.sealing === undefined || tips.length === 0) return [];
    return await leaksOf({ source, reader: this.#options.reader, view }, tips);
  }

  /** The result of a write, without writing: throws what the write would. Empty if the write changes no file. */
  async preview(write: Write, previews: readonly Preview[]): Promise<WritePreview> {
    return await this.runExclusive(async (state) => {
      const prepared = write.prepare();
      if (prepared.do !== 'commit') return {};
      refuseWhileHeld(state.approvals.hold);
      const { catalog, view } = state;
      const texts = new LRUCache<string, string>({ max: 2 });
      const batch = this.#options.repository.begin(state.revision);
      const readFolder = batch.readFolder.bind(batch);
      const context = { ...this.#options, catalog, view, texts, readFolder };
      const edited = await editFile(context, prepared.edit);
      if (previews.length === 0) return {};
      const { path, content } = edited;
      const effect = previews.includes('effect') ? await state.effectOf(edited) : undefined;
      if (!previews.includes('file')) return { effect };
      const [former] = await readFormer(context, path);
      const [before, after] = [former, content].map((bytes) => bytes?.toString('utf8'));
      return { file: { path, before, after }, effect };
    });
  }

  /** Refuses new writes and resolves when those in flight are answered. */
  async close(): Promise<void> {
    await this.#queue.close();
    await this.#mutex.idle();
    await Promise.all([this.#merger.close(), this.#quickMerger.close()]);
  }
}

async function readFormer(
  { catalog, repository }: Pick<EditContext, 'catalog' | 'repository'>,
  path: string,
): Promise<readonly Buffer[]> {
  const file = catalog.file(path);
  return file === undefined ? [] : await repository.readBlobs([file.blob]);
}
