/** OwnedAccessKey: a key that authenticates a user, team or subject (spec section 2.6). */
import {
  type FieldError,
  forbidden,
  invalidSecret,
  isRecord,
  type KubeObject,
  required,
  rfc3339,
  valueAt,
} from '../apimachinery/index.ts';
import { userNameProblems } from './access/access-rules.ts';
import { SCOPE_DEPRECATIONS, scopeProblems, scopeWarnings } from './access/key-scope.ts';
import { AGE, DISPLAY_NAME, textAt, textFrom, textsAt } from './columns.ts';
import {
  accessKeyPrefix,
  accessKeyProblems,
  concealAccessKey,
  mintAccessKey,
} from './credentials/access-key.ts';
import { KEY_KIND, OWNER_FOUND } from './credentials/key-owner.ts';
import { ttlOf, ttlProblems } from './credentials/key-ttl.ts';
import { deprecations } from './deprecation.ts';
import { defineKind, type Kind, type PrinterColumn } from './kind.ts';
import { secretPathsOf } from './schema/schema-files.ts';

const KEY = ['spec', 'key'];
const IDENTITIES = ['user', 'team', 'subject'] as const;

const columns: readonly PrinterColumn[] = [
  { ...DISPLAY_NAME, priority: 1 },
  {
    name: 'Owner',
    type: 'string',
    description: 'The user, team or subject that the key acts as.',
    value: identityText,
  },
  {
    name: 'Type',
    type: 'string',
    description: 'Component that manages the key.',
    ...textFrom(['spec', 'type']),
  },
  {
    name: 'Disabled',
    type: 'boolean',
    description: 'True if the key is refused.',
    value: (object) => object.spec?.['disabled'] === true,
  },
  {
    name: 'Problem',
    type: 'string',
    description: 'Reason for which the owner of the key makes it unusable.',
    value: ownerProblem,
  },
  {
    name: 'Expires',
    type: 'string',
    description: 'Time at which the key expires by its own time to live.',
    value: expiryText,
  },
  {
    name: 'Last Activity',
    type: 'date',
    description: 'Time since the key was last used.',
    priority: 1,
    ...textFrom(['status', 'lastActivity']),
  },
  AGE,
];

const deprecated = deprecations([
  ...SCOPE_DEPRECATIONS,
  { path: ['spec', 'parent'], remedy: 'use spec.identity' },
  { path: ['spec', 'oidcLogin'], remedy: 'use spec.identity' },
]);

export function ownedAccessKey(group: string): Kind {
  return defineKind({
    group,
    kind: KEY_KIND,
    plural: 'ownedaccesskeys',
    singular: 'ownedaccesskey',
    shortNames: ['oak'],
    categories: ['all', 'gitplane'],
    scope: 'Cluster',
    schema: 'ownedaccesskey',
    // Spec section 4.4 requires the full object only; section 4.1 also requires its version.
    allowUnconditionalUpdate: true,
    namedByServer: true,
    columns,
    selectableFields: ['spec.user', 'spec.team', 'spec.subject', 'spec.type'],
    secretPaths: secretPathsOf('ownedaccesskey'),
    writeOnly: [
      {
        path: KEY,
        conceal: concealAccessKey,
        validate: accessKeyProblems,
        generate: (object) =>
          mintAccessKey(accessKeyPrefix(textAt(object, ['spec', 'type']) ?? '')),
      },
      // Spec section 2.6: never shared through the API. Only the sign-in reads it.
      {
        path: ['spec', 'identity', 'connectorData'],
        conceal: (value) => value,
        sealed: true,
        validate: () => [],
      },
    ],
    validate: (object) => [
      ...identityProblems(object),
      ...accessKeyProblems(valueAt(object, KEY) ?? '').map((text) => invalidSecret(KEY, text)),
      ...ttlProblems(object),
      ...scopeProblems(object),
    ],
    isKey: true,
    dependsOn: (object) =>
      (['user', 'team'] as const).flatMap((field) => {
        const name = textAt(object, ['spec', field]);
        const effect = 'the key works once there is one';
        return name === undefined
          ? []
          : [{ path: ['spec', field], plural: `${field}s`, name, effect }];
      }),
    actsAs: (object) => {
      const [user, team, subject] = IDENTITIES.map((field) => textAt(object, ['spec', field]));
      return {
        users: [user, subject].filter((name) => name !== undefined),
        groups: [
          ...(team === undefined ? [] : [`gitplane:team:${team}`]),
          ...textsAt(object, ['spec', 'groups']),
        ],
      };
    },
    warnings: (object) => [...deprecated(object), ...scopeWarnings(object)],
  });
}

/** A key acts as exactly one user, team or subject. */
function identityProblems(object: KubeObject): FieldError[] {
  const set = IDENTITIES.filter((field) => textAt(object, ['spec', field]) !== undefined);
  const [first, ...others] = set;
  if (first === undefined) {
    return [required(['spec', 'user'], 'exactly one of user, team and subject must be set')];
  }
  return [
    ...others.map((field) =>
      forbidden(
        ['spec', field],
        `${first} is set as well; a key acts as one of user, team and subject`,
      ),
    ),
    ...userNameProblems(['spec', first], String(object.spec?.[first])),
  ];
}

function identityText(object: KubeObject): string | undefined {
  const field = IDENTITIES.find((name) => textAt(object, ['spec', name]) !== undefined);
  return field === undefined ? undefined : `${field}/${object.spec?.[field]}`;
}

function ownerProblem({ status }: KubeObject): string | undefined {
  const conditions: unknown = status?.['conditions'];
  if (!Array.isArray(conditions)) return undefined;
  const found = conditions.find((one) => isRecord(one) && one['type'] === OWNER_FOUND);
  const reason: unknown = isRecord(found) && found['status'] === 'False' && found['reason'];
  return typeof reason === 'string' ? reason : undefined;
}

/** Ignores the platform's maximum, which the object does not have. */
function expiryText(object: KubeObject): string | undefined {
  const ttl = ttlOf(object);
  const creation = object.metadata.creationTimestamp;
  const activity = textAt(object, ['status', 'lastActivity']);
  const base = object.spec?.['ttlAfterLastActivity'] === true ? (activity ?? creation) : creation;
  const start = Date.parse(base ?? '');
  return ttl > 0 && !Number.isNaN(start) ? rfc3339(start + ttl * 1000) : undefined;
}
