/** `spec.scope` of keys and tokens (spec section 2.5). */
import {
  type FieldError,
  type FieldPath,
  invalid,
  type KubeObject,
  mapAt,
  notSupported,
  valueAt,
} from '../../apimachinery/index.ts';
import type { Deprecation } from '../deprecation.ts';
import { type RequestRule, requestRuleProblems } from './request-rules.ts';

/** Predefined sets of permissions, for `scope.roles[].role`. */
const SCOPE_ROLES: readonly string[] = [
  'agent',
  'virtual-cluster',
  'network-peer',
  'platform-cli',
  'workspace',
  'metrics-writer',
  'metrics-reader',
];

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

/** Problems of `spec.scope`. An absent scope restricts nothing. */
export function scopeProblems(object: KubeObject): FieldError[] {
  const path = ['spec', 'scope'];
  if (valueAt(object, path) === undefined) return [];
  const scope = mapAt<Scope>(object, path);
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

/** Warnings about a `*` that is taken literally, and about entries without effect. */
export function scopeWarnings(object: KubeObject): string[] {
  const { rules = [], roles = [] } = mapAt<Scope>(object, ['spec', 'scope']);
  const stars = rules.flatMap((rule, index) => {
    const lists = (['verbs', 'resourceNames', 'namespaces'] as const).filter((field) =>
      (rule[field] ?? []).includes('*'),
    );
    const groups = (rule.resources ?? []).some(({ group }) => group === '*') ? ['resources'] : [];
    return [...lists, ...groups].map(
      (field) =>
        `spec.scope.rules[${index}].${field}: "*" is literal here; leave it out to mean all`,
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

/** An empty scope is ambiguous: it could mean everything or nothing. */
function isEmpty(scope: Scope): boolean {
  return Object.values(scope).every(
    (value) => value === false || (Array.isArray(value) && value.length === 0),
  );
}

function roleProblems(scope: Scope, path: FieldPath): FieldError[] {
  return (scope.roles ?? []).flatMap(({ role }, index) =>
    SCOPE_ROLES.includes(role) ? [] : notSupported([...path, index, 'role'], role, SCOPE_ROLES),
  );
}
