/** Team: users, and groups of an identity provider, that share access (spec section 2.4). */

import { valueAt } from '../apimachinery/index.ts';
import {
  accessWarnings,
  outsideGroupProblems,
  ownershipProblems,
  userNameProblems,
} from './access/access-rules.ts';
import {
  assignedClusterRoles,
  clusterRoleDependencies,
  clusterRoleProblems,
} from './access/assigned-cluster-roles.ts';
import { AGE, DISPLAY_NAME, OWNER, textsAt } from './columns.ts';
import { deprecations } from './deprecation.ts';
import { defineKind, type Kind } from './kind.ts';
import { secretPathsOf } from './schema/schema-files.ts';
import { pullSecretDependencies } from './secrets/image-pull-secrets.ts';

const deprecated = deprecations([]);

export function team(group: string): Kind {
  return defineKind({
    group,
    kind: 'Team',
    plural: 'teams',
    singular: 'team',
    shortNames: ['tm'],
    categories: ['all', 'gitplane'],
    scope: 'Cluster',
    schema: 'team',
    // Spec section 4.2 requires the full object only; section 4.1 also requires its version.
    allowUnconditionalUpdate: true,
    columns: [
      DISPLAY_NAME,
      {
        name: 'Users',
        type: 'integer',
        description: 'Number of users who are named as members.',
        value: (object) => textsAt(object, ['spec', 'users']).length,
      },
      {
        name: 'Groups',
        type: 'integer',
        description: 'Number of groups whose users are members.',
        priority: 1,
        value: (object) => textsAt(object, ['spec', 'groups']).length,
      },
      { ...OWNER, priority: 1 },
      AGE,
    ],
    hasAccessRules: true,
    secretPaths: secretPathsOf('team'),
    memberships: (object) => {
      const rightsOf = { users: [], groups: [`gitplane:team:${object.metadata.name}`] };
      return [
        // A manager can add members, so creating a team needs the rights that are bound to it already.
        { member: 'its managers', rightsOf },
        ...textsAt(object, ['spec', 'users']).map((name) => ({ member: `user ${name}`, rightsOf })),
        ...textsAt(object, ['spec', 'groups']).map((name) => ({
          member: `group ${name}`,
          rightsOf,
        })),
      ];
    },
    assignedRoles: assignedClusterRoles,
    dependsOn: (object) => [...clusterRoleDependencies(object), ...pullSecretDependencies(object)],
    uniqueName: (object) => {
      const path = ['spec', 'username'];
      const name = valueAt(object, path);
      return typeof name === 'string' && name !== '' ? { path, name } : undefined;
    },
    validate: (object) => [
      ...textsAt(object, ['spec', 'users']).flatMap((name, index) =>
        userNameProblems(['spec', 'users', index], name),
      ),
      ...outsideGroupProblems(['spec', 'groups'], textsAt(object, ['spec', 'groups'])),
      ...clusterRoleProblems(object),
      ...ownershipProblems(object),
    ],
    warnings: (object) => [...deprecated(object), ...accessWarnings(object)],
  });
}
