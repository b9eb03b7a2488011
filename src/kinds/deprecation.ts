/** Warnings about deprecated fields (spec section 9.3). */
import { type KubeObject, valueAt } from '../apimachinery/index.ts';

export interface Deprecation {
  readonly path: readonly string[];
  /** The remedy: "use spec.identity". */
  readonly remedy: string;
}

/** Deprecated in every kind. The server no longer fills it. */
const SELF_LINK: Deprecation = {
  path: ['metadata', 'selfLink'],
  remedy: 'leave it out, nothing fills or reads it',
};

/** One warning per field that is set in `root`. */
export function deprecationWarnings(root: unknown, fields: readonly Deprecation[]): string[] {
  return fields
    .filter(({ path }) => isSet(valueAt(root, path)))
    .map(({ path, remedy }) => `${path.join('.')} is deprecated; ${remedy}`);
}

/** The `warnings` of a kind: its own deprecated fields, and those of every kind. */
export function deprecations(fields: readonly Deprecation[]): (object: KubeObject) => string[] {
  const all = [SELF_LINK, ...fields];
  return (object) => deprecationWarnings(object, all);
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
