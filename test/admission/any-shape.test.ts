/** Objects of every kind with anything anywhere in them: judged, never stumbled over. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fillDefaults, objectProblems, objectWarnings } from '../../src/admission/check.ts';
import type { JsonValue } from '../../src/apimachinery/object.ts';
import { StatusError } from '../../src/apimachinery/status-error.ts';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { apiVersionOf } from '../../src/kinds/kind.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { decodeObject } from '../../src/registry/writes/decode.ts';
import { runs } from '../support/properties.ts';

const kinds = buildKindTable('management.gitplane.dev');
const reader = fileReader(kinds, '');

/** Names that schemas and rules look for, so that random maps come near to what they judge. */
const keys = [
  ...['metadata', 'spec', 'status', 'name', 'namespace', 'labels', 'annotations', 'finalizers'],
  ...['ownerReferences', 'owner', 'user', 'team', 'users', 'teams', 'groups', 'access', 'verbs'],
  ...['data', 'raw', 'key', 'ttl', 'scope', 'roles', 'role', 'rules', 'roleRef', 'subjects'],
  ...['kind', 'apiGroup', 'apiGroups', 'resources', 'resourceNames', 'nonResourceURLs'],
  ...['clusterRoles', 'imagePullSecrets', 'email', 'subject', 'identity', 'type', 'disabled'],
  ...['aggregationRule', 'clusterRoleSelectors', 'matchLabels', 'matchExpressions', 'projects'],
  ...['virtualClusters', 'spaces', 'clusters', 'parent', 'oidcLogin', 'ssoGroups', '__proto__'],
];

const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<JsonValue>(null, true, 0, -1, 1.5, 1e300, '', 'a', 'A b', '*', 'x/y', 'YQ=='),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(fc.constantFrom(...keys), tie('value')), { maxLength: 5 }).map(mapOf),
  ),
}));

function mapOf(entries: readonly [string, JsonValue][]): { [key: string]: JsonValue } {
  return Object.fromEntries(entries.filter(([key]) => key !== '__proto__'));
}

describe.each(kinds.kinds.map((kind) => [kind.kind, kind] as const))('a %s', (_name, kind) => {
  const schema = kinds.schemaOf(kind);
  const body = fc
    .record({
      metadata: fc.oneof(
        value,
        fc
          .tuple(value, fc.constantFrom('a', 5))
          .map(([rest, name]) => (typeof rest === 'object' ? { ...rest, name } : { name })),
      ),
      spec: value,
      rest: value,
    })
    .map(({ metadata, spec, rest }) => ({
      ...(typeof rest === 'object' && !Array.isArray(rest) ? rest : {}),
      metadata,
      spec,
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
    }));

  test('a manifest from git gets problems with places: a %s', () => {
    fc.assert(
      fc.property(body, (object) => {
        const text = Buffer.from(JSON.stringify(object));
        const { documents } = reader.read('a.yaml', 'b', text);

        expect(documents).toHaveLength(1);
        expect(JSON.stringify(documents[0]?.problems)).not.toContain('cannot be judged');
      }),
      { numRuns: runs(100) },
    );
  });

  test.each(['Strict', 'Warn', 'Ignore'] as const)(
    'a body over HTTP (%s) gets a Status',
    (mode) => {
      fc.assert(
        fc.property(body, (given) => {
          try {
            const decoding = {
              fieldValidation: mode,
              namespace: 'n',
              duplicates: [],
              isPatch: false,
            };
            const { object } = decodeObject(given, { kind, schema, ...decoding });
            kind.canonicalize(object);
            fillDefaults(kind, schema, object);
            const problems = objectProblems(kind, schema, { object });
            if (problems.length === 0) objectWarnings(kind, object);
          } catch (error) {
            if (!(error instanceof StatusError)) throw error;
          }
        }),
        { numRuns: runs(100) },
      );
    },
  );
});
