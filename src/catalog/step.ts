/** A commit as a catalog takes it, and what it comes to there. */
import type { ObjectKey } from '../apimachinery/index.ts';
import type { Problem } from '../manifests/index.ts';
import type { CatalogObject } from './catalog-object.ts';
import type { FileEntry } from './file.ts';
import type { CommitPoint, IsAncestor } from './identity.ts';

/** A commit, seen as files: what each changed path holds now (undefined: it is gone). */
export interface Step {
  readonly commit: CommitPoint;
  readonly files: ReadonlyMap<string, FileEntry | undefined>;
  /** Where the commit is a merge: the catalogs of its other parents. */
  readonly otherParents?: readonly OtherParent[];
  /** Keys that any parent sees differently, beyond those in `files`. */
  readonly alsoTouched?: readonly ObjectKey[];
  /** Tells which of two lives of an object came first, where the commit is a merge. */
  readonly isAncestor?: IsAncestor;
}

/** What is asked of the catalog of another parent. */
export interface OtherParent {
  object(key: ObjectKey): CatalogObject | undefined;
}

/** What one step changed about an object. */
export interface ObjectChange {
  readonly key: ObjectKey;
  readonly before: CatalogObject | undefined;
  readonly after: CatalogObject | undefined;
}

export interface StepResult {
  readonly changes: readonly ObjectChange[];
  /** Puts the catalog back to where it was before the step. Only the newest step can be undone. */
  undo(): void;
}

/** What a step would come to. */
export interface Trial {
  readonly changes: readonly ObjectChange[];
  /** Objects more than before. */
  readonly growth: number;
  /** As `Catalog.problemsOf`, after the step. */
  problemsOf(paths: Iterable<string>): Promise<Problem[]>;
  /** Takes the step. The catalog must be at the revision that it was tried on. */
  take(): StepResult;
}

/** A commit may carry all that it changed; what is kept of it must not. */
export function pointOf({ id, committerTime }: CommitPoint): CommitPoint {
  return { id, committerTime };
}
