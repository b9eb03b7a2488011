/** Changes of a push that cannot be merged with what came to the branch since. */
import {
  describeKey,
  type FieldPath,
  formatPath,
  type ObjectKey,
  shownPath,
} from '../../../apimachinery/index.ts';

export interface Conflict {
  /** On the branch, or in the push if the branch does not have it. */
  readonly path: string;
  /** Undefined: the file as a whole. */
  readonly key?: ObjectKey | undefined;
  readonly field?: FieldPath | undefined;
  /** As in "the branch changed it, and this push deletes it". */
  readonly why: string;
}

/** Subject of a conflict: `Team "payments": spec.displayName`, or the path. */
export function subjectOf({ path, key, field }: Conflict): string {
  if (key === undefined) return shownPath(path);
  const object = describeKey(key);
  return field === undefined || field.length === 0 ? object : `${object} ${formatPath(field)}`;
}
