/**
 * Roads to secrets beside a plain GET, tried by a user who may not see them, and by a user who
 * may no longer: the past, histories, rollbacks, plans, tables, dry runs, reviews, clones, watches.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Answer, API, type Daemon, RBAC, scratchDir, startDaemon } from '../support/daemon.ts';
import { type Watching, watching } from './watching.ts';

const VALUE = 'planted-Wd5Kq8Zt2Lx7Rv0N';
const ENCODED = Buffer.from(VALUE).toString('base64');
const ROOT = '/kubernetes/management';
const SECRETS = `${API}/namespaces/vault/sharedsecrets`;
const NAMED = 'planted';
const apiGroup = 'rbac.authorization.k8s.io';
const merge = 'application/merge-patch+json';

let daemon: Daemon;
/** The commit that holds the value. */
let revision: string;
const keys: Record<string, string> = {};

async function made(path: string, body: object): Promise<Answer> {
  const answer = await daemon.call('POST', path, { body });
  expect(answer.code, answer.text).toBe(201);
  return answer;
}

/** A user with rules of its own, and a key. */
async function person(name: string, rules: object[], scope?: object): Promise<void> {
  const metadata = { name };
  await made(`${API}/users`, { metadata, spec: {} });
  await made(`${RBAC}/clusterroles`, { metadata, rules });
  await made(`${RBAC}/clusterrolebindings`, {
    metadata,
    roleRef: { apiGroup, kind: 'ClusterRole', name },
    subjects: [{ apiGroup, kind: 'User', name }],
  });
  const spec = { user: name, ...(scope === undefined ? {} : { scope }) };
  keys[name] = (await made(`${API}/ownedaccesskeys`, { metadata, spec })).json().spec.key;
}

beforeAll(async () => {
  daemon = await startDaemon();
  const group = ['management.gitplane.dev'];
  const everythingElse = ['teams', 'users', 'config', 'ownedaccesskeys', 'projectsecrets'];
  await person('nobody', []);
  // All that there is, but no right to get secrets: writing is not reading.
  await person('writer', [
    { apiGroups: group, resources: everythingElse, verbs: ['*'] },
    {
      apiGroups: group,
      resources: ['sharedsecrets'],
      verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
    },
    { apiGroups: group, resources: ['sharedsecrets/*'], verbs: ['get', 'list', 'create'] },
  ]);
  // An administrator whose key reaches teams and git's path without the right to read it.
  await person(
    'scoped',
    [
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      { nonResourceURLs: ['*'], verbs: ['*'] },
    ],
    { rules: [{ resources: [{ group: group[0], resources: ['teams'] }] }] },
  );
  await person('reader', [
    { apiGroups: group, resources: ['sharedsecrets'], verbs: ['get', 'list', 'watch'] },
  ]);
  await made(SECRETS, { metadata: { name: NAMED }, spec: { data: { a: ENCODED } } });
  revision = (await daemon.call('GET', `${SECRETS}/${NAMED}/history`)).json().items[0].revision;
  const change = { body: { spec: { data: { a: 'bmV3' } } }, type: merge };
  expect((await daemon.call('PATCH', `${SECRETS}/${NAMED}`, change)).code).toBe(200);
});

afterAll(async () => {
  await daemon.stop();
});

type Road = readonly [
  what: string,
  method: string,
  path: () => string,
  more?: { body?: object; type?: string; accept?: string },
];

const one = (query = ''): string => `${SECRETS}/${NAMED}${query}`;
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const review = `${ROOT}/apis/authorization.k8s.io/v1`;

const ROADS: readonly Road[] = [
  ['by name', 'GET', () => one()],
  ['as YAML', 'GET', () => one(), { accept: 'application/yaml' }],
  ['as a table with objects', 'GET', () => `${SECRETS}?includeObject=Object`, { accept: table }],
  ['in a list', 'GET', () => SECRETS],
  ['in a list of every namespace', 'GET', () => `${API}/sharedsecrets`],
  ['in a list of one name', 'GET', () => `${SECRETS}?fieldSelector=metadata.name%3D${NAMED}`],
  ['in a watch', 'GET', () => `${SECRETS}?watch=1&timeoutSeconds=1&resourceVersion=0`],
  ['by the watch of another spelling', 'GET', () => `${API}/watch/sharedsecrets?timeoutSeconds=1`],
  ['in the past', 'GET', () => one(`?atRevision=${revision}`)],
  ['in a list of the past', 'GET', () => `${SECRETS}?atRevision=${revision}`],
  ['by time', 'GET', () => one(`?atTime=${new Date(Date.now() - 1000).toISOString()}`)],
  ['by its history', 'GET', () => one('/history')],
  ['by bringing it back', 'POST', () => one('/rollback'), { body: { revision: 'REVISION' } }],
  [
    'by trying to bring it back',
    'POST',
    () => one('/rollback?dryRun=All'),
    { body: { revision: 'REVISION' } },
  ],
  ['by a plan', 'POST', () => '/plan', { body: { revision: 'REVISION' } }],
  ['by git', 'GET', () => '/git/platform.git/info/refs?service=git-upload-pack'],
  ['by an unknown subresource', 'GET', () => one('/status')],
  [
    'by a patch that changes nothing',
    'PATCH',
    () => one('?dryRun=All'),
    { body: { metadata: { labels: {} } }, type: merge },
  ],
  [
    'by guessing with a test',
    'PATCH',
    () => one('?dryRun=All'),
    {
      body: [{ op: 'test', path: '/spec/data/a', value: 'bmV3' }],
      type: 'application/json-patch+json',
    },
  ],
  [
    'by copying a field to where it may be read',
    'PATCH',
    () => one('?dryRun=All&fieldManager=x'),
    {
      body: [{ op: 'copy', from: '/spec/data', path: '/metadata/annotations' }],
      type: 'application/json-patch+json',
    },
  ],
  [
    'by asking what others may',
    'POST',
    () => `${review}/subjectaccessreviews`,
    { body: { spec: { user: 'admin', resourceAttributes: { verb: 'get' } } } },
  ],
  ['by deleting it', 'DELETE', () => one('?dryRun=All')],
  ['by deleting all', 'DELETE', () => `${SECRETS}?dryRun=All`],
  ['in metrics', 'GET', () => '/metrics'],
  ['in events', 'GET', () => `${ROOT}/api/v1/events`],
];

async function walk(
  who: string,
  [, method, path, more = {}]: Road,
): Promise<{ code: number; text: string }> {
  const body = JSON.parse(JSON.stringify(more.body ?? null).replace('REVISION', revision));
  const basic = path().startsWith('/git/');
  const token = keys[who] ?? '';
  return await daemon.call(method, path(), {
    ...(body === null ? {} : { body }),
    ...(more.type === undefined ? {} : { type: more.type }),
    headers: {
      ...(more.accept === undefined ? {} : { accept: more.accept }),
      ...(basic ? { authorization: `Basic ${btoa(`x:${token}`)}` } : {}),
    },
    token: basic ? null : token,
  });
}

describe.each(['nobody', 'scoped'])('%s, who may not see a secret, is refused', (who) => {
  test.each(ROADS)('%s', async (...parts) => {
    const road = parts as unknown as Road;
    const { code, text } = await walk(who, road);
    expect([403, 404, 405], text).toContain(code);
    expect(text).not.toContain(ENCODED);
    expect(text).not.toContain('bmV3');
  });

  test('gets the same words for a secret that exists and one that does not', async () => {
    const token = keys[who] ?? '';
    for (const path of ['', '/history', `?atRevision=${revision}`]) {
      const [there, not] = await Promise.all(
        [NAMED, 'nowhere'].map((name) =>
          daemon.call('GET', `${SECRETS}/${name}${path}`, { token }),
        ),
      );
      expect(there?.text.replaceAll(NAMED, 'nowhere')).toBe(not?.text);
    }
  });
});

describe('writer, who may change secrets and not see them, learns no value', () => {
  test.each(ROADS)('%s', async (...parts) => {
    const road = parts as unknown as Road;
    const { text } = await walk('writer', road);
    expect(text).not.toContain(ENCODED);
    expect(text).not.toContain('bmV3');
  });
});

test('a user who may change and see a secret is answered with it', async () => {
  const options = { body: { metadata: { labels: { a: 'b' } } }, type: merge };
  expect((await daemon.call('PATCH', one(), options)).json().spec.data).toEqual({ a: 'bmV3' });
  const writer = await daemon.call('PATCH', one(), { ...options, token: keys['writer'] ?? '' });
  expect([writer.code, writer.json().spec.data]).toEqual([200, { a: '***' }]);
});

test('data of a connector at a key is for the connector alone to write, and is not repeated', async () => {
  const identity = { userId: 'u', connectorData: ENCODED };
  const keys = `${API}/ownedaccesskeys`;
  await made(keys, { metadata: { name: 'login' }, spec: { user: 'reader' } });
  for (const answer of [
    await daemon.call('POST', keys, {
      body: { metadata: { name: 'vouched' }, spec: { user: 'reader', identity } },
    }),
    await daemon.call('PATCH', `${keys}/login`, { body: { spec: { identity } }, type: merge }),
  ]) {
    expect([answer.code, answer.json().details.causes[0].field]).toEqual([422, 'spec.identity']);
    expect(answer.text).not.toContain(ENCODED);
  }
  const { stdout } = await daemon.git(
    ['show', 'main:ownedaccesskeys/login.yaml'],
    join(daemon.dataDir, 'repo.git'),
  );
  expect(stdout).not.toContain('identity');
});

test('an object of writer is answered as sent, and a deleted one is not shown', async () => {
  const token = keys['writer'] ?? '';
  const spec = { data: { b: ENCODED } };
  const body = { metadata: { name: 'own', finalizers: ['x.y/z'] }, spec };
  const answer = await daemon.call('POST', SECRETS, { body, token });
  expect(answer.json().spec).toEqual(spec);
  for (const path of [`${SECRETS}/own`, `${SECRETS}?fieldSelector=metadata.name%3Down`]) {
    const deleted = await daemon.call('DELETE', path, { token });
    expect([deleted.code, deleted.text]).toEqual([200, expect.not.stringContaining(ENCODED)]);
    expect(deleted.text).toContain('"deletionTimestamp"');
  }
});

describe('a user who lost the right', () => {
  async function untilClosed(watch: Watching): Promise<readonly { object: unknown }[]> {
    let count = 0;
    let over = false;
    const ended = watch.ended().then((events) => {
      over = true;
      return events;
    });
    await vi.waitFor(
      async () => {
        const data = { late: Buffer.from(`late-${count++}`).toString('base64') };
        await daemon.call('PATCH', one(), { body: { spec: { data } }, type: merge });
        expect(over).toBe(true);
      },
      { timeout: 20_000, interval: 100 },
    );
    return await ended;
  }

  const taken: readonly [string, () => Promise<unknown>][] = [
    ['because the role is gone', () => daemon.call('DELETE', `${RBAC}/clusterrolebindings/reader`)],
    [
      'because the key is disabled',
      () =>
        daemon.call('PATCH', `${API}/ownedaccesskeys/reader`, {
          body: { spec: { disabled: true } },
          type: merge,
        }),
    ],
  ];

  test.each(taken)('sees a watch that goes on end: %s', async (_why, take) => {
    const path = `${SECRETS}?watch=1&resourceVersion=0`;
    const watch = await watching(daemon, path, { token: keys['reader'] ?? '' });
    await watch.atLeast(1);
    await take();
    const events = await untilClosed(watch);
    // Events within a second of the last check may still be sent.
    expect(events.length).toBeLessThan(40);
    await made(`${RBAC}/clusterrolebindings`, {
      metadata: { name: `reader-${Date.now()}` },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'reader' },
      subjects: [{ apiGroup, kind: 'User', name: 'reader' }],
    });
  });

  test('brings nothing back by a push without the right to read', async () => {
    const url = `https://x:${keys['scoped']}@127.0.0.1:${daemon.port}/git/platform.git`;
    const clone = await daemon.git(['clone', '-q', url, join(scratchDir(), 'c')], '/tmp');
    expect([clone.code, clone.stderr]).toEqual([128, expect.stringContaining('403')]);
    const own = await daemon.clone();
    writeFileSync(join(own, 'x.txt'), 'x');
    await daemon.git(['add', '.'], own);
    await daemon.git(['commit', '-qm', 'x'], own);
    const push = await daemon.git(['push', url, 'HEAD:other'], own);
    expect([push.code, push.stderr]).toEqual([128, expect.stringContaining('403')]);
  });
});
