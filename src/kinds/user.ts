/** User: a person or program that can sign in. Keys, teams and access rules refer to users by name. */
import { type FieldError, invalid, type KubeObject } from '../apimachinery/index.ts';
import { accessWarnings, outsideGroupProblems, ownershipProblems } from './access/access-rules.ts';
import {
  assignedClusterRoles,
  clusterRoleDependencies,
  clusterRoleProblems,
} from './access/assigned-cluster-roles.ts';
import { AGE, DISPLAY_NAME, textAt, textFrom, textsAt } from './columns.ts';
import { passwordHashProblems } from './credentials/password-hash.ts';
import { deprecations } from './deprecation.ts';
import { defineKind, type Kind, type Membership } from './kind.ts';
import { secretPathsOf } from './schema/schema-files.ts';
import { pullSecretDependencies } from './secrets/image-pull-secrets.ts';

const deprecated = deprecations([]);

export function user(group: string): Kind {
  return defineKind({
    group,
    kind: 'User',
    plural: 'users',
    singular: 'user',
    shortNames: ['usr'],
    categories: ['all', 'gitplane'],
    scope: 'Cluster',
    schema: 'user',
    columns: [
      DISPLAY_NAME,
      {
        name: 'Email',
        type: 'string',
        description: 'Mail address of the user.',
        ...textFrom(['spec', 'email']),
      },
      {
        name: 'Disabled',
        type: 'boolean',
        description: 'True if the user cannot sign in.',
        value: (object) => object.spec?.['disabled'] === true,
      },
      AGE,
    ],
    hasAccessRules: true,
    writeOnly: [
      {
        path: ['spec', 'passwordHash'],
        conceal: (value) => value,
        sealed: true,
        validate: passwordHashProblems,
      },
    ],
    secretPaths: secretPathsOf('user'),
    memberships,
    assignedRoles: assignedClusterRoles,
    dependsOn: (object) => [...clusterRoleDependencies(object), ...pullSecretDependencies(object)],
    validate: (object, old) => [
      ...emailProblems(object),
      ...generationProblems(object, old),
      ...subjectProblems(object),
      ...(['groups', 'ssoGroups'] as const).flatMap((field) =>
        outsideGroupProblems(['spec', field], textsAt(object, ['spec', field])),
      ),
      ...clusterRoleProblems(object),
      ...ownershipProblems(object),
    ],
    warnings: (object) => [
      ...deprecated(object),
      ...subjectWarnings(object),
      ...accessWarnings(object),
    ],
  });
}

/**
 * A disabled user has no rights, so enabling it grants all that it has. Changing the connector or the
 * subject grants the same to another person.
 */
function memberships(object: KubeObject): Membership[] {
  if (object.spec?.['disabled'] === true) return [];
  const name = object.metadata.name ?? '';
  const groups = [
    `gitplane:user:${name}`,
    ...textsAt(object, ['spec', 'groups']),
    ...textsAt(object, ['spec', 'ssoGroups']),
  ];
  const [connector, subject] = [
    textAt(object, ['spec', 'connector']),
    textAt(object, ['spec', 'subject']),
  ];
  const signsIn = connector !== undefined && subject !== undefined;
  const member = signsIn ? JSON.stringify([name, connector, subject]) : name;
  return [{ member, rightsOf: { users: [name], groups } }];
}

function subjectWarnings(object: KubeObject): string[] {
  const hasSubject = textAt(object, ['spec', 'subject']) !== undefined;
  return hasSubject && textAt(object, ['spec', 'connector']) === undefined
    ? ['spec.subject: has no effect without spec.connector']
    : [];
}

/** A lower number would make revoked endpoint tokens valid again. */
function generationProblems(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const [now, before] = [object, old].map((version) =>
    Number(version?.spec?.['tokenGeneration'] ?? 0),
  );
  return old !== undefined && (now ?? 0) < (before ?? 0)
    ? [invalid(['spec', 'tokenGeneration'], now, `must not go back, it was ${before}`)]
    : [];
}

/** The address must not break the author line of a commit. Delivery is not checked. */
function emailProblems(object: KubeObject): FieldError[] {
  const email = textAt(object, ['spec', 'email']);
  return email === undefined || /^[^\s<>@]+@[^\s<>@]+$/.test(email)
    ? []
    : [invalid(['spec', 'email'], email, 'must be a mail address, as in "ada@example.com"')];
}

function subjectProblems(object: KubeObject): FieldError[] {
  const subject = textAt(object, ['spec', 'subject']);
  return subject !== undefined && /^(system|gitplane):/.test(subject)
    ? [
        invalid(
          ['spec', 'subject'],
          subject,
          'must not begin with "system:" or "gitplane:": these subjects belong to the platform',
        ),
      ]
    : [];
}
