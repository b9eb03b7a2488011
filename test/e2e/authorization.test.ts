/** Resources that a key with few rights must not reach, in any form of the request. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';

let daemon: Daemon;
/** May see and make the team `payments` and no other, and read the configuration. */
let key: string;

beforeAll(async () => {
  daemon = await startDaemon();
  const make = async (path: string, body: object): Promise<{ spec: { key: string } }> => {
    const answer = await daemon.call('POST', path, { body });
    expect(answer.code, answer.text).toBe(201);
    return answer.json();
  };
  await make(`${API}/users`, { metadata: { name: 'bob' }, spec: {} });
  const made = await make(`${API}/ownedaccesskeys`, {
    metadata: { name: 'bob' },
    spec: { user: 'bob' },
  });
  key = made.spec.key;
  const [apiGroups, rbac] = [['management.gitplane.dev'], 'rbac.authorization.k8s.io'];
  await make(`${RBAC}/clusterroles`, {
    metadata: { name: 'bob' },
    rules: [
      {
        apiGroups,
        resources: ['teams'],
        resourceNames: ['payments'],
        verbs: ['get', 'list', 'watch', 'create', 'deletecollection'],
      },
      { apiGroups, resources: ['config'], verbs: ['get', 'list'] },
    ],
  });
  await make(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'bob' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'bob' },
    subjects: [{ apiGroup: rbac, kind: 'User', name: 'bob' }],
  });
});

afterAll(async () => {
  await daemon.stop();
});

/** Names of the objects in an answer, whether a list or the lines of a watch. */
function namesIn(text: string): string[] {
  const documents = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const objects = documents.flatMap((one) => one.items ?? [one.object ?? one]);
  return objects.map((object) => object.metadata.name);
}

describe('rights on one name', () => {
  test.each([
    '/teams/payments',
    '/teams?fieldSelector=metadata.name%3Dpayments',
    '/teams?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dpayments',
    '/watch/teams/payments?timeoutSeconds=1',
  ])('show that object at %s', async (path) => {
    const answer = await daemon.call('GET', `${API}${path}`, { token: key });

    expect(answer.code, answer.text).toBe(200);
    expect(namesIn(answer.text)).toEqual(['payments']);
  });

  // covers: authentication.verbs
  test.each([
    ['GET', '/teams'],
    ['GET', '/teams?watch=1'],
    ['GET', '/watch/teams'],
    ['GET', '/teams/platform'],
    ['GET', '/watch/teams/platform'],
    ['GET', '/teams?fieldSelector=metadata.name%3Dplatform'],
    ['GET', '/teams?fieldSelector=metadata.name%21%3Dpayments'],
    ['DELETE', '/teams'],
    ['DELETE', '/teams?fieldSelector=metadata.name%21%3Dpayments'],
    ['POST', '/teams'],
  ])('say no to %s %s', async (method, path) => {
    const body = method === 'POST' ? { metadata: { name: 'payments' }, spec: {} } : undefined;

    const answer = await daemon.call(method, `${API}${path}`, {
      token: key,
      ...(body && { body }),
    });

    expect(answer.code).toBe(403);
  });

  test('do not make another object of a create at that name', async () => {
    const body = { metadata: { name: 'other' }, spec: {} };

    const answer = await daemon.call('POST', `${API}/teams/payments`, { token: key, body });

    expect(answer.code).toBe(405);
    expect((await daemon.call('GET', `${API}/teams/other`)).code).toBe(404);
  });
});

test.each(['config', 'configs'])('rights on config are rights on /%s', async (plural) => {
  const list = await daemon.call('GET', `${API}/${plural}`, { token: key });
  const change = await daemon.call('DELETE', `${API}/${plural}/platform`, { token: key });

  expect([list.code, change.code]).toEqual([200, 403]);
});
