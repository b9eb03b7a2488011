/** The audit log of the real daemon: what is in it, what never is, and what it joins to. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { watching } from './watching.ts';

const SECRET = 'planted-Tb6Yw1Qm4Zc9';
const ENCODED = Buffer.from(SECRET).toString('base64');
const OWN = 'gitplane.dev';
const CONFIG = `${API}/config/platform`;

// biome-ignore lint/suspicious/noExplicitAny: events have many shapes
type Event = any;

let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

async function configure(audit: object): Promise<void> {
  const raw = stringify({ audit: { enabled: true, ...audit } });
  const answer = await daemon.call('PATCH', CONFIG, {
    body: { spec: { raw } },
    type: 'application/merge-patch+json',
  });
  expect(answer.code, answer.text).toBe(200);
}

function events(name: string): Event[] {
  return readFileSync(join(daemon.dataDir, name), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Waits for the event of a request, by the id that its answer had. */
async function eventOf(name: string, id: unknown, stage = 'ResponseComplete'): Promise<Event> {
  const find = (): Event =>
    events(name).find((event) => event.auditID === id && event.stage === stage);
  await expect.poll(find).toBeDefined();
  return find();
}

describe('an event', () => {
  test('names the user and the action, and links to the commit and back', async () => {
    await configure({ path: 'all.log', policy: { rules: [{ level: 'RequestResponse' }] } });
    const body = { metadata: { name: 'joined' }, spec: { users: ['ann'] } };
    const made = await daemon.call('POST', `${API}/teams?access_token=${SECRET}`, {
      body,
      headers: { 'user-agent': 'x'.repeat(2000) },
    });
    expect(made.code, made.text).toBe(201);
    const id = made.headers['audit-id'];
    const event = await eventOf('all.log', id);
    expect(event).toMatchObject({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'RequestResponse',
      verb: 'create',
      user: { username: 'admin', groups: expect.arrayContaining(['system:authenticated']) },
      sourceIPs: ['127.0.0.1'],
      objectRef: { resource: 'teams', apiGroup: 'management.gitplane.dev', apiVersion: 'v1' },
      responseStatus: { code: 201 },
      requestObject: body,
      responseObject: { metadata: { name: 'joined' } },
      annotations: {
        'authorization.k8s.io/decision': 'allow',
        'gitplane.dev/revision': made.headers['gitplane-commit'],
      },
    });
    expect(event.userAgent).toHaveLength(1024 + '...TRUNCATED'.length);
    expect(event.requestReceivedTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(await eventOf('all.log', id, 'RequestReceived')).not.toHaveProperty('requestObject');
    const pretty = await daemon.call('GET', `${API}/teams/joined?pretty=true`);
    expect(pretty.text).toContain('\n');
    expect(await eventOf('all.log', pretty.headers['audit-id'])).toMatchObject({
      responseObject: { metadata: { name: 'joined' } },
    });
    const clone = await daemon.clone();
    const { stdout } = await daemon.git(
      ['log', '-1', '--format=%H %(trailers:key=Request-Id,valueonly)'],
      clone,
    );
    expect(stdout.trim()).toBe(`${made.headers['gitplane-commit']} ${id}`);
  });

  test('covers refused requests, unauthenticated clients, watches and git', async () => {
    const stranger = await daemon.call('GET', `${API}/teams`, { token: null });
    expect(await eventOf('all.log', stranger.headers['audit-id'])).toMatchObject({
      user: { username: 'system:anonymous' },
      responseStatus: { code: 401, status: 'Failure', reason: 'Unauthorized' },
    });
    const wrong = await daemon.call('POST', `${API}/teams`, { body: '{' });
    expect(await eventOf('all.log', wrong.headers['audit-id'])).toMatchObject({
      responseStatus: { code: 400 },
      annotations: { 'gitplane.dev/request-object-omitted': 'decode-failed' },
    });
    // As many as are never applied: masking them would hold up others.
    const operation = { op: 'add', path: '/spec/description', value: 'x' };
    const large = await daemon.call('PATCH', `${API}/teams/storefront`, {
      body: Array(10_001).fill(operation),
      type: 'application/json-patch+json',
    });
    expect(await eventOf('all.log', large.headers['audit-id'])).toMatchObject({
      responseStatus: { code: 413 },
      annotations: { 'gitplane.dev/request-object-omitted': 'too-large' },
    });
    const watch = await watching(daemon, `${API}/teams?watch=true`);
    await expect.poll(() => events('all.log').some(isWatch('ResponseStarted'))).toBe(true);
    watch.close();
    await expect.poll(() => events('all.log').some(isWatch('ResponseComplete'))).toBe(true);
    expect(events('all.log').some((event) => event.requestURI.endsWith('/git-upload-pack'))).toBe(
      true,
    );
  });

  const isWatch =
    (stage: string) =>
    (event: Event): boolean =>
      event.verb === 'watch' && event.stage === stage;

  test('holds no secret, for any request and any failure', async () => {
    const secrets = `${API}/namespaces/default/sharedsecrets`;
    const metadata = { name: 'planted' };
    const spec = { data: { a: ENCODED } };
    const sent: [string, string, unknown, string?][] = [
      ['POST', secrets, { metadata, spec }],
      ['POST', secrets, { metadata, spec: { dta: { a: ENCODED } } }],
      ['POST', secrets, `{"spec": {"data": {"a": "${ENCODED}"}}`],
      ['PATCH', `${secrets}/planted`, { spec }, 'application/merge-patch+json'],
      [
        'PATCH',
        `${secrets}/planted`,
        [{ op: 'add', path: '/spec/data/b', value: ENCODED }],
        'application/json-patch+json',
      ],
      [
        'PATCH',
        `${secrets}/planted?fieldManager=x`,
        { apiVersion: 'management.gitplane.dev/v1', kind: 'SharedSecret', metadata, spec },
        'application/apply-patch+yaml',
      ],
      ['GET', secrets, undefined],
      ['GET', `${secrets}/planted`, undefined],
      ['POST', `${API}/ownedaccesskeys`, { metadata, spec: { user: 'admin' } }],
      ['POST', `${API}/directclusterendpointtokens`, { spec: {} }],
      [
        'PATCH',
        CONFIG,
        { spec: { raw: `auth: {oidc: {clientSecret: ${SECRET}, wrong: 1}}` } },
        'application/merge-patch+json',
      ],
      [
        'POST',
        '/kubernetes/management/apis/authentication.k8s.io/v1/tokenreviews',
        { spec: { token: SECRET } },
      ],
    ];
    const ids: unknown[] = [];
    let key = 'none';
    for (const [method, path, body, type = 'application/json'] of sent) {
      const answer = await daemon.call(method, path, {
        ...(body === undefined
          ? {}
          : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        type,
      });
      ids.push(answer.headers['audit-id']);
      if (path.endsWith('/ownedaccesskeys')) key = answer.json().spec.key;
    }
    for (const id of ids) await eventOf('all.log', id);
    const text = readFileSync(join(daemon.dataDir, 'all.log'), 'utf8');
    for (const secret of [SECRET, ENCODED, key, daemon.token]) expect(text).not.toContain(secret);
  });
});

describe('a reference to an object', () => {
  const secrets = `${API}/namespaces/default/sharedsecrets`;
  const team = (metadata: object): object => ({ metadata, spec: {} });
  const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
  /** `was`: what the reference has, and no more; a uid stands for any. */
  const rows: [
    string,
    () => Promise<{ headers: object; code: number }>,
    number,
    Record<string, unknown>,
  ][] = [
    [
      'a create',
      () => daemon.call('POST', `${API}/teams`, { body: team({ name: 'referred' }) }),
      201,
      { name: 'referred', uid: true },
    ],
    [
      'a create with generateName, answered by a table',
      () =>
        daemon.call('POST', `${API}/teams`, {
          body: team({ generateName: 'made-' }),
          headers: { accept: table },
        }),
      201,
      { name: expect.stringMatching(/^made-\w+$/), uid: true },
    ],
    [
      'a create in a namespace whose answer is YAML',
      () =>
        daemon.call('POST', secrets, {
          body: team({ name: 'referred' }),
          headers: { accept: 'application/yaml' },
        }),
      201,
      { name: 'referred', namespace: 'default', uid: true },
    ],
    [
      'a dry run',
      () => daemon.call('POST', `${API}/teams?dryRun=All`, { body: team({ name: 'dry' }) }),
      201,
      { name: 'dry', uid: true },
    ],
    [
      'a create of what is there',
      () => daemon.call('POST', `${API}/teams`, { body: team({ name: 'referred' }) }),
      409,
      { name: 'referred' },
    ],
    [
      'a create that is refused',
      () => daemon.call('POST', secrets, { body: { metadata: { name: 'x', namespace: 'other' } } }),
      400,
      { name: 'x', namespace: 'default' },
    ],
    [
      'a create with a name that is no text',
      () => daemon.call('POST', `${API}/teams`, { body: { metadata: { name: { a: 1 } } } }),
      400,
      {},
    ],
    [
      'a create without the right',
      () => daemon.call('POST', `${API}/teams`, { body: team({ name: 'x' }), token: null }),
      401,
      {},
    ],
    [
      'an update',
      () =>
        daemon.call('PUT', `${API}/teams/referred`, {
          body: { ...team({ name: 'referred' }), spec: { users: ['ann'] } },
        }),
      200,
      { name: 'referred', uid: true },
    ],
    ['a list', () => daemon.call('GET', `${API}/teams`), 200, {}],
    ['a read', () => daemon.call('GET', `${API}/teams/referred`), 200, { name: 'referred' }],
  ];

  test.each(rows)('%s is complete at level Metadata', async (_title, call, code, was) => {
    await configure({ path: 'refs.log', policy: { rules: [{ level: 'Metadata' }] } });
    const answer = await call();
    expect(answer.code).toBe(code);
    const id = (answer.headers as Record<string, unknown>)['audit-id'];
    const {
      resource: _kind,
      apiGroup,
      apiVersion,
      ...named
    } = (await eventOf('refs.log', id)).objectRef;
    expect([apiGroup, apiVersion]).toEqual(['management.gitplane.dev', 'v1']);
    const uid = was['uid'] === true ? { uid: expect.stringMatching(/^[0-9a-f-]{36}$/) } : {};
    expect(named).toEqual({ ...was, ...uid });
    expect(await eventOf('refs.log', id)).not.toHaveProperty('requestObject');
    // The body was not read yet.
    const received = (await eventOf('refs.log', id, 'RequestReceived')).objectRef;
    expect(received.uid).toBeUndefined();
  });
});

test('a change of the configuration changes the policy and the file at once', async () => {
  await configure({ path: 'writes.log', level: 1 });
  await expect.poll(() => readdirSync(daemon.dataDir)).toContain('writes.log');
  const read = await daemon.call('GET', `${API}/teams`);
  const written = await daemon.call('DELETE', `${API}/teams/joined`);
  await eventOf('writes.log', written.headers['audit-id']);
  // Records from before the change that were not written yet are in the new file as well: nothing is lost.
  const stagesOf = (id: unknown): string[] =>
    events('writes.log').flatMap((event) => (event.auditID === id ? [event.stage] : []));
  expect(stagesOf(read.headers['audit-id'])).toEqual([]);
  expect(stagesOf(written.headers['audit-id'])).toEqual(['ResponseComplete']);
});

test('a log that cannot be written delays no client, and nothing that waited is lost', async () => {
  writeFileSync(join(daemon.dataDir, 'taken'), 'a file');
  await configure({ path: 'taken/a.log', level: 2 });
  const first = await daemon.call('GET', `${API}/teams`);
  // The log before is used while the new one cannot be opened.
  await eventOf('writes.log', first.headers['audit-id']);
  // The standard error arrives by a pipe of its own.
  await expect
    .poll(() => daemon.output())
    .toContain('The audit log does not follow the configuration');
  rmSync(join(daemon.dataDir, 'writes.log'));
  const second = await daemon.call('GET', `${API}/teams`);
  await eventOf('writes.log', second.headers['audit-id']);
  expect(readdirSync(daemon.dataDir)).toContain('writes.log');
  const metrics = (await daemon.call('GET', '/metrics')).text;
  expect(metrics).toMatch(/gitplane_audit_dropped_events_total\{sink="file"\} 0/);
});

describe('events beside API requests', () => {
  test('a push is joined to the commits that it brought, and a refused one reports it', async () => {
    await configure({ path: 'rest.log', policy: { rules: [{ level: 'RequestResponse' }] } });
    const clone = await daemon.clone();
    const before = (await daemon.git(['rev-parse', 'HEAD'], clone)).stdout.trim();
    writeFileSync(join(clone, 'README.md'), 'joined\n');
    await daemon.git(['add', '-A'], clone);
    await daemon.git(['commit', '-qm', 'by hand'], clone);
    const after = (await daemon.git(['rev-parse', 'HEAD'], clone)).stdout.trim();
    expect((await daemon.git(['push', '-q'], clone)).code).toBe(0);
    const ofPush = (result: string): Event =>
      events('rest.log').find(({ annotations }) => annotations?.[`${OWN}/push-result`] === result);
    await expect.poll(() => ofPush('accepted')).toBeDefined();
    expect(ofPush('accepted').annotations).toMatchObject({
      [`${OWN}/revision`]: after,
      [`${OWN}/previous-revision`]: before,
    });
    writeFileSync(join(clone, 'bad.yaml'), 'apiVersion: management.gitplane.dev/v1\nkind: Team\n');
    await daemon.git(['add', '-A'], clone);
    await daemon.git(['commit', '-qm', 'wrong'], clone);
    expect((await daemon.git(['push', '-q'], clone)).code).not.toBe(0);
    await expect.poll(() => ofPush('refused')).toBeDefined();
    expect(ofPush('refused').annotations).not.toHaveProperty(`${OWN}/revision`);
  });

  test('names failed sign-ins with their reason, and attempts to impersonate', async () => {
    const wrong = await daemon.call('GET', `${API}/teams`, { token: 'wrong-key' });
    expect(await eventOf('rest.log', wrong.headers['audit-id'])).toMatchObject({
      user: { username: 'system:anonymous' },
      responseStatus: { code: 401, message: 'Authentication failed, attempted: bearer' },
      annotations: { [`${OWN}/authentication-failure`]: expect.any(String) },
    });
    const headers = { 'impersonate-user': 'bob', 'impersonate-group': 'ops' };
    const other = await daemon.call('GET', `${API}/teams`, { headers });
    expect(await eventOf('rest.log', other.headers['audit-id'])).toMatchObject({
      user: { username: 'admin' },
      impersonatedUser: { username: 'bob', groups: ['ops'] },
      responseStatus: { code: 403 },
      annotations: { 'authorization.k8s.io/decision': 'forbid' },
    });
  });

  test('a log that was moved away is taken again by its name on SIGHUP', async () => {
    const path = join(daemon.dataDir, 'rest.log');
    renameSync(path, `${path}.1`);
    daemon.process.kill('SIGHUP');
    await expect.poll(() => existsSync(path)).toBe(true);
    const answer = await daemon.call('GET', `${API}/teams`);
    await eventOf('rest.log', answer.headers['audit-id']);
  });
});

test('events of served clusters differ by their resources and by the name of the cluster', async () => {
  const clone = await daemon.clone();
  for (const name of ['blue', 'red']) {
    mkdirSync(join(clone, 'tenants', name), { recursive: true });
    writeFileSync(join(clone, 'tenants', name, 'vcluster.yaml'), 'sync: {}\n');
  }
  await daemon.git(['add', '-A'], clone);
  await daemon.git(['commit', '-qm', 'Tenants'], clone);
  const pushed = await daemon.git(['push', '-q'], clone);
  expect(pushed.code, pushed.stderr).toBe(0);
  const rules = [
    { level: 'None', requestTargets: ['Management'] },
    { level: 'Request', requestTargets: ['Cluster'] },
    { level: 'RequestResponse', requestTargets: ['VCluster'], clusters: ['blue'] },
  ];
  await configure({ path: 'clusters.log', policy: { omitStages: ['RequestReceived'], rules } });
  const ask = async (root: string): Promise<unknown> => {
    const path = `/kubernetes/${root}/api/v1/namespaces`;
    await expect.poll(async () => (await daemon.call('GET', path)).code).toBe(200);
    return (await daemon.call('GET', path)).headers['audit-id'];
  };
  const platform = (await daemon.call('GET', `${API}/teams`)).headers['audit-id'];
  const red = await ask('virtualcluster/red');
  const blue = await ask('virtualcluster/blue');
  const local = await ask('cluster/local');
  const requestURI = '/kubernetes/virtualcluster/blue/api/v1/namespaces';
  expect(await eventOf('clusters.log', local)).toMatchObject({ level: 'Request' });
  expect(await eventOf('clusters.log', blue)).toMatchObject({
    level: 'RequestResponse',
    requestURI,
    objectRef: { resource: 'namespaces', apiVersion: 'v1' },
  });
  // They were asked before, and events are written in their order.
  const ids = events('clusters.log').map(({ auditID }) => auditID);
  expect(ids).not.toContain(red);
  expect(ids).not.toContain(platform);
});

test('events on standard output are lines of their own beside the log', async () => {
  await configure({ path: '-', level: 2 });
  const { 'audit-id': id } = (await daemon.call('GET', `${API}/teams`)).headers;
  const lines = (): string[] => daemon.output().split('\n').slice(0, -1);
  const found = (): Event[] =>
    lines()
      .filter((line) => line.startsWith('{"kind":"Event"') && line.includes(String(id)))
      .map((line) => JSON.parse(line));
  await expect.poll(() => found().length).toBeGreaterThan(0);
  expect(found().at(-1)).toMatchObject({ auditID: id, verb: 'list', level: 'Metadata' });
  expect(lines().some((line) => line.includes('The configuration is in force'))).toBe(true);
  expect(readdirSync(daemon.dataDir)).not.toContain('-');
});

describe('the data store', () => {
  const found = async (query: string): Promise<Event[]> => {
    const answer = await daemon.call('GET', `/audit/events?${query}`);
    expect(answer.code, answer.text).toBe(200);
    return answer.json().items;
  };

  test('the data store that is unreachable gives 503 with the remedy, and hides its endpoint', async () => {
    const dataStoreEndpoint = `postgres://audit:${SECRET}@127.0.0.1:1/events`;
    await configure({ path: 'away.log', policy: { rules: [] }, dataStoreEndpoint });
    const answer = await daemon.call('GET', '/audit/events');
    expect(answer.code, answer.text).toBe(503);
    expect(answer.json().message).toContain('AuditWritten');
    expect(answer.headers['retry-after']).toBeDefined();
    expect(answer.text).not.toContain(SECRET);
  });

  test('has the events beside the file, and is asked by commit and by request', async () => {
    const store = { dataStoreEndpoint: 'sqlite://audit.db', dataStoreTTL: 24 };
    await configure({ path: 'rest.log', level: 4, ...store });
    const made = await daemon.call('POST', `${API}/teams`, {
      body: { metadata: { name: 'stored' }, spec: {} },
    });
    const id = made.headers['audit-id'];
    const commit = made.headers['gitplane-commit'];
    await expect
      .poll(() => found(`revision=${commit}`))
      .toMatchObject([{ auditID: id, objectRef: { resource: 'teams' } }]);
    expect(await found(`auditID=${id}&verb=get`)).toEqual([]);
    expect((await daemon.call('GET', '/audit/events?usr=x')).code).toBe(400);
    expect((await daemon.call('GET', '/audit/events', { token: null })).code).toBe(401);
    await eventOf('rest.log', id);
  });

  const sent = {
    level: 'RequestResponse',
    auditID: 'from-an-agent',
    stage: 'ResponseComplete',
    requestURI: `/api/v1/pods?token=${SECRET}`,
    verb: 'create',
    user: { username: 'dev' },
    objectRef: { resource: 'pods' },
    requestObject: { spec: { a: 1, password: SECRET } },
    stageTimestamp: '2026-01-01T00:00:00.000000Z',
  };
  const send = (items: unknown[]) =>
    daemon.call('POST', '/audit/events', {
      body: { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', items },
    });

  // covers: audit.disableAgentSyncBack
  test('takes events of agents, unless the agents store them', async () => {
    await configure({ path: 'rest.log', level: 4 });
    expect((await send([{ ...sent, level: 'x' }])).code).toBe(400);
    expect((await send([sent])).code).toBe(200);
    expect(await eventOf('rest.log', sent.auditID)).toMatchObject({
      requestURI: '/api/v1/pods?token=***',
      requestObject: { spec: { a: 1, password: '***' } },
      annotations: { [`${OWN}/sent-by-agent`]: 'admin' },
    });
    await configure({ path: 'rest.log', level: 4, disableAgentSyncBack: true });
    const refused = await send([{ ...sent, auditID: 'kept-there' }]);
    expect([refused.code, refused.json().message]).toEqual([
      403,
      expect.stringContaining('disableAgentSyncBack'),
    ]);
    expect(readFileSync(join(daemon.dataDir, 'rest.log'), 'utf8')).not.toContain('kept-there');
  });
});
