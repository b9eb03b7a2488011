/** A commit as input of a catalog, and its result. */
import type { ObjectKey } from '../apimachinery/index.ts';
import type { CatalogObject } from './catalog-object.ts';
import type { FileEntry } from './file.ts';
import type { CommitPoint, IsAncestor } from './identity.ts';

/** A commit as files: the new contents of each changed path (undefined: it is removed). */
export interface Step {
  readonly commit: CommitPoint;
  readonly files: ReadonlyMap<string, FileEntry | undefined>;
  /** Set for a merge: the catalogs of its other parents. */
  readonly otherParents?: readonly OtherParent[];
  /** Keys that differ between parents, beyond those in `files`. */
  readonly alsoAffected?: readonly ObjectKey[];
  /** Decides, in a merge, which of two incarnations came first. */
  readonly isAncestor?: IsAncestor;
}

/** Methods of another parent's catalog that a merge uses. */
export interface OtherParent {
  object(key: ObjectKey): CatalogObject | undefined;
}

/** Change of one object in one step. */
export interface ObjectChange {
  readonly key: ObjectKey;
  readonly before: CatalogObject | undefined;
  readonly after: CatalogObject | undefined;
}

export interface StepResult {
  readonly changes: readonly ObjectChange[];
  /** Returns the catalog to its state before the step. Only the newest step can be undone. */
  undo(): void;
}

/** The step with a commit that references none of its changes: objects keep it as their birth. */
export function withPoint(step: Step): Step {
  const { id, committerTime } = step.commit;
  return { ...step, commit: { id, committerTime } };
}
