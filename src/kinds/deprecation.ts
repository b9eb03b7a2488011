/** Fields that still work and should go (spec section 9.3): what a writer is told about them. */
import { type KubeObject, valueAt } from '../apimachinery/index.ts';

export interface Deprecation {
  readonly path: readonly string[];
  /** The remedy: "use spec.identity". */
  readonly remedy: string;
}

/** Deprecated in every kind; the server populates it no longer. */
const SELF_LINK: Deprecation = {
  path: ['metadata', 'selfLink'],
  remedy: 'leave it out, nothing fills or reads it',
};

/** The sentence for each of `fields` that is set in `root`; `prefix` says what `root` is. */
export function deprecationWarnings(
  root: unknown,
  fields: readonly Deprecation[],
  prefix = '',
): string[] {
  return fields
    .filter(({ path }) => isSet(valueAt(root, path)))
    .map(({ path, remedy }) => `${prefix}${path.join('.')} is deprecated; ${remedy}`);
}

/** Warnings of a kind with these deprecated fields, and of what is deprecated in every kind. */
export function deprecations(fields: readonly Deprecation[]): (object: KubeObject) => string[] {
  const all = [SELF_LINK, ...fields];
  return (object) => deprecationWarnings(object, all);
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
