/** `spec.scope` of keys and tokens (spec section 2.5). */
import {
  type FieldError,
  type FieldPath,
  invalid,
  type KubeObject,
  notSupported,
  valueAt,
} from '../../apimachinery/index.ts';
import type { Deprecation } from '../deprecation.ts';
import { type RequestRule, requestRuleProblems } from './request-rules.ts';

/** The prepared sets of permissions that `scope.roles[].role` may name. */
const SCOPE_ROLES = [
  'agent',
  'virtual-cluster',
  'network-peer',
  'platform-cli',
  'workspace',
  'metrics-writer',
  'metrics-reader',
] as const;

interface Scope {
  readonly roles?: readonly { readonly role: string }[];
  readonly rules?: readonly (RequestRule & {
    readonly verbs?: readonly string[];
    readonly cluster?: string;
  })[];
  readonly allowPlatformCli?: boolean;
}

export const SCOPE_DEPRECATIONS: readonly Deprecation[] = [
  {
    path: ['spec', 'scope', 'rules'],
    remedy: 'use spec.scope.projects, spec.scope.spaces and spec.scope.virtualClusters',
  },
  {
    path: ['spec', 'scope', 'allowPlatformCli'],
    remedy: 'use an entry of spec.scope.roles with role: platform-cli',
  },
];

/** Problems of `spec.scope`; an absent scope has none and restricts nothing. */
export function scopeProblems(object: KubeObject): FieldError[] {
  const path = ['spec', 'scope'];
  const scope = valueAt(object, path) as Scope | undefined;
  if (scope === undefined) return [];
  if (isEmpty(scope)) {
    return [
      invalid(
        path,
        scope,
        'must not be empty: leave the scope out for no restriction, or name at least one role, project, space, virtual cluster or cluster',
      ),
    ];
  }
  return [
    ...roleProblems(scope, [...path, 'roles']),
    ...(scope.rules ?? []).flatMap((rule, index) =>
      requestRuleProblems(rule, [...path, 'rules', index]),
    ),
  ];
}

/** What a scope says and does not mean: a `*` that is a name, an entry that does not count. */
export function scopeWarnings(object: KubeObject): string[] {
  const { rules = [], roles = [] } = (valueAt(object, ['spec', 'scope']) ?? {}) as Scope;
  const stars = rules.flatMap((rule, index) => {
    const lists = (['verbs', 'resourceNames', 'namespaces'] as const).filter((field) =>
      (rule[field] ?? []).includes('*'),
    );
    const groups = (rule.resources ?? []).some(({ group }) => group === '*') ? ['resources'] : [];
    return [...lists, ...groups].map(
      (field) =>
        `spec.scope.rules[${index}].${field}: "*" stands for itself here; leave it out to mean all`,
    );
  });
  const names = roles.map(({ role }) => role);
  const repeated = [...names.entries()].filter(([index, role]) => names.indexOf(role) < index);
  return [
    ...stars,
    ...repeated.map(
      ([index, role]) =>
        `spec.scope.roles[${index}]: the first entry with role ${JSON.stringify(role)} counts`,
    ),
  ];
}

/** It would be a guess whether "nothing is named" means everything or nothing. */
function isEmpty(scope: Scope): boolean {
  return Object.values(scope).every(
    (value) => value === false || (Array.isArray(value) && value.length === 0),
  );
}

function roleProblems(scope: Scope, path: FieldPath): FieldError[] {
  return (scope.roles ?? []).flatMap(({ role }, index) =>
    (SCOPE_ROLES as readonly string[]).includes(role)
      ? []
      : notSupported([...path, index, 'role'], role, SCOPE_ROLES),
  );
}
