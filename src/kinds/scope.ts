/** `spec.scope` of keys and tokens (spec section 2.5). */
import {
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
} from '../apimachinery/field-error.ts';
import { type KubeObject, valueAt } from '../apimachinery/object.ts';
import type { Deprecation } from './deprecation.ts';
import { type RequestRule, requestRuleProblems } from './resource-patterns.ts';

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
  readonly rules?: readonly (RequestRule & { readonly cluster?: string })[];
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
