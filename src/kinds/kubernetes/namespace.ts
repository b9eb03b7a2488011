import { dnsLabelProblems } from '../../apimachinery/index.ts';
import { AGE, textColumn } from '../columns.ts';
import { defineKind, type Kind, READ_VERBS } from '../kind.ts';
import { CORE } from './core.ts';

/** Namespace of core/v1, as the clusters of this platform have it. */
export const NAMESPACE: Kind = defineKind({
  ...CORE,
  kind: 'Namespace',
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  scope: 'Cluster',
  schema: 'namespace',
  nameRule: dnsLabelProblems,
  columns: [
    textColumn('Status', 'Phase of the namespace.', ({ metadata }) =>
      metadata.deletionTimestamp === undefined ? 'Active' : 'Terminating',
    ),
    AGE,
  ],
  deriveStatus: () => ({ phase: 'Active' }),
});

/** Namespaces of the management API. They follow from the objects in them, so no client writes them. */
export const CORE_NAMESPACE: Kind = { ...NAMESPACE, verbs: READ_VERBS };
