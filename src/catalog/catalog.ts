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
import type { FileEntry } from './file.ts';
import type { CommitPoint } from './identity.ts';
import { allProblems, problemsOf } from './problems.ts';
import { type ObjectChange, pointOf, type Step, type StepResult, type Trial } from './step.ts';
import { UndoLog } from './undo-log.ts';

export class Catalog {
  readonly rootCommit: string;
  #at: CommitPoint | undefined;
  #contents: Contents;

  constructor(rootCommit: string, from?: Catalog) {
    this.rootCommit = rootCommit;
    this.#at = from?.at;
    this.#contents = from === undefined ? Contents.of() : from.#contents.clone();
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

  clone(): Catalog {
    return new Catalog(this.rootCommit, this);
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
    return this.#contents.claims(key);
  }

  /** Every problem of every file, duplicates included, by path and line. */
  problems(): Problem[] {
    return allProblems(this.#contents);
  }

  /** Problems of the named files, and duplicates that involve them. */
  problemsOf(paths: Iterable<string>): Problem[] {
    return runAtOnce(problemsOf(this.#contents, paths));
  }

  /** Loads the persisted state of an earlier process, without history. For `restore.ts` only. */
  load(at: CommitPoint, files: Iterable<FileEntry>, objects: Iterable<CatalogObject>): void {
    this.#at = at;
    this.#contents.load(files, objects);
  }

  /** Moves the catalog to the revision after `step.commit`. */
  advance(step: Step): StepResult {
    const undo = new UndoLog();
    const changes = runAtOnce(
      applyCommit({ rootCommit: this.rootCommit, contents: this.#contents, undo }, step),
    );
    return this.#taken(step, changes, undo);
  }

  /**
   * Tries a step, yielding to the event loop; readers do not see it. The step must not be a merge.
   */
  async tryYielding(step: Step): Promise<Trial> {
    const { rootCommit } = this;
    const { contents, sink } = this.#contents.layered();
    const changes = await runYielding(
      applyCommit({ rootCommit, contents, undo: new UndoLog() }, step),
    );
    return {
      changes,
      growth: contents.objects.size - this.size,
      problemsOf: (paths) => runYielding(problemsOf(contents, paths)),
      take: () => {
        const undo = new UndoLog();
        sink(step, undo);
        return this.#taken(step, changes, undo);
      },
    };
  }

  #taken({ commit }: Step, changes: readonly ObjectChange[], undo: UndoLog): StepResult {
    const at = this.#at;
    this.#at = pointOf(commit);
    return {
      changes,
      undo: () => {
        undo.run();
        this.#at = at;
      },
    };
  }

  /** Like `advance`, for a step that is never undone and whose changes are not needed. */
  absorb(step: Step): void {
    const { rootCommit } = this;
    const contents = this.#contents;
    const first = contents.isEmpty ? firstContents(rootCommit, step) : undefined;
    if (first === undefined) runAtOnce(applyCommit({ rootCommit, contents }, step));
    else this.#contents = first;
    this.#at = pointOf(step.commit);
  }
}
