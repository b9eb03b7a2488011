import { invalid, type KubeObject } from '../../apimachinery/index.ts';
import { AGE } from '../columns.ts';
import { defineKind, type Kind } from '../kind.ts';
import { base64DataProblems, keysProblems } from '../secrets/secret-data.ts';
import { dropEmptyMaps, immutableProblems, keysOf } from './immutable-data.ts';

const DATA = ['data', 'binaryData'] as const;

/** ConfigMaps of tools. The platform stores them and reads none. */
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
  canonicalize: (object) => dropEmptyMaps(object, DATA),
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
    ...duplicateKeys(object).map((key) =>
      invalid(['data', key], key, 'duplicate of key present in binaryData'),
    ),
    ...immutableProblems(object, old, DATA),
  ],
});

function duplicateKeys(object: KubeObject): string[] {
  const keys = new Set(keysOf(object, 'data'));
  return keysOf(object, 'binaryData').filter((key) => keys.has(key));
}
