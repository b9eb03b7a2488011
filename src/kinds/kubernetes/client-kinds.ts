/**
 * Kinds of Kubernetes that the platform keeps for its clients, and goes by none of them: leases, the releases
 * of Helm, and ConfigMaps of tools. They are state, and in no commit.
 */
import {
  type FieldError,
  forbidden,
  invalid,
  isRecord,
  jsonEqual,
  type KubeObject,
} from '../../apimachinery/index.ts';
import { AGE } from '../columns.ts';
import { defineKind, type Kind } from '../kind.ts';
import { base64DataProblems, keysProblems } from '../secrets/secret-data.ts';
import { type KindTable, tableOf } from '../table.ts';
import { SECRET } from './cluster-kinds.ts';
import { LEASE } from './lease.ts';

/** Of the secrets in which Helm keeps a release. */
export const RELEASE_TYPE = 'helm.sh/release.v1';

export const RELEASE: Kind = {
  ...SECRET,
  canonicalize: (object) => {
    SECRET.canonicalize(object);
    dropEmpty(object, ['data']);
  },
  validate: (object, old) => [
    ...(object['type'] === RELEASE_TYPE ? [] : [wrongType(object['type'])]),
    ...SECRET.validate(object, old),
    ...immutableProblems(object, old, ['data']),
  ],
};

export const CONFIG_MAP: Kind = defineKind({
  group: '',
  kind: 'ConfigMap',
  plural: 'configmaps',
  singular: 'configmap',
  shortNames: ['cm'],
  scope: 'Namespaced',
  storedIn: 'cluster',
  schema: 'configmap',
  allowUnconditionalUpdate: true,
  strategicMerge: true,
  canonicalize: (object) => dropEmpty(object, DATA),
  columns: [
    {
      name: 'Data',
      type: 'integer',
      description: 'Number of keys in the data.',
      value: (object) => DATA.reduce((keys, field) => keys + keysOf(object, field).length, 0),
    },
    AGE,
  ],
  validate: (object, old) => [
    ...keysProblems(object, ['data']),
    ...base64DataProblems(object, ['binaryData']),
    ...keysOf(object, 'binaryData')
      .filter((key) => keysOf(object, 'data').includes(key))
      .map((key) => invalid(['data', key], key, 'duplicate of key present in binaryData')),
    ...immutableProblems(object, old, DATA),
  ],
});

export const CLIENT_KINDS: KindTable = tableOf([LEASE, RELEASE, CONFIG_MAP]);

const DATA = ['data', 'binaryData'] as const;

/** Types of Go have no empty map. Mutates `object`. */
function dropEmpty(object: KubeObject, fields: readonly string[]): void {
  for (const field of fields) {
    if (isRecord(object[field]) && keysOf(object, field).length === 0) delete object[field];
  }
}

function keysOf(object: KubeObject, field: string): string[] {
  const data = object[field];
  return isRecord(data) ? Object.keys(data) : [];
}

function wrongType(type: unknown): FieldError {
  const remedy = 'secrets of other types are SharedSecrets (management.gitplane.dev/v1)';
  return invalid(['type'], type, `only ${RELEASE_TYPE} is kept here, for Helm; ${remedy}`);
}

/** Data that was called immutable stays, and so does the word. */
function immutableProblems(
  object: KubeObject,
  old: KubeObject | undefined,
  fields: readonly string[],
): FieldError[] {
  if (old?.['immutable'] !== true) return [];
  const words = 'field is immutable when `immutable` is set';
  const isOpen = object['immutable'] === true ? [] : ['immutable'];
  const changed = fields.filter((field) => !jsonEqual(object[field], old[field]));
  return [...isOpen, ...changed].map((field) => forbidden([field], words));
}
