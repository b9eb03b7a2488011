/**
 * Leases: how the copies of a program agree on which of them leads. They are kept for clients, who
 * write them every few seconds; the daemon itself goes by none of them.
 */
import { type FieldError, invalid, type KubeObject, valueAt } from '../../apimachinery/index.ts';
import { AGE, textFrom } from '../columns.ts';
import { blankFields, defineKind, type Kind } from '../kind.ts';

export const LEASE: Kind = defineKind({
  group: 'coordination.k8s.io',
  kind: 'Lease',
  plural: 'leases',
  singular: 'lease',
  scope: 'Namespaced',
  storedIn: 'cluster',
  schema: 'lease',
  strategicMerge: true,
  createdByUpdate: true,
  columns: [
    {
      name: 'Holder',
      type: 'string',
      description: 'Who holds it.',
      ...textFrom(['spec', 'holderIdentity']),
    },
    AGE,
  ],
  ...blankFields({ spec: {} }),
  // Only a server that elects leaders itself makes use of these; Kubernetes drops them as well
  // unless it is told to be one.
  canonicalize: ({ spec }) => {
    delete spec?.['strategy'];
    delete spec?.['preferredHolder'];
  },
  validate: (object) => [
    ...atLeast(object, 'leaseDurationSeconds', { least: 1, words: 'must be greater than 0' }),
    ...atLeast(object, 'leaseTransitions', {
      least: 0,
      words: 'must be greater than or equal to 0',
    }),
  ],
});

function atLeast(
  object: KubeObject,
  field: string,
  { least, words }: { readonly least: number; readonly words: string },
): FieldError[] {
  const value = valueAt(object, ['spec', field]);
  if (typeof value !== 'number' || value >= least) return [];
  return [invalid(['spec', field], value, words)];
}
