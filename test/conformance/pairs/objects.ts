/** Kinds of which the fuzz writes objects, each with bodies that are good. */
import type { Random } from '../../support/random.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape, some of them broken on purpose
export type Body = any;

export interface Profile {
  readonly kind: string;
  readonly apiVersion: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Everything of an object beside apiVersion, kind and metadata. */
  content(random: Random): Record<string, unknown>;
  /** A field of the content and values that suit it, as a path. */
  readonly fields: readonly {
    readonly path: readonly string[];
    readonly values: readonly unknown[];
  }[];
}

const TEXTS = ['Data', 'Other', 'ä "quoted"', ''];
const OURS = 'management.gitplane.dev/v1';
const RBAC = 'rbac.authorization.k8s.io/v1';

const RULES = [
  { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
  { apiGroups: ['apps'], resources: ['*'], verbs: ['*'], resourceNames: ['one'] },
];
const SUBJECTS = [
  { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' },
  { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'crew' },
  { kind: 'ServiceAccount', name: 'robot', namespace: 'default' },
];
const RULE_FIELDS = [{ path: ['rules'], values: [RULES, RULES.slice(1), [], [{ verbs: [] }]] }];
const BINDING_FIELDS = [
  { path: ['subjects'], values: [SUBJECTS, SUBJECTS.slice(2), [], [{ kind: 'User' }]] },
];

const some = (random: Random, items: readonly unknown[]): unknown[] =>
  items.filter(() => random.chance(0.6));

const binding = (kind: string): Profile['content'] => {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name: 'reader' };
  return (random) => ({ roleRef, subjects: some(random, SUBJECTS) });
};

export const PROFILES: readonly Profile[] = [
  {
    kind: 'Team',
    apiVersion: OURS,
    plural: 'teams',
    namespaced: false,
    content: (random) => ({
      spec: { displayName: random.pick(TEXTS), users: some(random, ['ada', 'bob', 'cleo']) },
    }),
    fields: [
      { path: ['spec', 'displayName'], values: TEXTS },
      { path: ['spec', 'users'], values: [['ada'], ['bob', 'ada'], []] },
      { path: ['spec', 'description'], values: TEXTS },
    ],
  },
  {
    kind: 'SharedSecret',
    apiVersion: OURS,
    plural: 'sharedsecrets',
    namespaced: true,
    content: (random) => ({ spec: { displayName: random.pick(TEXTS), data: { key: 'dmFsdWU=' } } }),
    fields: [
      { path: ['spec', 'displayName'], values: TEXTS },
      { path: ['spec', 'data'], values: [{ key: 'b3RoZXI=' }, { other: 'dmFsdWU=' }, {}] },
      { path: ['spec', 'data', 'key'], values: ['b3RoZXI=', '', '%'] },
    ],
  },
  {
    kind: 'User',
    apiVersion: OURS,
    plural: 'users',
    namespaced: false,
    content: (random) => ({ spec: { displayName: random.pick(TEXTS), groups: ['crew'] } }),
    fields: [
      { path: ['spec', 'displayName'], values: TEXTS },
      { path: ['spec', 'groups'], values: [['crew', 'night'], []] },
      { path: ['spec', 'disabled'], values: [true, false] },
    ],
  },
  {
    kind: 'Lease',
    apiVersion: 'coordination.k8s.io/v1',
    plural: 'leases',
    namespaced: true,
    content: () => ({ spec: { holderIdentity: 'one', leaseDurationSeconds: 15 } }),
    fields: [
      { path: ['spec', 'holderIdentity'], values: ['two', ''] },
      { path: ['spec', 'leaseDurationSeconds'], values: [30, 0, -1] },
      { path: ['spec', 'leaseTransitions'], values: [1, 0] },
      { path: ['spec', 'renewTime'], values: ['2026-11-22T08:00:00.123456Z', 'now'] },
    ],
  },
  {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    plural: 'configmaps',
    namespaced: true,
    content: () => ({ data: { key: 'value' } }),
    fields: [
      { path: ['data'], values: [{ other: 'x' }, {}, { 'a b': 'x' }] },
      { path: ['data', 'key'], values: ['changed', ''] },
      { path: ['binaryData'], values: [{ raw: 'AAE=' }, { raw: '%' }] },
      { path: ['immutable'], values: [true, false] },
    ],
  },
  {
    kind: 'Secret',
    apiVersion: 'v1',
    plural: 'secrets',
    namespaced: true,
    content: () => ({ type: 'helm.sh/release.v1', data: { release: 'SDRzSQ==' } }),
    fields: [
      { path: ['data'], values: [{ release: 'AAE=' }, { 'a b': 'AAE=' }, { release: '%' }] },
      { path: ['stringData'], values: [{ release: 'text' }] },
      { path: ['immutable'], values: [true] },
    ],
  },
  {
    kind: 'Role',
    apiVersion: RBAC,
    plural: 'roles',
    namespaced: true,
    content: (random) => ({ rules: some(random, RULES) }),
    fields: RULE_FIELDS,
  },
  {
    kind: 'ClusterRole',
    apiVersion: RBAC,
    plural: 'clusterroles',
    namespaced: false,
    content: (random) => ({ rules: some(random, RULES) }),
    fields: [
      ...RULE_FIELDS,
      {
        path: ['aggregationRule'],
        values: [{ clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }, {}],
      },
    ],
  },
  {
    kind: 'RoleBinding',
    apiVersion: RBAC,
    plural: 'rolebindings',
    namespaced: true,
    content: binding('Role'),
    fields: BINDING_FIELDS,
  },
  {
    kind: 'ClusterRoleBinding',
    apiVersion: RBAC,
    plural: 'clusterrolebindings',
    namespaced: false,
    content: binding('ClusterRole'),
    fields: BINDING_FIELDS,
  },
];

export function groupPath({ apiVersion }: Profile): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}
