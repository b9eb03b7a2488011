/**
 * The desired state at one revision: the place, the incarnation and the last good manifest of each
 * object. A pure fold over commits: independent of clock, store and order of arrival (invariants 5,
 * 7, 9, 12).
 */
import { type ObjectKey, runAtOnce, runYielding } from '../apimachinery/index.ts';
import type { Problem } from '../manifests/index.ts';
import { applyCommit, firstContents } from './apply-commit.ts';
import type { CatalogObject, Place } from './catalog-object.ts';
import { Contents } from './contents.ts';
import type { Difference } from './difference.ts';
import { type FileEntry, unplacedDocuments } from './file.ts';
import type { Footprint } from './footprint.ts';
import type { CommitPoint } from './identity.ts';
import { allProblems, problemsOf } from './problems.ts';
import { childrenOf, type Hold, RecentSteps, type SideStep } from './recent-steps.ts';
import { type ObjectChange, type Step, type StepResult, withPoint } from './step.ts';
import { UndoLog } from './undo-log.ts';

/** A catalog at one revision, while the one below moves on. */
export interface PinnedCatalog {
  readonly catalog: Catalog;
  /** Files and objects that have changed since. */
  changed(): Footprint;
  /** The catalog is not used any more. */
  release(): void;
}

/** The line that a catalog is on, up to a step. */
interface Line {
  readonly recent: RecentSteps;
  /** Undefined: the catalog moves on with the line. */
  readonly step?: number;
  /** Of a pin. */
  readonly hold?: Hold;
}

export class Catalog {
  readonly rootCommit: string;
  #at: CommitPoint | undefined;
  #contents = Contents.of();
  #line: Line = { recent: new RecentSteps() };

  constructor(rootCommit: string) {
    this.rootCommit = rootCommit;
  }

  get revision(): string | undefined {
    return this.#at?.id;
  }

  /** The commit of the catalog. */
  get at(): CommitPoint | undefined {
    return this.#at;
  }

  get size(): number {
    return this.#contents.objects.size;
  }

  /** A layer on top of this catalog, which must not change while the layer is in use. */
  fork(): Catalog {
    return this.#layer(this.#contents, this.#at, this.#step);
  }

  /** This catalog as it is now, while it moves on. The cost follows what is read of it. */
  pin(): PinnedCatalog {
    const { recent } = this.#line;
    const hold = recent.hold();
    const { step } = hold;
    const catalog = new Catalog(this.rootCommit);
    catalog.#at = this.#at;
    catalog.#contents = this.#contents.before(step, recent.chains);
    catalog.#line = { recent, step, hold };
    const changed = (): Footprint => this.#contents.footprintOf(recent.changedSince(step));
    return { catalog, changed, release: () => recent.release(hold) };
  }

  /** True if the layer, or the pin that it is on, is on this catalog. */
  isBelow(layer: Catalog): boolean {
    return this.#contents === layer.#contents.bottom;
  }

  /** Entries that a layer changed; see `Contents.footprint`. */
  footprint(): Footprint {
    return this.#contents.footprint();
  }

  /** Number of the step to come on the line. */
  get #step(): number {
    return this.#line.step ?? this.#line.recent.next;
  }

  #layer(below: Contents, at: CommitPoint | undefined, step: number): Catalog {
    const layer = new Catalog(this.rootCommit);
    layer.#at = at;
    layer.#contents = below.layered();
    const { recent, hold } = this.#line;
    layer.#line = { recent, step, ...(hold && { hold }) };
    return layer;
  }

  /**
   * A layer with the catalog at a recent commit: an earlier revision of this catalog, or a commit
   * that came with a merge. Undefined: the commit is not recent.
   */
  async viewOf(commit: string): Promise<Catalog | undefined> {
    if (commit === this.revision) return this.fork();
    const { recent, hold } = this.#line;
    const past = recent.stepAfter(commit, this.#step);
    if (past !== undefined) {
      const { step, at } = past;
      if (hold !== undefined) hold.step = Math.min(hold.step, step);
      return this.#layer(this.#contents.bottom.before(step, recent.chains), at, step);
    }
    const views = new Map<string, Catalog>();
    const sides = recent.sidesTo(commit);
    const children = childrenOf(sides);
    for (const side of sides) {
      const parents = side.parents.map((id) => views.get(id) ?? this.viewOf(id));
      const [into, ...others] = await Promise.all(parents);
      if (into === undefined || others.includes(undefined)) return undefined;
      // A layer for each of thousands of commits in a row would be slow to read through.
      const isShared = (children.get(side.parents[0] ?? '') ?? 0) > 1;
      const view = isShared ? into.fork() : into;
      const otherParents = others.filter((other) => other !== undefined);
      await view.advanceYielding({ ...side, ...(side.merge && { ...side.merge, otherParents }) });
      views.set(side.commit.id, view);
    }
    return views.get(commit);
  }

  /**
   * Keys of objects that a merge into this layer may change, beyond those of the changed files.
   * Undefined: they are not known.
   */
  affectedByMerge(other: Catalog): ObjectKey[] | undefined {
    if (this.#contents.bottom !== other.#contents.bottom) return undefined;
    const { recent } = this.#line;
    const between =
      other.#step <= this.#step
        ? recent.notable(other.#step, this.#step)
        : this.#contents.bottom.keysIn(recent.changedSince(this.#step));
    return [...between, ...this.#contents.keysDifferingFrom(other.#contents)];
  }

  /**
   * Takes over everything that a layer changed, and remembers the commits that it came with. The layer may
   * be on a pin, if nothing in its footprint has changed since.
   */
  adopt(fork: Catalog, sides: readonly SideStep[], at = fork.#at): () => void {
    const undo = new UndoLog();
    fork.#contents.sink(undo);
    this.#line.recent.addSides(sides);
    return this.#moved(at, undo);
  }

  object(key: ObjectKey): CatalogObject | undefined {
    return this.#contents.objects.get(key);
  }

  objects(): IterableIterator<CatalogObject> {
    return this.#contents.objects.values();
  }

  /** Path for a file: the existing path that differs only in case, if there is one. */
  placeOf(path: string): string {
    const { cases, files } = this.#contents;
    return cases.twinOf(path, (other) => files.has(other)) ?? path;
  }

  file(path: string): FileEntry | undefined {
    return this.#contents.files.get(path);
  }

  files(): IterableIterator<FileEntry> {
    return this.#contents.files.values();
  }

  /**
   * Every document that names the key. More than one is a mistake that is reported at each place.
   */
  claims(key: ObjectKey): readonly Place[] {
    return [...this.#contents.claims(key)];
  }

  /** Key of the document that starts at the nearest line above a line of a file. */
  keyAt(path: string, line: number): ObjectKey | undefined {
    const file = this.file(path);
    return file && unplacedDocuments(file).findLast((one) => one.line <= line)?.key;
  }

  /** Every problem of every file, duplicates included, by path and line. */
  problems(): Problem[] {
    return runAtOnce(allProblems(this.#contents));
  }

  /** Like `problems`, yielding to the event loop. Only for catalogs that do not change meanwhile. */
  problemsYielding(): Promise<Problem[]> {
    return runYielding(allProblems(this.#contents));
  }

  /** Problems of the named files, and duplicates that involve them. */
  problemsOf(paths: Iterable<string>): Problem[] {
    return runAtOnce(problemsOf(this.#contents, paths));
  }

  /** Like `problemsOf`, yielding to the event loop. */
  problemsOfYielding(paths: Iterable<string>): Promise<Problem[]> {
    return runYielding(problemsOf(this.#contents, paths));
  }

  /** Loads the persisted state of an earlier process, without history. For `restore.ts` only. */
  load(at: CommitPoint, files: Iterable<FileEntry>, objects: Iterable<CatalogObject>): void {
    this.#at = at;
    this.#contents.load(files, objects);
  }

  /** Moves the catalog to the revision after `step.commit`. */
  advance(step: Step): StepResult {
    const undo = new UndoLog();
    const own = withPoint(step);
    const changes = runAtOnce(
      applyCommit({ rootCommit: this.rootCommit, contents: this.#contents, undo }, own),
    );
    return { changes, undo: this.#moved(own.commit, undo) };
  }

  /**
   * Like `advance`, yielding to the event loop. Only for layers that no reader sees, on a catalog that
   * does not change meanwhile.
   */
  async advanceYielding(step: Step): Promise<StepResult> {
    const undo = new UndoLog();
    const own = withPoint(step);
    const changes = await runYielding(
      applyCommit({ rootCommit: this.rootCommit, contents: this.#contents, undo }, own),
    );
    return { changes, undo: this.#moved(own.commit, undo) };
  }

  /** Returns a function that reverts the move. */
  #moved(to: CommitPoint | undefined, undo: UndoLog): () => void {
    const before = this.#at;
    this.#at = to;
    this.#record(before, undo);
    return () => {
      // A step like any other, for those who have read the catalog meanwhile.
      this.#record(this.#at, undo.run());
      this.#at = before;
    };
  }

  /** Layers are not on the line. */
  #record(before: CommitPoint | undefined, undo: UndoLog): void {
    const { recent, step } = this.#line;
    if (step !== undefined) return;
    undo.trim();
    recent.add({ before, undo, notable: this.#contents.notableIn(undo.entries) });
  }

  /**
   * Like `advance`, for a step that is not undone. Returns the changes if they are recorded. Yields between
   * parts, so that the caller can yield to the event loop.
   */
  *absorb(of: Step, record?: Difference): Generator<void, readonly ObjectChange[]> {
    const { rootCommit } = this;
    const step = withPoint(of);
    const contents = this.#contents;
    const isFirst = contents.isEmpty && record === undefined;
    const first = isFirst ? firstContents(rootCommit, step) : undefined;
    if (first !== undefined) this.#contents = first;
    this.#at = step.commit;
    if (first !== undefined) return [];
    return yield* applyCommit({ rootCommit, contents, ...(record && { undo: record }) }, step);
  }

  /** An empty difference, to be filled by the next `absorb`. */
  difference(): Difference {
    return this.#contents.difference();
  }

  /** Moves to another version, and makes the difference the way back. */
  *exchange(difference: Difference, at: CommitPoint | undefined): Generator<void> {
    yield* difference.exchange();
    this.#at = at;
  }
}
