/**
 * Keeps catalog and state in step with the branch. Callers hold the turn (`branch.ts`); nothing in
 * here guards against overlap.
 */
import type { Clock } from '../apimachinery/clock.ts';
import { Catalog, type ObjectChange, type StepResult } from '../catalog/catalog.ts';
import type { FileReader } from '../catalog/file.ts';
import { catalogDifference, extend, type Folded, netChanges, replay } from '../catalog/replay.ts';
import { isKept, notedPaths, notesFor, obsoleteNotes, restore } from '../catalog/restore.ts';
import { TreeView } from '../catalog/tree.ts';
import type { Repository } from '../git/repository.ts';
import type { KindTable } from '../kinds/table.ts';
import type { Change, Store } from '../state/store.ts';
import { isDerivedAccess, leftoverAccess, withDerivedAccess } from './derived-access.ts';
import type { EditedFile } from './file-edits.ts';
import type { PreparedCatalog } from './foresight.ts';
import { type Deletion, projectChanges } from './served.ts';

/** What others want to know of the branch; called synchronously, must not throw. */
export interface BranchObserver {
  /** Commits of the API became durable. */
  published(commits: number, milliseconds: number): void;
  /** Readers see a new revision. `source`: who moved the branch there. */
  applied(event: {
    revision: string;
    source: 'api' | 'push';
    changes: readonly ObjectChange[];
    milliseconds: number;
  }): void;
  /** All of history was read. */
  replayed(reason: string, milliseconds: number): void;
}

export interface BranchOptions {
  readonly repository: Repository;
  readonly store: Store;
  readonly kinds: KindTable;
  readonly reader: FileReader;
  /** The folder that is read; '' is the whole tree. */
  readonly under: string;
  readonly clock: Clock;
  /** What verdicts depend on beside commits; a catalog that was kept under others is not used. */
  readonly rules: string;
  readonly observer: BranchObserver;
}

/** One write, done in memory, that readers do not see yet. */
export interface StagedWrite {
  readonly changes: readonly ObjectChange[];
  readonly state: readonly Change[];
  readonly paths: readonly string[];
  readonly deletion?: Deletion | undefined;
}

export class DesiredState {
  readonly #options: BranchOptions;
  #folded: Folded;
  #expected: PreparedCatalog | undefined;
  /** A step is under way or failed half-way: the catalog may be ahead of what readers see. */
  #doubtful = false;

  private constructor(options: BranchOptions, folded: Folded) {
    this.#options = options;
    this.#folded = folded;
  }

  /** Continues where the last run ended, if it left a catalog that still fits. */
  static async open(options: BranchOptions): Promise<DesiredState> {
    const view = new TreeView(options.under);
    const kept = restore(options.store, options.rules);
    if (kept === undefined) {
      options.store.apply([], obsoleteNotes(options.store));
      return new DesiredState(options, { catalog: new Catalog(''), view });
    }
    await view.adopt(options.repository, kept.ignoreBlob);
    return new DesiredState(options, { catalog: kept.catalog, view });
  }

  get revision(): string | undefined {
    return this.#folded.catalog.revision;
  }

  get catalog(): Catalog {
    return this.#folded.catalog;
  }

  get view(): TreeView {
    return this.#folded.view;
  }

  /** Moves the catalog, and nothing that readers see, past a commit that is being built. */
  stage(commit: { id: string; committerTime: number }, edited: EditedFile): StepResult {
    const before = this.#folded;
    // The first commit of a repository is the root that identities are counted from.
    if (before.catalog.revision === undefined) {
      this.#folded = { catalog: new Catalog(commit.id), view: before.view };
    }
    const files = new Map([[edited.path, edited.entry]]);
    const step = this.#folded.catalog.advance({ commit, files });
    return {
      changes: step.changes,
      undo: () => {
        step.undo();
        this.#folded = before;
      },
    };
  }

  /** Shows readers what was staged, at once. */
  show(staged: readonly StagedWrite[]): void {
    const { store, kinds, clock, observer } = this.#options;
    const started = performance.now();
    const time = clock.now();
    this.#doubtful = true;
    const changes = staged.flatMap((write) => write.changes);
    const paths = staged.flatMap((write) => write.paths);
    const projected = staged.flatMap((write) => [
      ...projectChanges({ kinds, store, time, deletion: write.deletion }, write.changes),
      ...write.state,
    ]);
    const derived = withDerivedAccess({ kinds, store }, projected);
    store.apply(derived, paths.length === 0 ? {} : this.#notes(changes, paths));
    this.#doubtful = false;
    if (paths.length === 0 || this.revision === undefined) return;
    const milliseconds = performance.now() - started;
    observer.applied({ revision: this.revision, source: 'api', changes, milliseconds });
  }

  /** Makes up for a step that failed half-way, before anything is built on it. */
  async recover(): Promise<void> {
    if (this.#doubtful) await this.catchUp();
  }

  /** Follows the branch to wherever others moved it. Returns whether readers see anything new. */
  async catchUp(): Promise<boolean> {
    const head = await this.#options.repository.head();
    if (head === undefined || (head === this.revision && !this.#doubtful)) return false;
    const started = performance.now();
    const { store, kinds, clock, observer } = this.#options;
    const isFirst = !isKept(store);
    const { changes, paths } = await this.#follow(head);
    this.#doubtful = true;
    const projected = projectChanges({ kinds, store, time: clock.now() }, changes);
    if (isFirst) projected.push(...this.#leftovers());
    const derived = withDerivedAccess({ kinds, store }, projected);
    if (isFirst) derived.push(...leftoverAccess({ kinds, store }, derived));
    store.apply(derived, this.#notes(changes, paths));
    this.#doubtful = false;
    const milliseconds = performance.now() - started;
    observer.applied({ revision: head, source: 'push', changes, milliseconds });
    return true;
  }

  /** Where an accepted push leads; taken when the branch gets there, unless it went elsewhere. */
  expect(prepared: PreparedCatalog | undefined): void {
    this.#expected = prepared;
  }

  async #follow(
    head: string,
  ): Promise<{ changes: readonly ObjectChange[]; paths: Iterable<string> }> {
    const { repository, reader, under, observer } = this.#options;
    const context = { repository, reader, under };
    const before = this.#folded;
    const from = before.catalog.revision;
    const expected = this.#expected;
    this.#expected = undefined;
    if (!this.#doubtful && expected?.from === from && expected?.folded.catalog.revision === head) {
      this.#folded = expected.folded;
      return expected;
    }
    if (from !== undefined && !this.#doubtful && (await repository.isAncestor(from, head))) {
      this.#doubtful = true;
      const extended = await extend(context, before, head);
      this.#doubtful = false;
      if (extended !== undefined) {
        return { changes: netChanges(extended.changes), paths: extended.paths };
      }
    }
    const started = performance.now();
    const after = await replay(context, head);
    const served = this.#served(before.catalog);
    this.#folded = after;
    this.#doubtful = false;
    observer.replayed(from === undefined ? 'first start' : 'history', performance.now() - started);
    return {
      changes: catalogDifference(served, after.catalog),
      paths: [...notedPaths(served), ...notedPaths(after.catalog)],
    };
  }

  /** What an earlier run served under other rules and is no part of the platform any more. */
  #leftovers(): Change[] {
    const { store, kinds } = this.#options;
    return (
      kinds.kinds
        .flatMap(({ group, kind }) => store.list({ group, kind }).items)
        .filter(({ key }) => this.catalog.object(key) === undefined && !isDerivedAccess(key))
        // What is being deleted is in no manifest any more and waits for its finalizers.
        .filter(({ object }) => object.metadata.deletionTimestamp === undefined)
        .map(({ key }) => ({ type: 'remove', key }))
    );
  }

  /** What readers saw last is in the notes, whatever became of the catalog in memory. */
  #served(inMemory: Catalog): Catalog {
    if (!this.#doubtful) return inMemory;
    return restore(this.#options.store, this.#options.rules)?.catalog ?? new Catalog('');
  }

  #notes(changes: readonly ObjectChange[], paths: Iterable<string>): ReturnType<typeof notesFor> {
    return notesFor({
      catalog: this.catalog,
      changes,
      paths,
      rules: this.#options.rules,
      ignoreBlob: this.view.ignoreBlob,
    });
  }
}
