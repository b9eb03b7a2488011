import { type FieldError, invalid } from '../../apimachinery/index.ts';
import type { Kind } from '../kind.ts';
import { dropEmptyMaps, immutableProblems } from './immutable-data.ts';
import { SECRET } from './secret.ts';

/** Type of the secrets in which Helm stores a release. */
export const RELEASE_TYPE = 'helm.sh/release.v1';

/** Secrets of the management API: releases of Helm and nothing else. */
export const RELEASE: Kind = {
  ...SECRET,
  canonicalize: (object) => {
    SECRET.canonicalize(object);
    dropEmptyMaps(object, ['data']);
  },
  validate: (object, old) => [
    ...(object['type'] === RELEASE_TYPE ? [] : [wrongType(object['type'])]),
    ...SECRET.validate(object, old),
    ...immutableProblems(object, old, ['data']),
  ],
};

function wrongType(type: unknown): FieldError {
  const remedy = 'secrets of other types are SharedSecrets (management.gitplane.dev/v1)';
  return invalid(['type'], type, `only ${RELEASE_TYPE} is stored here, for Helm; ${remedy}`);
}
