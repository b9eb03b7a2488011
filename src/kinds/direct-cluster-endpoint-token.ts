/**
 * DirectClusterEndpointToken: a short-lived token for one cluster (spec section 2.7). A create returns
 * it; nothing is stored.
 */

import { SCOPE_DEPRECATIONS, scopeProblems, scopeWarnings } from './access/key-scope.ts';
import { AGE } from './columns.ts';
import { ttlProblems } from './credentials/key-ttl.ts';
import { deprecations } from './deprecation.ts';
import { defineKind, type Kind } from './kind.ts';
import { secretPathsOf } from './schema/schema-files.ts';

const deprecated = deprecations(SCOPE_DEPRECATIONS);

export function directClusterEndpointToken(group: string): Kind {
  return defineKind({
    group,
    kind: 'DirectClusterEndpointToken',
    plural: 'directclusterendpointtokens',
    singular: 'directclusterendpointtoken',
    shortNames: ['dcet'],
    scope: 'Cluster',
    verbs: ['create'],
    storedIn: 'nowhere',
    schema: 'directclusterendpointtoken',
    namedByServer: true,
    columns: [AGE],
    secretPaths: secretPathsOf('directclusterendpointtoken'),
    validate: (object) => [...ttlProblems(object), ...scopeProblems(object)],
    warnings: (object) => [...deprecated(object), ...scopeWarnings(object)],
  });
}
