/** The rules of each kind of the management group. */
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import {
  concealAccessKey,
  hasValidChecksum,
  mintAccessKey,
} from '../../src/kinds/credentials/access-key.ts';
import { processorMs } from '../support/calls.ts';
import { kindNamed, object, problems, table } from './objects.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('secret data', () => {
  // covers: SharedSecret.spec.data.{keys,values}
  test.each(['SharedSecret', 'ProjectSecret'])('%s takes keys and base64 values', (kind) => {
    const data = {
      '.dockerconfigjson': base64('{}'),
      'TLS_key-1.pem': base64('\0\xff'),
      empty: '',
    };
    expect(problems(object(kind, { spec: { data } }))).toEqual([]);
  });

  // covers: SharedSecret.spec.data.keys
  test.each(['a b', 'a/b', '', 'ä', 'a:b', '..', '..x', '.'])('refuses the key %j', (key) => {
    const found = problems(object('SharedSecret', { spec: { data: { [key]: base64('x') } } }));
    expect(found).toHaveLength(1);
  });

  test('takes a key that JavaScript gives a meaning to', () => {
    const data = JSON.parse('{"__proto__":"eA==","constructor":"eA=="}') as JsonObject;
    expect(problems(object('SharedSecret', { spec: { data } }))).toEqual([]);
  });

  // covers: SharedSecret.spec.data.values
  test.each([
    ['plain text', 'hunter2-hunter2!', 'encode the value first'],
    ['missing padding', 'aHVudGVyMg', 'correct padding'],
    ['bits that do not count', 'aHVudGVyMh==', 'correct padding'],
    ['the URL-safe alphabet', '-_-_', 'URL-safe'],
    ['a space', 'aHVu dGVy', 'without spaces'],
    ['an encrypted value of another tool', 'ENC[AES256_GCM,data:abc]', 'encode the value first'],
  ])('refuses %s without printing it', (_, value, message) => {
    const [found = '', ...more] = problems(
      object('SharedSecret', { spec: { data: { pw: value } } }),
    );
    expect(more).toEqual([]);
    expect(found).toContain('spec.data.pw: Invalid value: must be base64 (RFC 4648 section 4)');
    expect(found).toContain(message);
    expect(found).not.toContain(value);
  });

  test.each([
    ['at the end, as a block scalar has one', 'aHVudGVyMg==\n'],
    ['where an encoder wraps', 'aHVu\r\ndGVyMg==\n'],
  ])('takes base64 with line breaks %s', (_, value) => {
    expect(problems(object('SharedSecret', { spec: { data: { pw: value } } }))).toEqual([]);
  });

  test('refuses a value that is no text without printing it', () => {
    const [found = ''] = problems(object('SharedSecret', { spec: { data: { pin: 739182 } } }));
    expect(found).toContain('must be of type string: "integer"');
    expect(found).not.toContain('739182');
  });

  test.each([
    [1024 * 1024, []],
    [1024 * 1024 + 1, ['spec.data: Too long: may not be more than 1048576 bytes']],
  ])('counts decoded bytes: %i', (size, expected) => {
    const half = Math.floor(size / 2);
    const data = {
      a: Buffer.alloc(half).toString('base64'),
      b: Buffer.alloc(size - half).toString('base64'),
    };
    expect(problems(object('SharedSecret', { spec: { data } }))).toEqual(expected);
  });
});

describe('ProjectSecret', () => {
  const name = 'gitplane.dev/sharedsecret-name';
  const namespace = 'gitplane.dev/sharedsecret-namespace';
  const following = { [name]: 'registry', [namespace]: 'payments' };

  test('follows a shared secret by its labels', () => {
    expect(problems(object('ProjectSecret', { metadata: { labels: following } }))).toEqual([]);
  });

  test('has data of its own or a shared secret, never both', () => {
    const both = { metadata: { labels: following }, spec: { data: { a: base64('x') } } };
    expect(problems(object('ProjectSecret', both))).toEqual([
      `spec.data: Forbidden: must be empty where the label ${name} names a shared secret to follow`,
    ]);
  });

  test.each([
    [{ [name]: 'registry' }, namespace],
    [{ [namespace]: 'payments' }, name],
  ])('names both parts of the reference: %j', (labels, missing) => {
    expect(problems(object('ProjectSecret', { metadata: { labels } }))[0]).toContain(
      `metadata.labels["${missing}"]: Required value`,
    );
  });

  test('names a secret that can exist', () => {
    const labels = { [name]: 'Registry', [namespace]: 'a.b' };
    expect(problems(object('ProjectSecret', { metadata: { labels } }))).toHaveLength(2);
  });
});

describe.each(['SharedSecret', 'ProjectSecret', 'Team', 'User'])(
  'owner and access of %s',
  (kind) => {
    // covers: accessRule.name
    test('take users, teams, verbs of any name and wildcards', () => {
      const spec = {
        owner: { team: 'platform' },
        access: [
          { name: 'all', verbs: ['*'], subresources: ['*'], users: ['*'] },
          { verbs: ['get', 'bind', 'makeowner'], users: ['ada@example.com'], teams: ['payments'] },
        ],
      };
      expect(problems(object(kind, { spec }))).toEqual([]);
    });

    test.each<[string, JsonObject, string]>([
      ['a team that cannot exist', { teams: ['Pay ments'] }, 'spec.access[0].teams[0]'],
      ['an empty user', { users: [''] }, 'spec.access[0].users[0]: Invalid value: "": must not be'],
      ['a user over two lines', { users: ['a\nb'] }, 'spec.access[0].users[0]'],
      [
        'a subresource with its kind',
        { subresources: ['teams/x'] },
        'spec.access[0].subresources[0]',
      ],
      ['an odd verb', { verbs: ['Get it'] }, 'spec.access[0].verbs[0]'],
    ])('refuse %s', (_, rule, message) => {
      const spec = { access: [{ verbs: ['get'], ...rule }] };
      const found = problems(object(kind, { spec }));
      expect(found).toHaveLength(1);
      expect(found[0]).toContain(message);
    });

    test('refuse an owner that cannot exist', () => {
      expect(problems(object(kind, { spec: { owner: { team: 'A B' } } }))[0]).toContain(
        'spec.owner.team: Invalid value: "A B"',
      );
    });

    test('warn of rules without effect', () => {
      const spec = { access: [{ verbs: ['get'] }, { verbs: ['create', 'get'], teams: ['a'] }] };
      const warnings = kindNamed(kind).warnings(object(kind, { spec }));
      expect(warnings).toEqual([
        expect.stringContaining('spec.access[0] names no users and no teams'),
        expect.stringContaining('spec.access[1].verbs: "create" has no effect'),
      ]);
    });
  },
);

describe('Team', () => {
  test.each([
    ['system:masters', 'system:'],
    ['gitplane:team:platform', 'gitplane:'],
  ])('does not take members by the group %s', (group, prefix) => {
    expect(problems(object('Team', { spec: { groups: ['engineering', group] } }))).toEqual([
      `spec.groups[1]: Invalid value: "${group}": must not begin with "${prefix}": only the platform gives these groups`,
    ]);
  });

  test('names its users and cluster roles', () => {
    const spec = { users: ['ada', ''], clusterRoles: [{ name: 'edit' }, {}] };
    expect(problems(object('Team', { spec }))).toEqual([
      'spec.users[1]: Invalid value: "": must not be empty',
      'spec.clusterRoles[1].name: Required value',
    ]);
  });
});

describe('User', () => {
  test.each(['ada@example.com', 'a+b@localhost'])('takes the mail address %s', (email) => {
    expect(problems(object('User', { spec: { email } }))).toEqual([]);
  });

  test.each(['ada', 'a@b@c', 'Ada <ada@example.com>', 'a\n@b'])('refuses %j as one', (email) => {
    expect(problems(object('User', { spec: { email } }))).toHaveLength(1);
  });

  test.each(['subject', 'groups', 'ssoGroups'])('cannot take a reserved name by %s', (field) => {
    const value = 'gitplane:team:platform';
    const spec = { [field]: field === 'subject' ? value : [value] };
    expect(problems(object('User', { spec }))[0]).toContain('must not begin with');
  });
});

describe('OwnedAccessKey', () => {
  // covers: OwnedAccessKey.spec.subject
  test.each(['user', 'team', 'subject'])('acts as one %s', (field) => {
    expect(problems(object('OwnedAccessKey', { spec: { [field]: 'ada' } }))).toEqual([]);
  });

  test.each<[JsonObject, string]>([
    [{}, 'spec.user: Required value: exactly one of user, team and subject must be set'],
    [{ user: '' }, 'spec.user: Required value'],
    [{ user: 'ada', team: 'ops' }, 'spec.team: Forbidden: user is set as well'],
    [{ team: 'ops', subject: 'robot' }, 'spec.subject: Forbidden: team is set as well'],
    [{ user: 'a b' }, 'spec.user: Invalid value: "a b"'],
    [{ user: 'ada', ttl: -1 }, 'spec.ttl: Invalid value: -1'],
    [{ user: 'ada', ttl: 4e9 }, 'spec.ttl: Invalid value: 4000000000: must not be more than'],
  ])('refuses %j', (spec, message) => {
    const found = problems(object('OwnedAccessKey', { spec }));
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(message);
  });

  test('needs a spec', () => {
    expect(problems(object('OwnedAccessKey'))).toHaveLength(1);
  });

  test.each([mintAccessKey('gpu'), concealAccessKey('some key'), ''])('takes the key %#', (key) => {
    expect(problems(object('OwnedAccessKey', { spec: { user: 'ada', key } }))).toEqual([]);
  });

  test('refuses a weak key without printing it', () => {
    const found = problems(object('OwnedAccessKey', { spec: { user: 'ada', key: 'Tr0ub4dor' } }));
    expect(found).toEqual([expect.stringContaining('spec.key: Invalid value: must have 32')]);
    expect(found.join()).not.toContain('Tr0ub4dor');
  });

  test('has fields that enter and never come back', () => {
    expect(kindNamed('OwnedAccessKey').writeOnly.map(({ path }) => path)).toEqual([
      ['spec', 'key'],
      ['spec', 'identity', 'connectorData'],
    ]);
  });

  test.each(['User', 'Login', ''])('a key of type %j gets a valid text on request', (type) => {
    const [field] = kindNamed('OwnedAccessKey').writeOnly;
    const key = field?.generate?.(object('OwnedAccessKey', { spec: { user: 'ada', type } }));
    expect(hasValidChecksum(key ?? '')).toBe(true);
    expect(field?.validate(key)).toEqual([]);
    expect(field?.conceal(key ?? '')).not.toContain(key);
  });

  const cell = (name: string, fields: JsonObject): unknown =>
    kindNamed('OwnedAccessKey')
      .columns.find((column) => column.name === name)
      ?.value(object('OwnedAccessKey', fields));

  test.each<[JsonObject, JsonObject, string | undefined]>([
    [{}, {}, undefined],
    [{ ttl: 0 }, {}, undefined],
    [{ ttl: 3600 }, {}, '2026-01-01T01:00:00Z'],
    [{ ttl: 3600 }, { lastActivity: '2026-01-02T00:00:00Z' }, '2026-01-01T01:00:00Z'],
    [
      { ttl: 3600, ttlAfterLastActivity: true },
      { lastActivity: '2026-01-02T00:00:00Z' },
      '2026-01-02T01:00:00Z',
    ],
    [{ ttl: 3600, ttlAfterLastActivity: true }, {}, '2026-01-01T01:00:00Z'],
  ])('a key with %j and %j expires at %s', (spec, status, expected) => {
    const metadata = { creationTimestamp: '2026-01-01T00:00:00Z' };
    expect(cell('Expires', { metadata, spec, status })).toBe(expected);
  });

  test('shows whom it acts as', () => {
    expect(cell('Owner', { spec: { team: 'ops' } })).toBe('team/ops');
  });
});

describe.each(['OwnedAccessKey', 'DirectClusterEndpointToken'])('scope of %s', (kind) => {
  const withScope = (scope: JsonObject): string[] =>
    problems(
      object(kind, { spec: { ...(kind === 'OwnedAccessKey' ? { user: 'ada' } : {}), scope } }),
    );

  test('warns of stars that are names, and of entries that do not count', () => {
    const scope = {
      roles: [{ role: 'agent' }, { role: 'agent', projects: ['a'] }],
      rules: [{ verbs: ['*'], namespaces: ['*'], resources: [{ group: '*', resources: ['*'] }] }],
    };
    const about = kindNamed(kind).warnings(object(kind, { spec: { user: 'ada', scope } }));
    expect(about.filter((text) => !text.includes('deprecated'))).toEqual([
      'spec.scope.rules[0].verbs: "*" is literal here; leave it out to mean all',
      'spec.scope.rules[0].namespaces: "*" is literal here; leave it out to mean all',
      'spec.scope.rules[0].resources: "*" is literal here; leave it out to mean all',
      'spec.scope.roles[1]: the first entry with role "agent" counts',
    ]);
  });

  test('takes every form', () => {
    expect(
      withScope({
        roles: [{ role: 'agent', projects: ['a'], virtualClusters: ['b'] }],
        projects: [{ project: '*' }],
        spaces: [{ project: 'a', space: '*' }],
        virtualClusters: [{ project: 'a', virtualCluster: 'b' }],
        clusters: [{ cluster: '*' }],
        allowPlatformCli: true,
        rules: [
          {
            verbs: ['get'],
            resources: [{ group: '', resources: ['pods', 'pods/*', '*/scale'] }],
            resourceNames: ['x'],
            namespaces: [''],
            requestTargets: ['Cluster'],
            cluster: 'c',
            virtualClusters: [{ name: '', namespace: '' }],
          },
          { nonResourceURLs: ['*', '/healthz', '/healthz/*'] },
        ],
      }),
    ).toEqual([]);
  });

  test.each<[string, JsonObject, string]>([
    ['an empty scope', {}, 'spec.scope: Invalid value: {}: must not be empty'],
    ['a scope of empty lists', { roles: [], allowPlatformCli: false }, 'spec.scope: Invalid value'],
    [
      'an unknown role',
      { roles: [{ role: 'admin' }] },
      'spec.scope.roles[0].role: Unsupported value: "admin"',
    ],
    ['a role entry without role', { roles: [{}] }, 'spec.scope.roles[0].role: Required value'],
    [
      'a virtual cluster without project',
      { virtualClusters: [{ virtualCluster: 'b' }] },
      'spec.scope.virtualClusters[0].project: Required value',
    ],
    [
      'a space without name',
      { spaces: [{ project: 'a' }] },
      'spec.scope.spaces[0].space: Required value',
    ],
    [
      'an empty project',
      { projects: [{ project: '' }] },
      'spec.scope.projects[0].project: Invalid value: ""',
    ],
    // covers: scope.rules.resourceNames
    [
      'names without resources',
      { rules: [{ resourceNames: ['x'] }] },
      'spec.scope.rules[0].resources: Required value',
    ],
    [
      'names with a group alone',
      { rules: [{ resources: [{ group: 'a' }], resourceNames: ['x'] }] },
      'spec.scope.rules[0].resources: Required value',
    ],
    // covers: scope.rules.nonResourceURLs
    [
      'a star inside a step',
      { rules: [{ nonResourceURLs: ['/health*'] }] },
      'spec.scope.rules[0].nonResourceURLs[0]: Invalid value: "/health*"',
    ],
    [
      'a star before the end',
      { rules: [{ nonResourceURLs: ['/*/x'] }] },
      'spec.scope.rules[0].nonResourceURLs[0]: Invalid value',
    ],
    [
      'a relative URL',
      { rules: [{ nonResourceURLs: ['healthz'] }] },
      'spec.scope.rules[0].nonResourceURLs[0]: Invalid value',
    ],
    [
      'resources and URLs in one rule',
      { rules: [{ resources: [{ resources: ['pods'] }], nonResourceURLs: ['/x'] }] },
      'a rule is for resources or for URLs, not for both',
    ],
    [
      'a wildcard beside what it covers',
      { rules: [{ resources: [{ resources: ['*', 'pods'] }] }] },
      'spec.scope.rules[0].resources[0].resources[1]: Invalid value: "pods": is covered by "*" already',
    ],
    [
      'overlapping subresources',
      { rules: [{ resources: [{ resources: ['pods/*', 'pods/log'] }] }] },
      'is covered by "pods/*" already',
    ],
    [
      'an unknown target',
      { rules: [{ requestTargets: ['Moon'] }] },
      'spec.scope.rules[0].requestTargets[0]: Unsupported value: "Moon"',
    ],
  ])('refuses %s', (_, scope, message) => {
    const found = withScope(scope);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(message);
  });

  test('compares no resource with all others', () => {
    const resources = Array.from({ length: 10_000 }, (_, i) => `r${i}/log`);
    const ms = processorMs(() => {
      expect(withScope({ rules: [{ resources: [{ resources }] }] })).toEqual([]);
    });
    expect(ms).toBeLessThan(2000);
  });
});

describe('DirectClusterEndpointToken', () => {
  test.each<[JsonObject]>([
    [{}],
    [{ spec: {} }],
    [{ spec: { ttl: 0 } }],
    [{ spec: { ttl: 3600 } }],
  ])('takes %j', (fields) => {
    expect(problems(object('DirectClusterEndpointToken', fields))).toEqual([]);
  });

  test('can only be created, and is kept nowhere', () => {
    expect(kindNamed('DirectClusterEndpointToken')).toMatchObject({
      verbs: ['create'],
      storedIn: 'nowhere',
      namedByServer: true,
    });
  });
});

describe('deprecated fields', () => {
  // covers: OwnedAccessKey.spec.{parent,oidcLogin}
  // covers: versioning.deprecated.{selfLink,scope,keys,config}
  test.each<[string, JsonObject, string]>([
    ['Team', { metadata: { selfLink: '/x' } }, 'metadata.selfLink is deprecated'],
    ['RoleBinding', { metadata: { selfLink: '/x' } }, 'metadata.selfLink is deprecated'],
    ['OwnedAccessKey', { spec: { parent: 'x' } }, 'spec.parent is deprecated; use spec.identity'],
    ['OwnedAccessKey', { spec: { oidcLogin: {} } }, 'spec.oidcLogin is deprecated'],
    ['OwnedAccessKey', { spec: { scope: { rules: [] } } }, 'spec.scope.rules is deprecated'],
    ['OwnedAccessKey', { spec: { scope: { allowPlatformCli: true } } }, 'role: platform-cli'],
    ['DirectClusterEndpointToken', { spec: { scope: { rules: [] } } }, 'spec.scope.rules is'],
    ['Config', { spec: { raw: 'oidc: {enabled: true}' } }, 'spec.raw: oidc is deprecated'],
    ['Config', { spec: { raw: 'workspaceSubDomain: x' } }, 'spec.raw: workspaceSubDomain is'],
  ])('warnings name the deprecated fields of %s: %j', (kind, fields, message) => {
    expect(kindNamed(kind).warnings(object(kind, fields))).toEqual([
      expect.stringContaining(message),
    ]);
  });

  test('unused deprecated fields cause no warning', () => {
    for (const kind of table.kinds) expect(kind.warnings(object(kind.kind))).toEqual([]);
  });
});
