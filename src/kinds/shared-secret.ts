/** SharedSecret: sensitive data for users, teams and connected clusters (spec section 2.3). */
import { accessWarnings, ownershipProblems } from './access/access-rules.ts';
import { AGE, DISPLAY_NAME, OWNER } from './columns.ts';
import { deprecations } from './deprecation.ts';
import { defineKind, type Kind } from './kind.ts';
import { secretPathsOf } from './schema/schema-files.ts';
import { DATA_KEYS, secretDataProblems } from './secrets/secret-data.ts';
import { storeLinkProblems } from './secrets/store-link.ts';

const deprecated = deprecations([]);

export function sharedSecret(group: string): Kind {
  return defineKind({
    group,
    kind: 'SharedSecret',
    plural: 'sharedsecrets',
    singular: 'sharedsecret',
    shortNames: ['ss'],
    categories: ['all', 'gitplane'],
    scope: 'Namespaced',
    schema: 'sharedsecret',
    columns: [DISPLAY_NAME, DATA_KEYS, OWNER, AGE],
    hasAccessRules: true,
    secretPaths: secretPathsOf('sharedsecret'),
    followsStore: true,
    validate: (object) => [
      ...secretDataProblems(object),
      ...ownershipProblems(object),
      ...storeLinkProblems(object),
    ],
    warnings: (object) => [...deprecated(object), ...accessWarnings(object)],
  });
}
