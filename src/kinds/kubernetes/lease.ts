/**
 * Lease: leader election among the replicas of a program. Clients write their leases every few
 * seconds; the daemon itself uses none of them.
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
  // Coordinated leader election is off, so these fields are dropped, as in Kubernetes.
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
