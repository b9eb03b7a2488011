/** Server-side apply, with real kubectl and beside pushes. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { API, type Daemon, findKubectl, RBAC, scratchDir, startDaemon } from '../support/daemon.ts';
import { commitFiles, gitIn } from './clones.ts';
import { watching } from './watching.ts';

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
});

afterAll(async () => {
  await daemon.stop();
});

const APPLY = 'application/apply-patch+yaml';

function team(name: string, spec: object, metadata: object = {}): object {
  return {
    apiVersion: 'management.gitplane.dev/v1',
    kind: 'Team',
    metadata: { name, ...metadata },
    spec,
  };
}

interface Sent {
  readonly manager?: string;
  readonly query?: string;
}

async function apply(name: string, body: object, { manager = 'one', query = '' }: Sent = {}) {
  const path = `${API}/teams/${name}?fieldManager=${manager}${query}`;
  return await daemon.call('PATCH', path, { body, type: APPLY });
}

async function branchHead(): Promise<string> {
  return await gitIn(daemon, join(daemon.dataDir, 'repo.git'), 'rev-parse', 'main');
}

async function ownersOf(name: string): Promise<Record<string, unknown>> {
  const answer = await daemon.call('GET', `${API}/teams/${name}`);
  const entries = answer.json().metadata.managedFields ?? [];
  return Object.fromEntries(
    entries.map((entry: { manager: string; operation: string; fieldsV1: object }) => [
      `${entry.manager} ${entry.operation}`,
      entry.fieldsV1,
    ]),
  );
}

describe('an apply', () => {
  // covers: metadata.managedFields{,.manager,.operation,.fieldsV1}
  test('creates a missing object with 201, and owns its fields', async () => {
    const answer = await apply('made', team('made', { displayName: 'Made', users: ['ada'] }));

    expect([answer.code, answer.json().spec.displayName]).toEqual([201, 'Made']);
    expect(await ownersOf('made')).toEqual({
      'one Apply': { 'f:spec': { 'f:displayName': {}, 'f:users': { 'v:"ada"': {} } } },
    });
  });

  test('an apply that changes nothing writes nothing', async () => {
    const before = (await daemon.call('GET', `${API}/teams/made`)).json();
    const head = await branchHead();
    const answer = await apply('made', team('made', { displayName: 'Made', users: ['ada'] }));

    expect([answer.code, answer.json()]).toEqual([200, before]);
    expect(await branchHead()).toBe(head);
  });

  test('is refused for a field of another manager, and names that manager', async () => {
    await apply('shared', team('shared', { displayName: 'One', description: 'One' }));
    const other = { manager: 'two' };
    const answer = await apply(
      'shared',
      team('shared', { displayName: 'Two', description: 'Two' }),
      other,
    );

    expect([answer.code, answer.json().reason, answer.json().message]).toEqual([
      409,
      'Conflict',
      'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.description\n- .spec.displayName',
    ]);
    expect(answer.json().details.causes).toEqual([
      {
        reason: 'FieldManagerConflict',
        message: 'conflict with "one"',
        field: '.spec.description',
      },
      {
        reason: 'FieldManagerConflict',
        message: 'conflict with "one"',
        field: '.spec.displayName',
      },
    ]);
  });

  test('takes over by force', async () => {
    const sent = { manager: 'two', query: '&force=true' };
    const answer = await apply('shared', team('shared', { displayName: 'Two' }), sent);

    expect(answer.code).toBe(200);
    expect(await ownersOf('shared')).toEqual({
      'one Apply': { 'f:spec': { 'f:description': {} } },
      'two Apply': { 'f:spec': { 'f:displayName': {} } },
    });
  });

  test('shares an equal field, without a commit', async () => {
    const head = await branchHead();
    const answer = await apply('shared', team('shared', { displayName: 'Two' }), {
      manager: 'three',
    });

    expect(answer.code).toBe(200);
    expect(Object.keys(await ownersOf('shared'))).toContain('three Apply');
    expect(await branchHead()).toBe(head);
  });

  test('removes fields that its manager no longer sets and no other manager owns', async () => {
    await apply('less', team('less', { displayName: 'A', users: ['ada', 'bob'] }));
    await apply('less', team('less', { users: ['bob'] }), { manager: 'two' });
    const answer = await apply('less', team('less', { displayName: 'A' }));

    expect(answer.json().spec).toEqual({ displayName: 'A', users: ['bob'] });
  });

  test('an apply as a dry run answers the same and changes nothing', async () => {
    const before = (await daemon.call('GET', `${API}/teams/made`)).json();
    const answer = await apply('made', team('made', { displayName: 'Dry', users: ['ada'] }), {
      query: '&dryRun=All',
    });

    expect([answer.code, answer.json().spec.displayName]).toEqual([200, 'Dry']);
    expect((await daemon.call('GET', `${API}/teams/made`)).json()).toEqual(before);
  });

  const wrong = (body: object, query = '&x') => ({ body, query });
  test.each([
    ['no manager', 422, 'fieldManager: Required value', wrong(team('made', {}), 'none')],
    [
      'a record of its own',
      400,
      'managedFields must be nil',
      wrong(team('made', {}, { managedFields: [] })),
    ],
    ['another name', 400, 'does not match the name on the URL', wrong(team('other', {}))],
    ['another kind', 400, 'invalid object type', wrong({ ...team('made', {}), kind: 'User' })],
    ['an unknown field', 422, 'unknown field', wrong(team('made', { colour: 'red' }))],
    ['an item twice', 400, 'duplicate entries', wrong(team('made', { users: ['a', 'a'] }))],
    ['an old version', 409, 'has been modified', wrong(team('made', {}, { resourceVersion: '1' }))],
  ])('an apply with %s is %i', async (_what, code, message, { body, query }) => {
    const path = `${API}/teams/made${query === 'none' ? '' : `?fieldManager=one${query}`}`;
    const answer = await daemon.call('PATCH', path, { body, type: APPLY });

    expect([answer.code, answer.json().message]).toEqual([code, expect.stringContaining(message)]);
  });

  test('concurrent applies of many managers end with each of them owning its part', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `m${i}`);
    await Promise.all(
      names.map((manager) =>
        apply('many', team('many', {}, { labels: { [manager]: 'x' } }), { manager }),
      ),
    );

    const { labels } = (await daemon.call('GET', `${API}/teams/many`)).json().metadata;
    expect(Object.keys(labels).sort()).toEqual(names);
    expect(Object.keys(await ownersOf('many')).sort()).toEqual(names.map((n) => `${n} Apply`));
  });
});

describe('an object that has a finalizer twice', () => {
  const finalizers = ['example.com/a', 'example.com/a'];

  test('is created, changed and applied to all the same', async () => {
    const body = team('twice', { displayName: 'A' }, { finalizers });
    const path = `${API}/teams/twice`;
    const type = 'application/merge-patch+json';
    const answers = [
      await daemon.call('POST', `${API}/teams`, { body }),
      await daemon.call('PATCH', path, { body: { spec: { displayName: 'B' } }, type }),
      await apply('twice', team('twice', { description: 'C' })),
    ];

    expect(answers.map(({ code }) => code)).toEqual([201, 200, 200]);
    const { spec } = (await daemon.call('GET', path)).json();
    expect(spec).toEqual({ displayName: 'B', description: 'C' });
  });
});

describe('an apply by a user', () => {
  let token: string;

  beforeAll(async () => {
    const make = async (path: string, body: object) => {
      const answer = await daemon.call('POST', path, { body });
      expect(answer.code, answer.text).toBe(201);
      return answer.json();
    };
    const rules = [
      {
        apiGroups: ['management.gitplane.dev'],
        resources: ['teams', 'sharedsecrets'],
        verbs: ['patch'],
      },
    ];
    await make(`${API}/users`, { metadata: { name: 'patcher' }, spec: {} });
    await make(`${RBAC}/clusterroles`, { metadata: { name: 'patcher' }, rules });
    await make(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'patcher' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'patcher' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'patcher' }],
    });
    token = (await make(`${API}/ownedaccesskeys`, { spec: { user: 'patcher' } })).spec.key;
  });

  async function applyAs(path: string, body: object) {
    return await daemon.call('PATCH', `${API}/${path}?fieldManager=p`, {
      body,
      type: APPLY,
      token,
    });
  }

  test('the right to patch changes existing objects', async () => {
    await apply('patched', team('patched', { displayName: 'A' }));
    const answer = await applyAs('teams/patched', team('patched', { description: 'B' }));

    expect(answer.code).toBe(200);
  });

  test('a user without the right to create makes nothing', async () => {
    const answer = await applyAs('teams/unmade', team('unmade', {}));

    expect([answer.code, answer.json().message]).toEqual([
      403,
      expect.stringContaining('cannot create resource "teams"'),
    ]);
    expect((await daemon.call('GET', `${API}/teams/unmade`)).code).toBe(404);
  });

  test('a user without the right to read secrets cannot guess them from conflicts', async () => {
    const secret = {
      apiVersion: 'management.gitplane.dev/v1',
      kind: 'SharedSecret',
      metadata: { name: 'card-gateway', namespace: 'payments' },
      spec: { data: { token: 'Z3Vlc3M=' } },
    };
    const answer = await applyAs('namespaces/payments/sharedsecrets/card-gateway', secret);

    expect([answer.code, answer.json().message]).toEqual([
      403,
      expect.stringContaining('cannot get resource "sharedsecrets"'),
    ]);
  });
});

describe('a push', () => {
  test('takes over its changed fields, and an apply must ask git', async () => {
    await apply('pushed', team('pushed', { displayName: 'Applied', description: 'Applied' }));
    const clone = await daemon.clone();
    const text = JSON.stringify(team('pushed', { displayName: 'Pushed', description: 'Applied' }));
    await commitFiles(daemon, clone, { 'teams/pushed.yaml': text });
    await gitIn(daemon, clone, 'push', '-q');

    expect(await ownersOf('pushed')).toEqual({
      'git Update': { 'f:spec': { 'f:displayName': {} } },
      'one Apply': { 'f:spec': { 'f:description': {} } },
    });
    const answer = await apply('pushed', team('pushed', { displayName: 'Applied' }));
    expect([answer.code, answer.json().message]).toEqual([
      409,
      expect.stringMatching(
        /conflict with "git" using management.gitplane.dev\/v1: \.spec\.displayName/,
      ),
    ]);
  });

  test('brings objects that are its own, until others change or apply', async () => {
    expect(Object.keys(await ownersOf('storefront'))).toEqual(['git Update']);
    const answer = await apply('storefront', team('storefront', { displayName: 'Mine' }));
    expect(answer.json().message).toContain('conflict with "git"');

    const path = `${API}/teams/storefront?fieldManager=ada`;
    const type = 'application/merge-patch+json';
    const patched = await daemon.call('PATCH', path, {
      body: { spec: { description: 'x' } },
      type,
    });
    expect(patched.code, patched.text).toBe(200);
    const owners = await ownersOf('storefront');
    expect(owners['ada Update']).toEqual({ 'f:spec': { 'f:description': {} } });
    expect(owners['git Update']).toMatchObject({ 'f:spec': { '.': {}, 'f:displayName': {} } });
    expect(owners['git Update']).not.toHaveProperty(['f:spec', 'f:description']);
  });

  // covers: Team.status
  // covers: metadata.managedFields{,.manager,.operation,.apiVersion,.time,.fieldsType,.fieldsV1}
  test('is the manager on every read', async () => {
    const clone = await daemon.clone();
    const push = async (spec: object | null, finalizers: string[] = []): Promise<void> => {
      // Fields that stand before the metadata have metadata of their own.
      const annotations = { first: '"metadata":{"managedFields":[' };
      const { metadata, ...rest } = {
        ...team('read', spec ?? {}, { annotations, finalizers }),
      } as {
        metadata: object;
      };
      const text = spec === null ? null : JSON.stringify({ ...rest, metadata });
      await commitFiles(daemon, clone, { 'teams/read.yaml': text });
      await gitIn(daemon, clone, 'push', '-q');
    };
    await push({ displayName: 'One' });
    const list = (await daemon.call('GET', `${API}/teams`)).json();
    const version: string = list.metadata.resourceVersion;
    const watch = await watching(
      daemon,
      `${API}/teams?watch=1&resourceVersion=${version}&fieldSelector=metadata.name=read`,
    );
    await push({ displayName: 'Two' });
    await watch.atLeast(1);
    await push(null);
    const events = await watch.atLeast(2);
    watch.close();
    await push({ displayName: 'Three' });

    const get = async (path: string, accept = 'application/json') =>
      await daemon.call('GET', `${API}/teams${path}`, { headers: { accept } });
    const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
    const partial = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
    const exact = `?resourceVersion=${version}&resourceVersionMatch=Exact`;
    // biome-ignore lint/suspicious/noExplicitAny: objects of every form
    const named = (items: any[]) => items.find(({ metadata }) => metadata.name === 'read');
    // biome-ignore lint/suspicious/noExplicitAny: objects of every form
    const rows = (await get('', table)).json().rows.map(({ object }: any) => object);
    const reads = {
      get: (await get('/read')).json(),
      'get by the routes': (await get('/read?resourceVersion=0')).json(),
      yaml: parse((await get('/read', 'application/yaml')).text),
      partial: (await get('/read', partial)).json(),
      list: named((await get('')).json().items),
      'the same list': named((await get('')).json().items),
      selected: named((await get('?fieldSelector=metadata.name=read')).json().items),
      table: named(rows),
      exact: named((await get(exact)).json().items),
      modified: events[0]?.object,
      deleted: events[1]?.object,
      past: (await get(`/read?atRevision=${await branchHead()}`)).json(),
      'dry run': (
        await daemon.call('PATCH', `${API}/teams/read?dryRun=All`, {
          body: {},
          type: 'application/merge-patch+json',
        })
      ).json(),
    };
    for (const [read, { metadata }] of Object.entries(reads)) {
      expect.soft(metadata.managedFields, read).toEqual([
        {
          manager: 'git',
          operation: 'Update',
          apiVersion: 'management.gitplane.dev/v1',
          time: metadata.creationTimestamp,
          fieldsType: 'FieldsV1',
          fieldsV1: {
            'f:metadata': { 'f:annotations': { '.': {}, 'f:first': {} } },
            'f:spec': { '.': {}, 'f:displayName': {} },
          },
        },
      ]);
    }
    expect(reads.get.status.conditions).toMatchObject([{ type: 'Ready', status: 'True' }]);
    // Git has it no more, and a finalizer holds it.
    await push({ displayName: 'Three' }, ['gitplane.dev/held']);
    await push(null);
    const held = (await get('/read')).json().metadata;
    expect(held.deletionTimestamp).toBeDefined();
    expect(held.managedFields).toMatchObject([{ manager: 'git', operation: 'Update' }]);
    await daemon.call('PATCH', `${API}/teams/read`, {
      body: { metadata: { finalizers: null } },
      type: 'application/merge-patch+json',
    });
    await push({ displayName: 'Three' });
    reads.get = (await get('/read')).json();
    // Fields that were read are sent back, and stay git's.
    const back = await daemon.call('PUT', `${API}/teams/read`, { body: reads.get });
    expect([back.code, back.json().metadata.managedFields]).toEqual([
      200,
      reads.get.metadata.managedFields,
    ]);
    expect((await get('/read')).json().metadata.resourceVersion).toBe(
      reads.get.metadata.resourceVersion,
    );
  });
});

describe.skipIf(findKubectl('1.32') === undefined)('kubectl', () => {
  test('moves an object from client-side to server-side apply', async () => {
    const file = join(scratchDir(), 'moved.json');
    const write = (displayName: string): Promise<void> =>
      writeFile(file, JSON.stringify(team('moved', { displayName, users: ['ada'] })));
    await write('One');
    await daemon.kubectl(['apply', '-f', file]);
    await write('Two');
    await daemon.kubectl(['apply', '--server-side', '-f', file]);

    // Their order is that of their times.
    expect(Object.keys(await ownersOf('moved')).sort()).toEqual([
      'kubectl Apply',
      'kubectl-last-applied Apply',
    ]);
    const { stdout } = await daemon.kubectl(['diff', '--server-side', '-f', file]);
    expect(stdout).toBe('');
  });
});
