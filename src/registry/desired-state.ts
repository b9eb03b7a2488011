/**
 * Synchronizes catalog and state with the branch. Callers hold the mutex of `branch.ts`; this file
 * does not guard against overlap.
 */
import {
  flatMapYielding,
  keyString,
  type ObjectKey,
  runAtOnce,
  runYielding,
} from '../apimachinery/index.ts';
import {
  type Catalog,
  catalogDocuments,
  documentedIn,
  FileDocuments,
  type Folded,
  isPersisted,
  type ObjectChange,
  obsoleteDocuments,
  persistedRevision,
  type StateDocuments,
  type StepResult,
  type TreeView,
} from '../catalog/index.ts';
import type { Repository } from '../git/index.ts';
import type { Change } from '../state/index.ts';
import type { BranchOptions } from './branch-options.ts';
import {
  entrustManifests,
  type FillingContext,
  fillStore,
  provenanceFor,
} from './projection/catalog-snapshot.ts';
import { type DerivedSecretChange, DerivedSecrets } from './projection/derived-secrets.ts';
import { type Deletion, projectChange, projectChanges } from './projection/served-object.ts';
import { PruneApprovals, prunesOf, Removals } from './pushes/prune-approvals.ts';
import type { PreparedMove } from './pushes/push-dry-run.ts';
import { emptyFold, persistedFold, SpeculativeCatalog } from './speculative-catalog.ts';
import type { FieldWrite } from './writes/field-managers.ts';
import type { EditedFile } from './writes/file-edits.ts';
import { isStateObject } from './writes/state-objects.ts';
import type { WriteEffect } from './writes/write-context.ts';

/** One write, applied in memory, that readers do not see yet. */
export interface StagedWrite {
  readonly changes: readonly ObjectChange[];
  readonly state: readonly Change[];
  readonly paths: readonly string[];
  readonly deletion?: Deletion | undefined;
  readonly fields?: FieldWrite | undefined;
}

/** Changes of a group of staged writes. */
export interface ClosedGroup {
  readonly staged: readonly StagedWrite[];
  readonly changes: readonly ObjectChange[];
  readonly documents: StateDocuments;
  /** Undefined: the group does not move the branch. */
  readonly revision: string | undefined;
}

/** Changes that publishing a group makes, planned on a version of the store. */
export interface StorePlan {
  readonly version: number;
  apply(): void;
}

export class DesiredState {
  /** Holds and approvals. */
  readonly approvals: PruneApprovals;
  readonly #options: BranchOptions;
  readonly #speculative: SpeculativeCatalog;
  readonly #derivedSecrets: DerivedSecrets;
  #shown: string | undefined;
  readonly #fileDocuments: FileDocuments;

  private constructor(options: BranchOptions, folded: Folded) {
    this.#options = options;
    this.#speculative = new SpeculativeCatalog(options, folded);
    this.approvals = new PruneApprovals(options);
    this.#derivedSecrets = new DerivedSecrets(options.kinds, options.store);
    this.#shown = folded.catalog.revision;
    this.#fileDocuments = new FileDocuments(options.store);
  }

  /** Continues from the persisted catalog if it still fits. */
  static async open(options: BranchOptions): Promise<DesiredState> {
    const { store } = options;
    const persisted = await persistedFold(options);
    if (persisted === undefined) {
      const base = PruneApprovals.baseMetadata(persistedRevision(store));
      store.apply([], { ...obsoleteDocuments(store), ...base });
    }
    return new DesiredState(options, persisted ?? emptyFold(options));
  }

  get revision(): string | undefined {
    return this.#speculative.revision;
  }

  /** The revision that readers see; the catalog may be ahead of it. */
  get shown(): string | undefined {
    return this.#shown;
  }

  get catalog(): Catalog {
    return this.#speculative.catalog;
  }

  get view(): TreeView {
    return this.#speculative.view;
  }

  /** Moves the catalog past a commit that is being built. Readers do not see it yet. */
  stage(commit: { id: string; committerTime: number }, edited: EditedFile): StepResult {
    return this.#speculative.stage(commit, edited);
  }

  /** Changes that an edited file would make, without making them. */
  async effectOf({ path, entry }: EditedFile): Promise<WriteEffect> {
    const commit = { id: NO_COMMIT, committerTime: Math.floor(this.#options.clock.now() / 1000) };
    const files = new Map([[path, entry]]);
    const { changes } = await this.catalog.fork().advanceYielding({ commit, files });
    return { changes, derived: await this.derivedSecretsAfter(changes) };
  }

  /** Derived secrets that would change with their sources, without changing them. */
  async derivedSecretsAfter(changes: readonly ObjectChange[]): Promise<DerivedSecretChange[]> {
    const { store, kinds, clock } = this.#options;
    const time = clock.now();
    const own = await flatMapYielding(changes, (change) =>
      this.#derivedSecrets.isSource(change.key)
        ? projectChange({ kinds, store, time }, change)
        : [],
    );
    if (own.length === 0) return [];
    const completed = await this.#derivedSecrets.completeYielding(own, time);
    const keys = new Set(changes.map(({ key }) => keyString(key)));
    return this.#derivedSecrets.derivedIn(completed, keys);
  }

  /** Uses the result of an accepted push when the branch reaches it. Another move discards it. */
  expect(prepared: PreparedMove): void {
    this.#speculative.expect(prepared);
  }

  /**
   * Closes a group of staged writes. Must be called before any write of the next group is staged.
   */
  closeGroup(staged: readonly StagedWrite[]): ClosedGroup {
    const changes = staged.flatMap((write) => write.changes);
    const paths = staged.flatMap((write) => write.paths);
    if (paths.length === 0) return { staged, changes, documents: {}, revision: undefined };
    const documents = runAtOnce(this.#documents(changes, paths));
    return { staged, changes, documents, revision: this.revision };
  }

  /** Plans `show` without showing anything, while the group is still being written to disk. */
  plan({ staged, changes, documents }: ClosedGroup): StorePlan {
    const { store, kinds, clock } = this.#options;
    const { resourceVersion: version } = store;
    const time = clock.now();
    const own = staged.flatMap(({ changes: moved, state, deletion, fields }) => [
      ...projectChanges({ kinds, store, time, deletion, fields }, moved),
      ...state,
    ]);
    const projected = this.#derivedSecrets.complete(own, time);
    const apply = store.prepare(projected, documents, provenanceFor(store, projected, changes));
    return { version, apply };
  }

  /**
   * Shows the staged writes to readers in one step. `plan` counts only if the store did not change
   * since.
   */
  show(group: ClosedGroup, plan?: StorePlan): void {
    const { store, observer } = this.#options;
    const { changes, revision } = group;
    const started = performance.now();
    this.#speculative.markUncertain();
    const isFresh = plan?.version === store.resourceVersion;
    (isFresh ? plan : this.plan(group)).apply();
    entrustManifests(store, changes);
    this.#speculative.settle();
    if (revision === undefined) return;
    this.#shown = revision;
    const milliseconds = performance.now() - started;
    observer.applied({ revision, source: 'api', changes, milliseconds });
  }

  /** Adds derived secrets that an earlier version of gitplane did not make. */
  repairDerivedSecrets(): void {
    const { store, clock } = this.#options;
    const changes = this.#derivedSecrets.stale(clock.now());
    if (changes.length > 0) store.apply(changes, {}, provenanceFor(store, changes, []));
  }

  /** Repairs the state after a step that failed half-way, before anything is built on it. */
  async recover(): Promise<void> {
    if (this.#speculative.isUncertain) await this.catchUp();
  }

  /**
   * Follows the branch, unless the move needs approval. Returns true if readers see anything new.
   */
  async catchUp(): Promise<boolean> {
    const { approvals } = this;
    const head = await this.#options.repository.head();
    if (head === undefined) approvals.missing(this.revision ?? approvals.base);
    else if (head === this.revision && !this.#speculative.isUncertain) approvals.release();
    else if (
      this.#speculative.isUncertain ||
      approvals.isNews(head, this.revision ?? approvals.base)
    )
      return await this.#moveWithinLimits(head);
    return false;
  }

  /**
   * Holds a commit that exceeds the limits. With nothing served yet, readers get the placeholder of
   * that commit.
   */
  async #moveWithinLimits(head: string): Promise<boolean> {
    const { approvals } = this;
    const { problem, standIn } = await this.#options.repository.checkLimits(head);
    if (problem === undefined) return await this.#moveTo(head);
    const isStart = this.revision === undefined && standIn !== undefined;
    const moved = isStart && (await this.#moveTo(standIn));
    approvals.tooLarge(head, this.revision ?? approvals.base, problem);
    return moved;
  }

  /** Moves by way of the persisted revision, and of approved commits. */
  async #moveTo(head: string): Promise<boolean> {
    const { approvals } = this;
    const { repository } = this.#options;
    const { base } = approvals;
    let moved = false;
    if (base !== undefined && base !== head && (await isHere(repository, base))) {
      moved = await this.#step(base, head);
      if (!moved) return false;
    }
    if (await this.#step(head, head)) return true;
    if (approvals.hold?.reason !== 'PruneBudgetExceeded') return moved;
    const approved = await approvals.approvedCommits(this.revision, head);
    for (const commit of approved) moved = (await this.#step(commit, head)) || moved;
    return (approved.length > 0 && (await this.#step(head, head))) || moved;
  }

  async #step(target: string, head: string): Promise<boolean> {
    const started = performance.now();
    const { store, kinds, clock, observer } = this.#options;
    const { approvals } = this;
    const isFirst = !isPersisted(store);
    const served = await this.#speculative.visible();
    const from = served.catalog.revision ?? approvals.base;
    const before = isFirst ? this.#earlier().length : served.catalog.size;
    const removals = new Removals();
    // On a first start, or if only the rules changed, no commit removes anything.
    const onStep = from === undefined || from === target ? undefined : removals.record;
    const followed = await this.#speculative.follow(target, { served, onStep });
    const { changes, paths, follows } = followed;
    const leftovers = isFirst ? this.#leftovers() : [];
    const prunes = [
      ...prunesOf(changes),
      ...leftovers.map(({ key }) => ({ key, path: undefined })),
    ];
    const after = this.catalog.size;
    const move = { head, from, to: target, follows, prunes, before, after, removals };
    if (!(await approvals.admits(move))) {
      followed.undo();
      this.#speculative.settle();
      return false;
    }
    // A replay names every relevant path. Comparing each object would find no other.
    const compared = store.pristine && !follows ? [] : changes;
    const documents = {
      ...(await runYielding(this.#documents(compared, paths))),
      ...approvals.withoutApproval(target),
    };
    const context = { kinds, store, time: clock.now() };
    if (store.pristine) fillStore(context, this.catalog, documents);
    else await this.#apply(context, { changes, documents, leftovers, isFirst });
    await runYielding(this.#fileDocuments.settle(documentedIn(this.catalog)));
    this.#speculative.settle();
    this.#shown = target;
    const milliseconds = performance.now() - started;
    observer.applied({ revision: target, source: 'push', changes, milliseconds });
    return true;
  }

  /**
   * Readers see all changes at once. Computing them yields, so that readers are answered meanwhile.
   */
  async #apply(
    context: FillingContext,
    of: {
      changes: readonly ObjectChange[];
      documents: StateDocuments;
      leftovers: Change[];
      isFirst: boolean;
    },
  ): Promise<void> {
    const { store } = context;
    const { changes, documents, leftovers, isFirst } = of;
    const own = await flatMapYielding(changes, (change) => projectChange(context, change));
    if (isFirst) for (const one of leftovers) own.push(one);
    const projected = await this.#derivedSecrets.completeYielding(own, context.time);
    const provenance = await flatMapYielding(provenanceFor(store, projected, changes), (one) => [
      one,
    ]);
    await store.applyYielding(projected, documents, provenance);
    entrustManifests(store, changes);
  }

  /**
   * Removals of objects that an earlier run served under other rules and that the platform no
   * longer has.
   */
  #leftovers(): Extract<Change, { type: 'remove' }>[] {
    const gone = this.#earlier().filter((key) => this.catalog.object(key) === undefined);
    return gone.map((key) => ({ type: 'remove', key }));
  }

  /** Keys of stored objects that once had a manifest. */
  #earlier(): ObjectKey[] {
    const { store, kinds } = this.#options;
    return (
      kinds.kinds
        .flatMap(({ group, kind }) => store.list({ group, kind }).items)
        // A terminating object has no manifest any more and waits for its finalizers.
        .filter((stored) => !stored.terminating && !isStateObject(stored))
        .map(({ key }) => key)
    );
  }

  #documents(
    changes: readonly ObjectChange[],
    paths: Iterable<string>,
  ): Generator<void, StateDocuments> {
    return catalogDocuments({
      catalog: this.catalog,
      changes,
      paths,
      fileDocuments: this.#fileDocuments,
      rules: this.#options.rules,
      ignoreBlob: this.view.ignoreBlob,
      sealing: this.view.sealing,
    });
  }
}

/** The commit of a dry run, which will never exist. */
const NO_COMMIT = '0'.repeat(40);

async function isHere(repository: Repository, commit: string): Promise<boolean> {
  return await repository.commitMetadata(commit).then(
    () => true,
    () => false,
  );
}
