/** Every verb of kubectl on leases and events, and who may use them. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';
import { type Kubectl, kubectlOf } from './kubectl.ts';

const ROOT = '/kubernetes/management';
const LEASES = `${ROOT}/apis/coordination.k8s.io/v1/namespaces/default/leases`;
const EVENTS = `${ROOT}/api/v1/namespaces/default/events`;

let daemon: Daemon;
let kubectl: Kubectl;

beforeAll(async () => {
  vi.stubEnv('KUBE_EDITOR', 'sed -i s/before/after/');
  daemon = await startDaemon({ seed: undefined });
  kubectl = kubectlOf(daemon);
});

afterAll(async () => {
  await daemon?.stop();
});

interface Body {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
}

function lease(name: string, holderIdentity: string): Body {
  return {
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
    ...{ metadata: { name, namespace: 'default' }, spec: { holderIdentity } },
  };
}

function event(name: string, message: string): Body {
  const involvedObject = { apiVersion: 'management.gitplane.dev/v1', kind: 'Team', name: 'data' };
  return {
    ...{ apiVersion: 'v1', kind: 'Event', metadata: { name, namespace: 'default' } },
    ...{ involvedObject, reason: 'Seen', message, type: 'Warning', count: 1 },
    ...{ source: { component: 'test' }, lastTimestamp: '2026-11-22T08:00:00Z' },
  };
}

describe.each([
  { one: 'lease', shown: 'lease.coordination.k8s.io', body: lease, field: '.spec.holderIdentity' },
  { one: 'event', shown: 'event', body: event, field: '.message' },
])('kubectl and a $one', ({ one, shown, body, field }) => {
  const value = (name: string): Promise<string> =>
    kubectl.ok(['get', one, name, '-o', `jsonpath={${field}}`]);

  test('creates, reads, changes, applies and deletes it', async () => {
    const file = (text: string): object => body('own', text);
    expect(await kubectl.ok(['create', '-f', '-'], file('before'))).toBe(`${shown}/own created\n`);
    expect(await kubectl.ok(['get', one, 'own'])).toContain('before');
    expect(await kubectl.ok(['describe', one, 'own'])).toContain('before');
    expect(await kubectl.ok(['get', `${one}s`, '-A', '-o', 'name'])).toBe(`${shown}/own\n`);
    expect(await kubectl.ok(['edit', one, 'own'])).toBe(`${shown}/own edited\n`);
    expect(await value('own')).toBe('after');
    const nested =
      field === '.message' ? { message: 'late' } : { spec: { holderIdentity: 'late' } };
    const patch = JSON.stringify(nested);
    for (const type of ['strategic', 'merge']) {
      expect(await kubectl.ok(['patch', one, 'own', '--type', type, '-p', patch])).toContain('own');
    }
    expect(await value('own')).toBe('late');
    await kubectl.ok(['label', one, 'own', 'a=b']);
    await kubectl.ok(['annotate', one, 'own', 'a=b']);
    await kubectl.ok(['replace', '-f', '-'], file('replaced'));
    const apply = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
    expect(await kubectl.ok(apply, file('applied'))).toBe(`${shown}/own serverside-applied\n`);
    expect(await value('own')).toBe('applied');
    const client = ['apply', '-f', '-'];
    expect(await kubectl.ok(client, body('own-2', 'x'))).toBe(`${shown}/own-2 created\n`);
    expect(await kubectl.ok(client, body('own-2', 'y'))).toBe(`${shown}/own-2 configured\n`);
    expect(await kubectl.ok(['delete', one, 'own', 'own-2'])).toContain('"own" deleted');
    expect(await kubectl.ok(['get', one, '-o', 'name'])).toBe('');
  });

  test('explains it', async () => {
    expect(await kubectl.ok(['explain', `${one}${field}`])).toContain('<string>');
  });
});

test('kubectl describe and kubectl events show the events that a client wrote', async () => {
  const made = await daemon.call('POST', `${API}/teams`, { body: { metadata: { name: 'data' } } });
  const { uid } = made.json().metadata;
  const { involvedObject, ...rest } = event('told', 'It was seen') as Body & {
    involvedObject: object;
  };
  const body = { ...rest, involvedObject: { ...involvedObject, uid } };
  expect((await daemon.call('POST', EVENTS, { body })).code).toBe(201);
  expect(await kubectl.ok(['describe', 'team', 'data'])).toMatch(/Warning +Seen .*It was seen/);
  expect(await kubectl.ok(['events', '--for', 'team/data'])).toMatch(/Warning +Seen +Team\/data/);
});

test('a user without a right by group has none', async () => {
  await daemon.call('POST', `${API}/users`, { body: { metadata: { name: 'bob' } } });
  const key = await daemon.call('POST', `${API}/ownedaccesskeys`, {
    body: { spec: { user: 'bob' } },
  });
  const token = key.json().spec.key as string;
  const ask = async (method: string, path: string, body?: object): Promise<number> =>
    (await daemon.call(method, path, { token, ...(body && { body }) })).code;
  const asked = async (): Promise<number[]> => [
    await ask('POST', LEASES, lease('of-bob', 'bob')),
    await ask('GET', `${LEASES}/of-bob`),
    // A put makes what is not there, which takes the right to create.
    await ask('PUT', `${LEASES}/put`, lease('put', 'bob')),
    await ask('DELETE', `${LEASES}/of-bob`),
    await ask('POST', EVENTS, event('of-bob', 'x')),
    await ask('GET', EVENTS),
  ];
  expect(await asked()).toEqual([403, 403, 403, 403, 403, 403]);
  const grant = async (name: string, rule: object): Promise<void> => {
    const role = { metadata: { name }, rules: [rule] };
    const path = `${RBAC}/namespaces/default`;
    expect((await daemon.call('POST', `${path}/roles`, { body: role })).code).toBe(201);
    const subjects = [{ kind: 'User', name: 'bob', apiGroup: 'rbac.authorization.k8s.io' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
    const binding = { metadata: { name }, subjects, roleRef };
    expect((await daemon.call('POST', `${path}/rolebindings`, { body: binding })).code).toBe(201);
  };
  await grant('updater', {
    ...{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'update'] },
  });
  await grant('recorder', { apiGroups: [''], resources: ['events'], verbs: ['create'] });
  expect(await asked()).toEqual([403, 404, 403, 403, 201, 403]);
  await grant('creator', {
    ...{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  });
  expect((await asked()).slice(0, 4)).toEqual([201, 200, 201, 403]);
});
