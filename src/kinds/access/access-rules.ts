/** Owners and access rules (spec section 2.3), shared by secrets, teams and users. */
import {
  dnsSubdomainProblems,
  type FieldError,
  type FieldPath,
  invalid,
  type KubeObject,
  listAt,
  mapAt,
} from '../../apimachinery/index.ts';

/** An entry of `spec.access` that passed its schema. `*` matches all in every list. */
export interface AccessRule {
  readonly name?: string;
  readonly verbs: readonly string[];
  readonly subresources?: readonly string[];
  readonly users?: readonly string[];
  readonly teams?: readonly string[];
}

export function accessRulesOf(object: KubeObject): readonly AccessRule[] {
  return listAt<AccessRule>(object, ['spec', 'access']);
}

/** Problems of `spec.owner` and `spec.access` that the schema cannot express. */
export function ownershipProblems(object: KubeObject): FieldError[] {
  const owner = mapAt<{ user?: string; team?: string }>(object, ['spec', 'owner']);
  const path = ['spec', 'owner'];
  return [
    ...(owner.user ? userNameProblems([...path, 'user'], owner.user) : []),
    ...(owner.team ? teamNameProblems([...path, 'team'], owner.team) : []),
    ...accessRulesOf(object).flatMap(ruleProblems),
  ];
}

function ruleProblems(rule: AccessRule, index: number): FieldError[] {
  const path = ['spec', 'access', index];
  return [
    ...nameListProblems([...path, 'users'], rule.users, userNameProblems),
    ...nameListProblems([...path, 'teams'], rule.teams, teamNameProblems),
    ...(rule.subresources ?? []).flatMap((name, at) =>
      /^(\*|[a-z][a-z-]*)$/.test(name)
        ? []
        : invalid(
            [...path, 'subresources', at],
            name,
            'must be the name of a subresource, as in "accesskeys", or "*"; the kind is that of the object itself',
          ),
    ),
  ];
}

/** Subresources without rights of their own, and the verb on the object that allows them (see `rightOnObject`). */
const WITHOUT_OWN_RIGHTS: Readonly<Record<string, string>> = {
  status: '"get" on the object',
  history: '"get" on the object',
  rollback: '"get" and "update" on the object',
};

/**
 * Entries of `spec.access` that name a subresource without rights of its own. Entries that `old` has
 * too stay valid.
 */
export function ineffectiveSubresources(object: KubeObject, old?: KubeObject): FieldError[] {
  const before = new Set(old === undefined ? [] : accessRulesOf(old).flatMap(subresourcesOf));
  return accessRulesOf(object).flatMap((rule, index) =>
    subresourcesOf(rule).flatMap((name, at) => {
      const right = Object.hasOwn(WITHOUT_OWN_RIGHTS, name) ? WITHOUT_OWN_RIGHTS[name] : undefined;
      if (right === undefined || before.has(name)) return [];
      const why = `has no rights of its own: name ${right} in verbs, and leave this out`;
      return [invalid(['spec', 'access', index, 'subresources', at], name, why)];
    }),
  );
}

function subresourcesOf({ subresources = [] }: AccessRule): readonly string[] {
  return subresources;
}

/** Problems of a list of names. `*` matches all. */
function nameListProblems(
  path: FieldPath,
  names: readonly string[] | undefined,
  problemsOf: (path: FieldPath, name: string) => FieldError[],
): FieldError[] {
  return (names ?? []).flatMap((name, index) =>
    name === '*' ? [] : problemsOf([...path, index], name),
  );
}

/** A user name may be that of an object, or that of an identity provider. */
export function userNameProblems(path: FieldPath, name: string): FieldError[] {
  if (name === '') return [invalid(path, name, 'must not be empty')];
  return /[\p{Cc}\s]/u.test(name)
    ? [invalid(path, name, 'must not contain white space or control characters')]
    : [];
}

/** A team name is always that of an object. */
function teamNameProblems(path: FieldPath, name: string): FieldError[] {
  return dnsSubdomainProblems(name).map((problem) => invalid(path, name, problem));
}

const RESERVED_PREFIXES = ['system:', 'gitplane:'];

/**
 * Groups of an identity provider must not look like groups of the platform: `gitplane:team:admins`
 * would make its bearer a member of a team.
 */
export function outsideGroupProblems(path: FieldPath, groups: readonly string[]): FieldError[] {
  return groups.flatMap((group, index) => {
    const at = [...path, index];
    if (group === '') return [invalid(at, group, 'must not be empty')];
    const prefix = RESERVED_PREFIXES.find((reserved) => group.startsWith(reserved));
    return prefix === undefined
      ? []
      : [
          invalid(
            at,
            group,
            `must not begin with "${prefix}": only the platform gives these groups`,
          ),
        ];
  });
}

/** Warnings about rules without effect. */
export function accessWarnings(object: KubeObject): string[] {
  return accessRulesOf(object).flatMap((rule, index) => {
    const warnings: string[] = [];
    if ((rule.users ?? []).length === 0 && (rule.teams ?? []).length === 0) {
      warnings.push(`spec.access[${index}] names no users and no teams, so it has no effect`);
    }
    subresourcesOf(rule).forEach((name, at) => {
      if (name === '*' || Object.hasOwn(WITHOUT_OWN_RIGHTS, name)) return;
      warnings.push(
        `spec.access[${index}].subresources[${at}]: no subresource ${JSON.stringify(name)} is served, so it has no effect`,
      );
    });
    if (rule.verbs.includes('create')) {
      warnings.push(
        `spec.access[${index}].verbs: "create" has no effect on an object that exists; bind a role to allow creating`,
      );
    }
    return warnings;
  });
}
