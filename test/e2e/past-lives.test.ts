/**
 * A name that is used again opens nothing of what had it before. Every road to an earlier state,
 * walked by readers whose right is on the name alone, and by one whose right is on every name.
 */
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  API,
  type Daemon,
  findKubectl,
  RBAC,
  startDaemon,
} from '../support/daemon.ts';
import { watching } from './watching.ts';

const DEAD = Buffer.from('planted-Qm4Tz8Wd1Lx').toString('base64');
const LIVING = Buffer.from('the-new-one').toString('base64');
const SECRETS = `${API}/namespaces/vault/sharedsecrets`;
const NAMED = 'fieldSelector=metadata.name%3Dold';
const GROUP = 'management.gitplane.dev';
const apiGroup = 'rbac.authorization.k8s.io';
const merge = 'application/merge-patch+json';

let daemon: Daemon;
const keys: Record<string, string> = {};
/** Versions of the journal: before the first life, in it, and its commit. */
let since: string;
let before: string;
let revision: string;
let uids: { dead: string; living: string };

async function made(path: string, body: object, token = daemon.token): Promise<Answer> {
  const answer = await daemon.call('POST', path, { body, token });
  expect(answer.code, answer.text).toBe(201);
  return answer;
}

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

/** The uid of the object that is made. */
async function life(name: string, value: string, token?: string): Promise<string> {
  const metadata = { name, labels: { mark: value.slice(0, 8) }, annotations: { value } };
  const owner = token === undefined ? {} : { owner: { user: 'owner' } };
  const answer = await made(SECRETS, { metadata, spec: { ...owner, data: { a: value } } }, token);
  return answer.json().metadata.uid;
}

async function remove(name: string): Promise<void> {
  expect((await daemon.call('DELETE', `${SECRETS}/${name}`)).code).toBe(200);
}

async function version(): Promise<string> {
  return (await daemon.call('GET', SECRETS)).json().metadata.resourceVersion;
}

beforeAll(async () => {
  daemon = await startDaemon();
  const secrets = { apiGroups: [GROUP], resources: ['sharedsecrets'] };
  const reads = ['get', 'list', 'watch'];
  await person('owner', [{ ...secrets, verbs: ['create'] }]);
  await person('named', [
    { ...secrets, verbs: [...reads, 'update', 'patch'], resourceNames: ['old', 'new', 'brief'] },
  ]);
  await person('scoped', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }], {
    rules: [
      {
        resources: [{ group: GROUP, resources: ['sharedsecrets'] }],
        resourceNames: ['old'],
        verbs: [...reads, 'update'],
      },
    ],
  });
  const resources = ['sharedsecrets', 'sharedsecrets/*'];
  await person('everything', [{ apiGroups: [GROUP], resources, verbs: ['*'] }]);
  await made(SECRETS, { metadata: { name: 'other' }, spec: {} });
  since = await version();
  const dead = await life('old', DEAD);
  const body = { metadata: { labels: { more: 'x' } } };
  await daemon.call('PATCH', `${SECRETS}/old`, { body, type: merge });
  before = await version();
  revision = (await daemon.call('GET', `${SECRETS}/old/history`)).json().items[0].revision;
  await remove('old');
  uids = { dead, living: await life('old', LIVING, keys['owner']) };
});

afterAll(async () => {
  await daemon.stop();
});

type Road = readonly [
  title: string,
  path: () => string,
  more?: { accept?: string; method?: string; body?: () => object },
];

function token(position: object): string {
  const start = 'vault/a\0';
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', start, ...position })).toString(
    'base64url',
  );
}

const exact = (): string => `resourceVersion=${before}&resourceVersionMatch=Exact`;
const from = (): string => `timeoutSeconds=1&resourceVersion=${since}`;
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const partial = (shape: string): string => `application/json;as=${shape};v=v1;g=meta.k8s.io`;
const WATCH = `${SECRETS}?watch=1&${NAMED}`;
const rollback = { method: 'POST', body: () => ({ revision }) };

const ROADS: readonly Road[] = [
  ['list at a version', () => `${SECRETS}?${NAMED}&${exact()}`],
  ['list at a version, a page', () => `${SECRETS}?${NAMED}&resourceVersion=${before}&limit=1`],
  [
    'list that goes on from a token made by hand',
    () => `${SECRETS}?${NAMED}&continue=${token({ rv: Number(before) })}`,
  ],
  [
    'list at a version as YAML',
    () => `${SECRETS}?${NAMED}&${exact()}`,
    { accept: 'application/yaml' },
  ],
  [
    'list at a version as a table',
    () => `${SECRETS}?${NAMED}&${exact()}&includeObject=Object`,
    { accept: table },
  ],
  [
    'list at a version, metadata alone',
    () => `${SECRETS}?${NAMED}&${exact()}`,
    { accept: partial('PartialObjectMetadataList') },
  ],
  ['list at a version, all namespaces', () => `${API}/sharedsecrets?${NAMED}&${exact()}`],
  ['list of a commit', () => `${SECRETS}?${NAMED}&atRevision=${revision}`],
  [
    'list of a commit that goes on from a token made by hand',
    () => `${SECRETS}?${NAMED}&atRevision=${revision}&continue=${token({ rv: -1, at: revision })}`,
  ],
  ['get of a commit', () => `${SECRETS}/old?atRevision=${revision}`],
  [
    'get of a commit as a table',
    () => `${SECRETS}/old?atRevision=${revision}&includeObject=Object`,
    { accept: table },
  ],
  ['watch replay', () => `${WATCH}&${from()}`],
  ['watch replay after the creation', () => `${WATCH}&timeoutSeconds=1&resourceVersion=${before}`],
  ['watch replay with bookmarks', () => `${WATCH}&${from()}&allowWatchBookmarks=true`],
  [
    'watch replay without initial events',
    () => `${WATCH}&${from()}&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`,
  ],
  ['watch replay as a table', () => `${WATCH}&${from()}&includeObject=Object`, { accept: table }],
  [
    'watch replay, metadata alone',
    () => `${WATCH}&${from()}`,
    { accept: partial('PartialObjectMetadata') },
  ],
  [
    'watch replay of the old spelling',
    () => `${API}/watch/namespaces/vault/sharedsecrets/old?${from()}`,
  ],
  ['watch replay, all namespaces', () => `${API}/sharedsecrets?watch=1&${NAMED}&${from()}`],
  ['rollback', () => `${SECRETS}/old/rollback?dryRun=All`, rollback],
];

async function walk(who: string, [, path, more = {}]: Road): Promise<Answer> {
  const { accept, method = 'GET', body } = more;
  return await daemon.call(method, path(), {
    token: keys[who] ?? '',
    ...(body === undefined ? {} : { body: body() }),
    ...(accept === undefined ? {} : { headers: { accept } }),
  });
}

describe.each(['owner', 'named', 'scoped'])('%s has a right on the name alone', (who) => {
  test.concurrent.each(ROADS)('sees nothing of a dead object by %s', async (...road) => {
    const { code, text } = await walk(who, road as unknown as Road);
    expect([200, 403, 404], text).toContain(code);
    expect(text).not.toContain(DEAD);
    expect(text).not.toContain(DEAD.slice(0, 8));
  });

  test.concurrent('sees only the living object in its history', async () => {
    const answer = await daemon.call('GET', `${SECRETS}/old/history`, { token: keys[who] ?? '' });
    const seen = answer.json().items.map((entry: { uid: string }) => entry.uid);
    expect(new Set(seen)).toEqual(new Set([uids.living]));
  });

  test.concurrent('cannot select by properties of the dead object', async () => {
    const selector = `labelSelector=mark%3D${DEAD.slice(0, 8)}`;
    const ask = async (path: string): Promise<string> =>
      (await daemon.call('GET', path, { token: keys[who] ?? '' })).text;
    const list = JSON.parse(await ask(`${SECRETS}?${NAMED}&${exact()}&${selector}`));
    expect([list.items, list.metadata]).toEqual([[], { resourceVersion: before }]);
    const other = selector.replace(/.$/, 'x');
    for (const query of [from(), `timeoutSeconds=1&resourceVersion=${before}`]) {
      expect(await ask(`${WATCH}&${query}&${selector}`)).toBe(
        await ask(`${WATCH}&${query}&${other}`),
      );
    }
  });

  test.concurrent('gets the events of the living object, and the end of an object that it may know', async () => {
    const read = async (version: string): Promise<string[][]> => {
      const path = `${WATCH}&timeoutSeconds=1&resourceVersion=${version}`;
      const { text } = await daemon.call('GET', path, { token: keys[who] ?? '' });
      const events = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      return events.map(({ type, object }) => [type, object.metadata.uid]);
    };
    // The dead object came and went after that version: a reader of then does not know it.
    expect(await read(since)).toEqual([['ADDED', uids.living]]);
    expect(await read(before)).toEqual([
      ['DELETED', uids.dead],
      ['ADDED', uids.living],
    ]);
  });
});

describe('a reader with the right on every name', () => {
  test.concurrent.each(ROADS)('sees a dead object by %s', async (...road) => {
    const { code, text } = await walk('everything', road as unknown as Road);
    expect(code, text).toBe(200);
    expect(text).toContain(DEAD);
  });
});

test('a tombstone has what a client needs to forget the object, and nothing else', async () => {
  const path = `${WATCH}&timeoutSeconds=1&resourceVersion=${before}`;
  const { text } = await daemon.call('GET', path, { token: keys['owner'] ?? '' });
  const { object } = JSON.parse(text.split('\n')[0] ?? '');
  expect(object).toEqual({
    apiVersion: `${GROUP}/v1`,
    kind: 'SharedSecret',
    metadata: {
      name: 'old',
      namespace: 'vault',
      uid: uids.dead,
      resourceVersion: expect.stringMatching(/^\d+$/),
    },
  });
});

describe('a watch that goes on', () => {
  test('sends a reader by name the whole deleted object that it saw', async () => {
    const dead = await life('new', DEAD);
    const path = `${SECRETS}?watch=1&fieldSelector=metadata.name%3Dnew&resourceVersion=0`;
    const watch = await watching(daemon, path, { token: keys['named'] ?? '' });
    await watch.atLeast(1);
    await remove('new');
    const living = await life('new', LIVING);
    const events = await watch.atLeast(3);
    watch.close();
    expect(events.map(({ type, object }) => [type, object.metadata.uid])).toEqual([
      ['ADDED', dead],
      ['DELETED', dead],
      ['ADDED', living],
    ]);
    expect(events[1]?.object.spec.data).toEqual({ a: DEAD });
  });

  test('hides the next object of a name from the owner of the dead one', async () => {
    await life('mine', LIVING, keys['owner']);
    const path = `${SECRETS}?watch=1&fieldSelector=metadata.name%3Dmine&resourceVersion=0`;
    const watch = await watching(daemon, path, { token: keys['owner'] ?? '' });
    await watch.atLeast(1);
    // Within the second for which a decision counts for readers of every name.
    await daemon.call('PATCH', `${SECRETS}/mine`, {
      body: { spec: { displayName: 'x' } },
      type: merge,
    });
    await remove('mine');
    await life('mine', DEAD);
    const events = await watch.ended();
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    expect(JSON.stringify(events)).not.toContain(DEAD);
  });
});

test('a right on a dead object changes nothing of the next one of its name, however late a body comes', async () => {
  await life('late', LIVING, keys['owner']);
  const text = JSON.stringify({ spec: { displayName: 'taken' } });
  const headers = {
    authorization: `Bearer ${keys['owner']}`,
    'content-type': merge,
    'content-length': text.length,
    // Answered when the request is admitted.
    expect: '100-continue',
  };
  const ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'));
  const url = `${daemon.url}${SECRETS}/late`;
  const code = await new Promise((resolve, reject) => {
    const sent = request(url, { method: 'PATCH', headers, ca, agent: false }, (response) =>
      resolve(response.resume().statusCode),
    );
    sent.on('error', reject);
    sent.on('continue', () => {
      remove('late')
        .then(() => life('late', DEAD))
        .then(() => sent.end(text), reject);
    });
    sent.flushHeaders();
  });
  expect(code).toBe(403);
  const { spec } = (await daemon.call('GET', `${SECRETS}/late`)).json();
  expect(spec).toEqual({ data: { a: DEAD } });
});

test.skipIf(findKubectl('1.32') === undefined)(
  'kubectl shows nothing of a dead object',
  async () => {
    const raw = `${SECRETS}?${NAMED}&${exact()}`;
    const args = ['--token', keys['owner'] ?? '', 'get', '--raw', raw];
    const { stdout, code, stderr } = await daemon.kubectl(args);
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout).items).toEqual([]);
  },
);

test('shows nothing of a dead object after a restart', async () => {
  await daemon.stop();
  daemon = await startDaemon({ dataDir: daemon.dataDir, seed: undefined });
  const answers = await Promise.all(ROADS.map((road) => walk('owner', road)));
  for (const { text } of answers) expect(text).not.toContain(DEAD);
});
