/**
 * Keeps catalog and state in step with the branch. Callers hold the turn (`branch.ts`); nothing in
 * here guards against overlap.
 */
import type { Clock } from '../apimachinery/clock.ts';
import type { ObjectKey } from '../apimachinery/key.ts';
import { flatMapInSlices } from '../apimachinery/pauses.ts';
import { Catalog } from '../catalog/catalog.ts';
import type { FileReader } from '../catalog/file.ts';
import {
  catalogDifference,
  extend,
  type Folded,
  netChanges,
  type ReplayContext,
  replay,
} from '../catalog/replay.ts';
import {
  isKept,
  keptPaths,
  keptRevision,
  type Notes,
  notedPaths,
  notesFor,
  obsoleteNotes,
  restore,
} from '../catalog/restore.ts';
import type { ObjectChange, StepResult } from '../catalog/step.ts';
import { TreeView } from '../catalog/tree.ts';
import type { Repository } from '../git/repository.ts';
import type { KindTable } from '../kinds/table.ts';
import type { Change, Store } from '../state/store.ts';
import { Consent, prunesOf, Removals } from './consent.ts';
import type { PruneBudget } from './consent-rules.ts';
import { Copies } from './copies.ts';
import type { FieldWrite } from './field-managers.ts';
import type { EditedFile } from './file-edits.ts';
import type { PreparedMove, PreparedStep } from './foresight.ts';
import { type FillingContext, fillStore, remarksFor } from './kept.ts';
import type { Sealer } from './sealer.ts';
import { type Deletion, projectChange, projectChanges } from './served.ts';
import { isKeptInState } from './state-objects.ts';

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
  /** What may go without consent; undefined: everything. */
  readonly budget: PruneBudget | undefined;
  /** Seals what writes of the API bring; absent: they are written as they are. */
  readonly sealer?: Sealer | undefined;
}

/** One write, done in memory, that readers do not see yet. */
export interface StagedWrite {
  readonly changes: readonly ObjectChange[];
  readonly state: readonly Change[];
  readonly paths: readonly string[];
  readonly deletion?: Deletion | undefined;
  readonly fields?: FieldWrite | undefined;
}

/** A step to another revision, done in memory, that readers do not see yet. */
interface Followed {
  readonly changes: readonly ObjectChange[];
  readonly paths: Iterable<string>;
  /** Known to go on from what was served. */
  readonly follows: boolean;
  /** Returns to what is served. */
  back(): void | Promise<void>;
}

/** What a group of staged writes comes to. */
export interface SealedGroup {
  readonly staged: readonly StagedWrite[];
  readonly changes: readonly ObjectChange[];
  readonly notes: Notes;
  /** Undefined: it moves no branch. */
  readonly revision: string | undefined;
}

/** What showing a group comes to, on what the store was at a version. */
export interface Foreseen {
  readonly version: number;
  apply(): void;
}

export class DesiredState {
  /** What is held, and who agreed to what. */
  readonly consent: Consent;
  readonly #options: BranchOptions;
  readonly #copies: Copies;
  #folded: Folded;
  #expected: PreparedMove | undefined;
  #shown: string | undefined;
  /** Paths of files that have notes, or had: where there is none, none has to go. */
  readonly #noted: Set<string>;
  /** A step is under way or failed half-way: the catalog may be ahead of what readers see. */
  #doubtful = false;

  private constructor(options: BranchOptions, folded: Folded) {
    this.#options = options;
    this.#folded = folded;
    this.consent = new Consent(options);
    this.#copies = new Copies(options.kinds, options.store);
    this.#shown = folded.catalog.revision;
    this.#noted = new Set(keptPaths(options.store));
  }

  /** Continues where the last run ended, if it left a catalog that still fits. */
  static async open(options: BranchOptions): Promise<DesiredState> {
    const view = new TreeView(options.under);
    const kept = restore(options.store, options.rules);
    if (kept === undefined) {
      const base = Consent.baseNote(keptRevision(options.store));
      options.store.apply([], { ...obsoleteNotes(options.store), ...base });
      return new DesiredState(options, { catalog: new Catalog(''), view });
    }
    await view.adopt(options.repository, kept.ignoreBlob, kept.sealing);
    return new DesiredState(options, { catalog: kept.catalog, view });
  }

  get revision(): string | undefined {
    return this.#folded.catalog.revision;
  }

  /** The revision that readers see; the catalog may be ahead of it. */
  get shown(): string | undefined {
    return this.#shown;
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

  /** To be called when a group is staged, and before anything of the next one is. */
  seal(staged: readonly StagedWrite[]): SealedGroup {
    const changes = staged.flatMap((write) => write.changes);
    const paths = staged.flatMap((write) => write.paths);
    if (paths.length === 0) return { staged, changes, notes: {}, revision: undefined };
    return { staged, changes, notes: this.#notes(changes, paths), revision: this.revision };
  }

  /** Works out what `show` will do, and shows nothing: what can be done while a group is on its way. */
  foresee({ staged, changes, notes }: SealedGroup): Foreseen {
    const { store, kinds, clock } = this.#options;
    const { resourceVersion: version } = store;
    const time = clock.now();
    const own = staged.flatMap(({ changes: moved, state, deletion, fields }) => [
      ...projectChanges({ kinds, store, time, deletion, fields }, moved),
      ...state,
    ]);
    const projected = this.#copies.complete(own, time);
    const apply = store.prepare(projected, notes, remarksFor(store, projected, changes));
    return { version, apply };
  }

  /** Shows readers what was staged, at once. `foreseen` counts unless something changed since. */
  show(sealed: SealedGroup, foreseen?: Foreseen): void {
    const { store, observer } = this.#options;
    const { changes, revision } = sealed;
    const started = performance.now();
    this.#doubtful = true;
    const isFresh = foreseen?.version === store.resourceVersion;
    (isFresh ? foreseen : this.foresee(sealed)).apply();
    this.#doubtful = false;
    if (revision === undefined) return;
    this.#shown = revision;
    const milliseconds = performance.now() - started;
    observer.applied({ revision, source: 'api', changes, milliseconds });
  }

  /** Makes the copies that an earlier version did not make. */
  repairCopies(): void {
    const { store, clock } = this.#options;
    const changes = this.#copies.stale(clock.now());
    if (changes.length > 0) store.apply(changes, {}, remarksFor(store, changes, []));
  }

  /** Makes up for a step that failed half-way, before anything is built on it. */
  async recover(): Promise<void> {
    if (this.#doubtful) await this.catchUp();
  }

  /**
   * Follows the branch to wherever others moved it, unless that needs consent. Returns whether
   * readers see anything new.
   */
  async catchUp(): Promise<boolean> {
    const { consent } = this;
    const head = await this.#options.repository.head();
    if (head === undefined) consent.missing(this.revision ?? consent.base);
    else if (head === this.revision && !this.#doubtful) consent.release();
    else if (this.#doubtful || consent.isNews(head, this.revision ?? consent.base))
      return await this.#moveTo(head);
    return false;
  }

  /** By way of what an earlier run served, and of commits that somebody agreed to. */
  async #moveTo(head: string): Promise<boolean> {
    const { consent } = this;
    const { repository } = this.#options;
    const { base } = consent;
    let moved = false;
    if (base !== undefined && base !== head && (await isHere(repository, base))) {
      moved = await this.#step(base, head);
      if (!moved) return false;
    }
    if (await this.#step(head, head)) return true;
    if (consent.hold?.reason !== 'PruneBudgetExceeded') return moved;
    const stops = await consent.stops(this.revision, head);
    for (const stop of stops) moved = (await this.#step(stop, head)) || moved;
    return (stops.length > 0 && (await this.#step(head, head))) || moved;
  }

  async #step(target: string, head: string): Promise<boolean> {
    const started = performance.now();
    const { store, kinds, clock, observer } = this.#options;
    const { consent } = this;
    const isFirst = !isKept(store);
    const served = await this.#served();
    const from = served.catalog.revision ?? consent.base;
    const before = isFirst ? this.#earlier().length : served.catalog.size;
    const removals = new Removals();
    // Where nothing is served yet, or only the rules are new, no commit takes anything away.
    const onStep = from === undefined || from === target ? undefined : removals.note;
    const followed = await this.#follow(target, { served, onStep });
    const { changes, paths, follows } = followed;
    const leftovers = isFirst ? this.#leftovers() : [];
    const prunes = [
      ...prunesOf(changes),
      ...leftovers.map(({ key }) => ({ key, path: undefined })),
    ];
    const after = this.catalog.size;
    const move = { head, from, to: target, follows, prunes, before, after, removals };
    if (!(await consent.admits(move))) {
      await followed.back();
      this.#doubtful = false;
      return false;
    }
    // A replay names every path that matters; looking at each object would find no other.
    const looked = store.pristine && !follows ? [] : changes;
    const notes = { ...this.#notes(looked, paths), ...consent.passedNotes(target) };
    const context = { kinds, store, time: clock.now() };
    if (store.pristine) fillStore(context, this.catalog, notes);
    else await this.#apply(context, { changes, notes, leftovers, isFirst });
    this.#doubtful = false;
    this.#shown = target;
    const milliseconds = performance.now() - started;
    observer.applied({ revision: target, source: 'push', changes, milliseconds });
    return true;
  }

  /** Readers see all of it at once; working it out lets them read meanwhile. */
  async #apply(
    context: FillingContext,
    of: { changes: readonly ObjectChange[]; notes: Notes; leftovers: Change[]; isFirst: boolean },
  ): Promise<void> {
    const { store } = context;
    const { changes, notes, leftovers, isFirst } = of;
    const own = await flatMapInSlices(changes, (change) => projectChange(context, change));
    if (isFirst) own.push(...leftovers);
    const projected = await this.#copies.completeInSlices(own, context.time);
    const remarks = await flatMapInSlices(remarksFor(store, projected, changes), (one) => [one]);
    await store.applyInSlices(projected, notes, remarks);
  }

  /** Where an accepted push leads; taken when the branch gets there, unless it went elsewhere. */
  expect(prepared: PreparedMove): void {
    this.#expected = prepared;
  }

  /** Leaves doubt behind until readers see the step or it was taken back. */
  async #follow(
    target: string,
    { served, onStep }: { served: Folded; onStep: ReplayContext['onStep'] },
  ): Promise<Followed> {
    const { repository, reader, under, observer } = this.#options;
    const context = { repository, reader, under, ...(onStep && { onStep }) };
    const wasDoubtful = this.#doubtful;
    this.#doubtful = true;
    const from = served.catalog.revision;
    const back = (): void => {
      this.#folded = served;
    };
    const expected = this.#expected;
    this.#expected = undefined;
    if (!wasDoubtful && expected?.from === from && expected !== undefined) {
      if ('commit' in expected && expected.commit.id === target) {
        return this.#fold(served, expected);
      }
      if ('folded' in expected && expected.folded.catalog.revision === target) {
        this.#folded = expected.folded;
        return { ...expected, back };
      }
    }
    if (from !== undefined && !wasDoubtful && (await repository.isAncestor(from, target))) {
      const view = served.view.clone();
      const extended = await extend(context, served, target);
      if (extended !== undefined) {
        const undo = (): void => {
          extended.undo();
          this.#folded = { catalog: served.catalog, view };
        };
        const { changes, paths } = extended;
        return { changes: netChanges(changes), paths, follows: true, back: undo };
      }
    }
    const started = performance.now();
    // What is in memory stays as it is, should this fail.
    this.#doubtful = wasDoubtful;
    const after = await replay(context, target);
    this.#doubtful = true;
    this.#folded = after;
    observer.replayed(from === undefined ? 'first start' : 'history', performance.now() - started);
    const changes = catalogDifference(served.catalog, after.catalog);
    const paths = [...notedPaths(served.catalog), ...notedPaths(after.catalog)];
    return {
      changes,
      paths,
      follows: false,
      back: () => {
        this.#folded = served;
        // Reading all of history again would tell nothing new.
        this.#expected = { from, folded: after, changes, paths, follows: false };
      },
    };
  }

  /** Takes the step that was tried when it was judged. */
  #fold(served: Folded, { catalog, trial, commit, files, view }: PreparedStep): Followed {
    const isTried = catalog === served.catalog;
    const { changes, undo } = isTried ? trial.take() : served.catalog.advance({ commit, files });
    this.#folded = { catalog: served.catalog, view };
    const back = (): void => {
      undo();
      this.#folded = served;
    };
    return { changes, paths: files.keys(), follows: true, back };
  }

  /** What an earlier run served under other rules and is no part of the platform any more. */
  #leftovers(): Extract<Change, { type: 'remove' }>[] {
    const gone = this.#earlier().filter((key) => this.catalog.object(key) === undefined);
    return gone.map((key) => ({ type: 'remove', key }));
  }

  /** What is in state that a manifest was once read for. */
  #earlier(): ObjectKey[] {
    const { store, kinds } = this.#options;
    return (
      kinds.kinds
        .flatMap(({ group, kind }) => store.list({ group, kind }).items)
        // What is being deleted is in no manifest any more and waits for its finalizers.
        .filter((stored) => !stored.terminating && !isKeptInState(stored))
        .map(({ key }) => key)
    );
  }

  /**
   * What readers see. In doubt that is in the notes, whatever became of the catalog in memory.
   */
  async #served(): Promise<Folded> {
    if (!this.#doubtful) return this.#folded;
    const { store, rules, under, repository } = this.#options;
    const kept = restore(store, rules);
    const view = new TreeView(under);
    await view.adopt(repository, kept?.ignoreBlob, kept?.sealing);
    return { catalog: kept?.catalog ?? new Catalog(''), view };
  }

  #notes(changes: readonly ObjectChange[], paths: Iterable<string>): Notes {
    return notesFor({
      catalog: this.catalog,
      changes,
      paths,
      noted: this.#noted,
      rules: this.#options.rules,
      ignoreBlob: this.view.ignoreBlob,
      sealing: this.view.sealing,
    });
  }
}

async function isHere(repository: Repository, commit: string): Promise<boolean> {
  return await repository.noteOf(commit).then(
    () => true,
    () => false,
  );
}
