import { isRecord } from '../../apimachinery/index.ts';
import { AGE, textAt, textColumn } from '../columns.ts';
import { defineKind, type Kind } from '../kind.ts';
import { secretPathsOf } from '../schema/schema-files.ts';
import { base64DataProblems } from '../secrets/secret-data.ts';
import { CORE } from './core.ts';

/** Secret of core/v1, as the clusters of this platform have it. */
export const SECRET: Kind = defineKind({
  ...CORE,
  kind: 'Secret',
  plural: 'secrets',
  singular: 'secret',
  scope: 'Namespaced',
  schema: 'secret',
  secretPaths: secretPathsOf('secret'),
  columns: [
    textColumn('Type', 'What the secret is for.', (object) => textAt(object, ['type'])),
    {
      name: 'Data',
      type: 'integer',
      description: 'Number of keys in the data.',
      value: ({ data }) => (isRecord(data) ? Object.keys(data).length : 0),
    },
    AGE,
  ],
  canonicalize: (object) => {
    const { stringData, data } = object;
    if (!isRecord(stringData)) return;
    const encoded = Object.entries(stringData).map(([key, value]) => [
      key,
      Buffer.from(String(value)).toString('base64'),
    ]);
    object['data'] = { ...(isRecord(data) ? data : {}), ...Object.fromEntries(encoded) };
    delete object['stringData'];
  },
  setDefaults: (object) => {
    object['type'] ??= 'Opaque';
  },
  validate: (object) => base64DataProblems(object, ['data']),
});
