/** Questions about access: what kubectl is told agrees with what then happens. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_API_GROUP } from '../../src/kinds/kind.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';
import { kubectlOf } from './kubectl.ts';

const ROOT = '/kubernetes/management';
const AUTHORIZATION = `${ROOT}/apis/authorization.k8s.io/v1`;
const AUTHENTICATION = `${ROOT}/apis/authentication.k8s.io/v1`;
const NAMESPACE = 'storefront';
const GROUP = DEFAULT_API_GROUP;
const kinds = buildKindTable(GROUP).kinds;

let daemon: Daemon;
/** Name of a key → its text. */
const keys = new Map<string, string>();

/** Rights of bob: a few kinds everywhere, secrets in one namespace, one name. */
const RULES = [
  { apiGroups: [GROUP], resources: ['teams', 'users'], verbs: ['get', 'list', 'update', 'delete'] },
  { apiGroups: [GROUP], resources: ['config'], resourceNames: ['x'], verbs: ['get'] },
  { nonResourceURLs: ['/metrics'], verbs: ['get'] },
];

const SCOPES: Readonly<Record<string, object | undefined>> = {
  plain: undefined,
  reading: { rules: [{ verbs: ['get', 'list'] }] },
  teams: { rules: [{ resources: [{ group: GROUP, resources: ['teams'] }] }] },
  namespace: { rules: [{ namespaces: [NAMESPACE] }] },
  outside: { rules: [{ namespaces: [''] }] },
  named: {
    rules: [
      { resources: [{ group: GROUP, resources: ['teams', 'config'] }], resourceNames: ['x'] },
    ],
  },
  cli: { roles: [{ role: 'platform-cli' }] },
};

beforeAll(async () => {
  daemon = await startDaemon();
  const make = async (path: string, body: object): Promise<{ spec: { key: string } }> => {
    const answer = await daemon.call('POST', path, { body });
    expect(answer.code, answer.text).toBe(201);
    return answer.json();
  };
  const metadata = { name: 'bob' };
  const apiGroup = 'rbac.authorization.k8s.io';
  const subjects = [{ apiGroup, kind: 'User', name: 'bob' }];
  await make(`${API}/users`, { metadata, spec: {} });
  await make(`${RBAC}/clusterroles`, { metadata, rules: RULES });
  await make(`${RBAC}/clusterrolebindings`, {
    metadata,
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'bob' },
    subjects,
  });
  const secrets = { apiGroups: [GROUP], resources: ['sharedsecrets'], verbs: ['*'] };
  await make(`${RBAC}/namespaces/${NAMESPACE}/roles`, { metadata, rules: [secrets] });
  await make(`${RBAC}/namespaces/${NAMESPACE}/rolebindings`, {
    metadata,
    roleRef: { apiGroup, kind: 'Role', name: 'bob' },
    subjects,
  });
  for (const [name, scope] of Object.entries(SCOPES)) {
    const body = { metadata: { name }, spec: { user: 'bob', ...(scope ? { scope } : {}) } };
    keys.set(name, (await make(`${API}/ownedaccesskeys`, body)).spec.key);
  }
});

afterAll(async () => {
  await daemon.stop();
});

function key(name: string): string {
  return keys.get(name) ?? '';
}

async function ask(token: string, path: string, spec: object): Promise<Record<string, never>> {
  const answer = await daemon.call('POST', path, { body: { spec }, token });
  expect(answer.code, answer.text).toBe(201);
  return answer.json().status;
}

interface Attempt {
  readonly method: string;
  readonly path: string;
}

/** A request with the verb that comes to nothing, whatever it is answered. */
function attempt(verb: string, collection: string, name: string): Attempt | undefined {
  const one = `${collection}/${name}`;
  const attempts: Record<string, Attempt> = {
    get: { method: 'GET', path: one },
    list: { method: 'GET', path: `${collection}?limit=1` },
    watch: { method: 'GET', path: `${collection}?watch=1&timeoutSeconds=1&resourceVersion=1` },
    create: { method: 'POST', path: `${collection}?dryRun=All` },
    update: { method: 'PUT', path: `${one}?dryRun=All` },
    patch: { method: 'PATCH', path: `${one}?dryRun=All` },
    delete: { method: 'DELETE', path: `${one}?dryRun=All` },
    deletecollection: { method: 'DELETE', path: `${collection}?dryRun=All` },
  };
  return attempts[verb];
}

/** Whether access control lets the request through; a body that is none ends it right behind. */
async function passes(token: string, { method, path }: Attempt): Promise<boolean> {
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(method);
  const { code } = await daemon.call(method, path, hasBody ? { body: [], token } : { token });
  return code !== 403;
}

/** Of every sort: for everybody, for some, and for nobody. */
const PATHS = ['/version', '/api', '/apis', '/metrics', '/sync', '/plan', '/token/revocations'];

const WITHOUT_NAME = ['list', 'watch', 'create', 'deletecollection'];

describe('a SelfSubjectRulesReview', () => {
  test.each(Object.keys(SCOPES))(
    'a SelfSubjectRulesReview of the key %s lists what then happens, and nothing else',
    async (name) => {
      const token = key(name);
      const path = `${AUTHORIZATION}/selfsubjectrulesreviews`;
      const status = (await ask(token, path, { namespace: NAMESPACE })) as unknown as {
        resourceRules: {
          verbs: string[];
          apiGroups: string[];
          resources: string[];
          resourceNames?: string[];
        }[];
        incomplete: boolean;
      };
      expect(status.incomplete).toBe(SCOPES[name] !== undefined);
      const listed = (verb: string, group: string, plural: string, object: string): boolean =>
        status.resourceRules.some(
          ({ verbs, apiGroups, resources, resourceNames = [] }) =>
            (verbs.includes(verb) || verbs.includes('*')) &&
            (apiGroups.includes(group) || apiGroups.includes('*')) &&
            (resources.includes(plural) || resources.includes('*')) &&
            (resourceNames.length === 0 || resourceNames.includes(object)),
        );
      const wrong: string[] = [];
      for (const kind of kinds) {
        const where = kind.scope === 'Namespaced' ? `/namespaces/${NAMESPACE}` : '';
        const collection = `${ROOT}/apis/${kind.group}/v1${where}/${kind.plural}`;
        for (const verb of [
          'get',
          'list',
          'watch',
          'create',
          'update',
          'patch',
          'delete',
          'deletecollection',
        ]) {
          for (const object of WITHOUT_NAME.includes(verb) ? [''] : ['x', 'y']) {
            const tried = attempt(verb, collection, object);
            if (tried === undefined) continue;
            const expected = listed(verb, kind.group, kind.plural, object);
            if ((await passes(token, tried)) !== expected)
              wrong.push(`${verb} ${kind.plural} ${object}`);
          }
        }
      }
      expect(wrong).toEqual([]);
    },
  );

  test.each(Object.keys(SCOPES))(
    'a SelfSubjectRulesReview of the key %s lists the paths it may get',
    async (name) => {
      const token = key(name);
      const path = `${AUTHORIZATION}/selfsubjectrulesreviews`;
      const { nonResourceRules } = (await ask(token, path, {
        namespace: NAMESPACE,
      })) as unknown as {
        nonResourceRules: { verbs: string[]; nonResourceURLs: string[] }[];
      };
      const matches = (pattern: string, url: string): boolean =>
        pattern.endsWith('*') ? url.startsWith(pattern.slice(0, -1)) : pattern === url;
      const wrong: string[] = [];
      for (const url of PATHS) {
        const listed = nonResourceRules.some(
          ({ verbs, nonResourceURLs }) =>
            (verbs.includes('get') || verbs.includes('*')) &&
            nonResourceURLs.some((pattern) => matches(pattern, url)),
        );
        const asked = url.startsWith('/api') ? ROOT + url : url;
        const { code } = await daemon.call('GET', asked, { token });
        if ((code !== 403) !== listed) wrong.push(`${url}: ${code}, listed: ${listed}`);
      }
      expect(wrong).toEqual([]);
    },
  );

  test('leaves the rights of a scope of too many parts out, and says so', async () => {
    const rules = Array.from({ length: 1_001 }, () => ({ verbs: ['get'] }));
    const body = { metadata: { name: 'many' }, spec: { user: 'bob', scope: { rules } } };
    const made = await daemon.call('POST', `${API}/ownedaccesskeys`, { body });
    expect(made.code, made.text).toBe(201);
    const { spec } = made.json() as unknown as { spec: { key: string } };
    const status = await ask(spec.key, `${AUTHORIZATION}/selfsubjectrulesreviews`, {
      namespace: NAMESPACE,
    });
    const text = JSON.stringify(status);
    expect(status).toMatchObject({
      incomplete: true,
      evaluationError: 'the access key has a scope of too many parts; its rights are left out',
    });
    expect(text).not.toContain('teams');
    expect(text).toContain('selfsubjectrulesreviews');
  });

  test('needs a namespace', async () => {
    const body = { spec: {} };
    const answer = await daemon.call('POST', `${AUTHORIZATION}/selfsubjectrulesreviews`, { body });
    expect([answer.code, answer.json().message]).toEqual([400, 'no namespace on request']);
  });
});

describe('a SelfSubjectAccessReview', () => {
  const path = `${AUTHORIZATION}/selfsubjectaccessreviews`;
  const teams = { group: GROUP, resource: 'teams' };

  test.each<[string, object, boolean]>([
    ['plain', { resourceAttributes: { ...teams, verb: 'delete', name: 'x' } }, true],
    ['reading', { resourceAttributes: { ...teams, verb: 'delete', name: 'x' } }, false],
    ['reading', { resourceAttributes: { ...teams, verb: 'list' } }, true],
    ['named', { resourceAttributes: { ...teams, verb: 'list' } }, false],
    ['named', { resourceAttributes: { ...teams, verb: 'get', name: 'x' } }, true],
    ['plain', { resourceAttributes: { ...teams, verb: '*' } }, false],
    [
      'plain',
      { resourceAttributes: { group: GROUP, resource: 'configs', verb: 'get', name: 'x' } },
      true,
    ],
    ['plain', { nonResourceAttributes: { path: '/metrics', verb: 'get' } }, true],
    ['teams', { nonResourceAttributes: { path: '/metrics', verb: 'get' } }, false],
    ['teams', { nonResourceAttributes: { path: '/version', verb: 'get' } }, true],
  ])('a SelfSubjectAccessReview with the key %s about %j: %s', async (name, spec, allowed) => {
    const status = await ask(key(name), path, spec);
    expect(status).toMatchObject({ allowed });
  });

  test('names the scope as the reason of a denial', async () => {
    const status = await ask(key('teams'), path, {
      resourceAttributes: { group: GROUP, resource: 'users', verb: 'list' },
    });
    expect(status).toEqual({
      allowed: false,
      reason: 'the roles of the user allow it, but the scope of access key "teams" does not',
    });
  });

  test.each([{}, { resourceAttributes: teams, nonResourceAttributes: { path: '/' } }])(
    'asks about one thing, not %j',
    async (spec) => {
      const answer = await daemon.call('POST', path, { body: { spec } });
      expect(answer.code).toBe(422);
    },
  );
});

describe('a review about others', () => {
  const path = `${AUTHORIZATION}/subjectaccessreviews`;
  const resourceAttributes = { group: GROUP, resource: 'teams', verb: 'list' };

  test('needs a right of its own, since it shows the rights of others', async () => {
    const body = { spec: { user: 'admin', resourceAttributes } };
    expect((await daemon.call('POST', path, { body, token: key('plain') })).code).toBe(403);
    expect((await daemon.call('POST', path, { body })).json().status).toMatchObject({
      allowed: true,
    });
  });

  test.each<[string, object, boolean]>([
    ['a user', { user: 'bob' }, true],
    ['a user in no group it does not name', { user: 'ann' }, false],
    ['a group', { user: 'ann', groups: ['system:masters'] }, true],
  ])('is answered by roles: %s', async (_claim, who, allowed) => {
    const answer = await daemon.call('POST', path, {
      body: { spec: { ...who, resourceAttributes } },
    });
    expect(answer.json().status).toMatchObject({ allowed });
  });

  test('names its subject', async () => {
    const answer = await daemon.call('POST', path, { body: { spec: { resourceAttributes } } });
    expect([answer.code, answer.json().message]).toEqual([
      422,
      expect.stringContaining('user or group'),
    ]);
  });

  test('a review in one namespace is about that namespace', async () => {
    const local = `${AUTHORIZATION}/namespaces/${NAMESPACE}/localsubjectaccessreviews`;
    const secrets = { group: GROUP, resource: 'sharedsecrets', verb: 'delete' };
    const about = (namespace: string) =>
      daemon.call('POST', local, {
        body: { spec: { user: 'bob', resourceAttributes: { ...secrets, namespace } } },
      });
    expect((await about(NAMESPACE)).json().status).toMatchObject({ allowed: true });
    expect((await about('payments')).code).toBe(422);
  });
});

test('nothing but a create is offered, at the place where it belongs', async () => {
  const path = `${AUTHORIZATION}/selfsubjectaccessreviews`;
  expect((await daemon.call('GET', path)).code).toBe(405);
  expect((await daemon.call('GET', `${path}/x`)).code).toBe(404);
  const local = `${AUTHORIZATION}/localsubjectaccessreviews`;
  expect((await daemon.call('POST', local, { body: {} })).code).toBe(404);
});

test('a TokenReview of an endpoint token gives its user and audience', async () => {
  const made = await daemon.call('POST', `${API}/directclusterendpointtokens`, {
    body: { spec: { scope: { clusters: [{ cluster: 'c' }] } } },
  });
  const { token } = made.json().status;
  const path = `${AUTHENTICATION}/tokenreviews`;
  const good = (await daemon.call('POST', path, { body: { spec: { token } } })).json().status;
  expect(good).toMatchObject({
    authenticated: true,
    user: { username: 'admin' },
    audiences: ['gitplane:cluster:c'],
  });
  const elsewhere = { spec: { token, audiences: ['gitplane:cluster:d'] } };
  for (const body of [elsewhere, { spec: { token: `${token}x` } }]) {
    const answer = await daemon.call('POST', path, { body });
    expect(answer.json().status).toMatchObject({ authenticated: false });
    expect(answer.text.split(body.spec.token).length).toBeLessThanOrEqual(2);
  }
  expect((await daemon.call('POST', path, { body: elsewhere, token: key('plain') })).code).toBe(
    403,
  );
});

describe('kubectl', () => {
  const as = (name: string, ...args: string[]): string[] => ['--token', key(name), ...args];

  test('auth can-i answers with the scope in mind', async () => {
    const kubectl = kubectlOf(daemon);
    const ask = async (...args: string[]) => (await kubectl.run(args)).stdout.trim();
    expect(await ask('auth', 'can-i', '*', '*')).toBe('yes');
    expect(await ask(...as('reading', 'auth', 'can-i', 'list', 'teams'))).toBe('yes');
    expect(await ask(...as('reading', 'auth', 'can-i', 'delete', 'teams/x'))).toBe(
      'no - the roles of the user allow it, but the scope of access key "reading" does not',
    );
    expect(await ask(...as('named', 'auth', 'can-i', 'get', 'team/x'))).toBe('yes');
    expect(await ask(...as('plain', 'auth', 'can-i', 'get', '/metrics'))).toBe('yes');
  });

  test('auth can-i answers about control files as a push does', async () => {
    const steward = { metadata: { name: 'steward' } };
    const right = { apiGroups: [GROUP], resources: ['repository/controlfiles'], verbs: ['update'] };
    const apiGroup = 'rbac.authorization.k8s.io';
    const made = async (path: string, body: object) => {
      const answer = await daemon.call('POST', path, { body: { ...steward, ...body } });
      expect(answer.code, answer.text).toBe(201);
      return answer.json();
    };
    await made(`${API}/users`, {});
    const { spec } = await made(`${API}/ownedaccesskeys`, { spec: { user: 'steward' } });
    await made(`${RBAC}/clusterroles`, { rules: [right] });
    await made(`${RBAC}/clusterrolebindings`, {
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'steward' },
      subjects: [{ apiGroup, kind: 'User', name: 'steward' }],
    });
    const kubectl = kubectlOf(daemon);
    const mayUpdate = async (token: string, ...words: string[]): Promise<string> =>
      (await kubectl.run(['--token', token, 'auth', 'can-i', 'update', ...words])).stdout.trim();
    const asked = [
      ['repository/controlfiles'],
      ['repository', '--subresource=controlfiles'],
      [`repository.${GROUP}`, '--subresource=controlfiles'],
    ];
    for (const words of asked) {
      expect(await mayUpdate(spec.key, ...words)).toBe('yes');
      expect(await mayUpdate(key('plain'), ...words)).toBe('no');
    }
    expect(await mayUpdate(spec.key, 'repository/other')).toBe('no');
    const list = await kubectl.run(['--token', spec.key, 'auth', 'can-i', '--list']);
    expect(list.stdout).toMatch(
      /^repository\.management\.gitplane\.dev\/controlfiles .*\[update\]$/m,
    );
  });

  test('auth can-i --list prints the rights of the key', async () => {
    const { stdout, stderr } = await kubectlOf(daemon).run(
      as('teams', 'auth', 'can-i', '--list', '-n', NAMESPACE),
    );
    expect(stderr).toContain('the list may be incomplete');
    expect(stdout).toMatch(
      /^teams\.management\.gitplane\.dev +\[\] +\[\] +\[get list update delete\]$/m,
    );
    expect(stdout).not.toMatch(/^(users|sharedsecrets)\./m);
  });

  test('auth whoami names the user and the key', async () => {
    const out = await kubectlOf(daemon).ok(as('teams', 'auth', 'whoami'));
    expect(out).toMatch(/^Username +bob$/m);
    expect(out).toMatch(/^Extra: gitplane\.dev\/access-key +\[teams\]$/m);
  });

  test('explains the reviews and validates them', async () => {
    const kubectl = kubectlOf(daemon);
    expect(await kubectl.ok(['explain', 'selfsubjectaccessreview.spec'])).toContain(
      'resourceAttributes',
    );
    const review = (spec: object) => ({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec,
    });
    const asked = review({ resourceAttributes: { verb: 'list', group: GROUP, resource: 'teams' } });
    const out = await kubectl.ok(['create', '-f', '-', '-o', 'jsonpath={.status.allowed}'], asked);
    expect(out).toBe('true');
    expect(await kubectl.fails(['create', '-f', '-'], review({ resource: 'teams' }))).toContain(
      'unknown field',
    );
  });
});

describe('a TokenReview of an access key', () => {
  const review = (spec: object) =>
    daemon.call('POST', `${AUTHENTICATION}/tokenreviews`, { body: { spec } });

  test('names the user, groups and key', async () => {
    const { status } = (await review({ token: key('plain') })).json();
    expect(status).toMatchObject({
      authenticated: true,
      user: { username: 'bob', extra: { 'gitplane.dev/access-key': ['plain'] } },
    });
    expect(status.user.groups).toContain('system:authenticated');
  });

  test.each<[string, object]>([
    ['that does not exist', { token: 'gpo_no-such-key' }],
    ['for another audience', { key: 'plain', audiences: ['https://elsewhere.example.com'] }],
    ['with a scope, which no answer can carry', { key: 'teams' }],
  ])('%s does not authenticate', async (_title, spec) => {
    const { key: name, ...rest } = spec as { key?: string };
    const answer = await review({ ...rest, ...(name !== undefined && { token: key(name) }) });
    expect(answer.json().status).toEqual({ authenticated: false, error: expect.any(String) });
    expect(answer.json().status.user).toBeUndefined();
  });

  test('a TokenReview without a token is refused', async () => {
    const answer = await review({});
    expect(answer.code).toBe(400);
    expect(answer.text).toContain('token is required for TokenReview in authentication');
  });
});

test.each<[string, object, string, RegExp]>([
  [
    'both forms',
    { rawSelector: 'a=b', requirements: [{ key: 'a', operator: 'Exists' }] },
    'rawSelector',
    /may not specified at the same time as requirements/,
  ],
  ['neither form', {}, 'requirements', /requirements or rawSelector is required/],
  [
    'an unknown operator',
    { requirements: [{ key: 'a', operator: 'Is' }] },
    'requirements[0].operator',
    /not a valid selector operator/,
  ],
  [
    'In without values',
    { requirements: [{ key: 'a', operator: 'In' }] },
    'requirements[0].values',
    /must be specified/,
  ],
  [
    'Exists with values',
    { requirements: [{ key: 'a', operator: 'Exists', values: ['b'] }] },
    'requirements[0].values',
    /may not be specified/,
  ],
])(
  'a label selector in %s is refused with its place',
  async (_title, labelSelector, field, message) => {
    const resourceAttributes = { verb: 'list', group: GROUP, resource: 'teams', labelSelector };
    const body = { spec: { resourceAttributes } };
    const answer = await daemon.call('POST', `${AUTHORIZATION}/selfsubjectaccessreviews`, { body });
    expect(answer.code, answer.text).toBe(422);
    expect(answer.json().details.causes[0]).toMatchObject({
      field: `spec.resourceAttributes.labelSelector.${field}`,
      message: expect.stringMatching(message),
    });
  },
);
