/** Objects of Kubernetes that the platform shows: the namespaces that are in use, events, definitions. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { crds } from '../../src/cli/crds.ts';
import { CRDS_OPTIONS } from '../../src/options/manifest-options.ts';
import { parseOptions } from '../../src/options/parse-options.ts';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { type Kubectl, kubectlOf } from './kubectl.ts';

const CORE = '/kubernetes/management/api/v1';
const EVENTS = '/kubernetes/management/apis/events.k8s.io/v1/events';
const SOON = { timeout: 30_000, interval: 100 };

let daemon: Daemon;
let kubectl: Kubectl;

beforeAll(async () => {
  daemon = await startDaemon({ seed: undefined });
  kubectl = kubectlOf(daemon);
});

afterAll(async () => {
  await daemon?.stop();
});

async function made(path: string, body: object): Promise<{ metadata: { uid: string } }> {
  const answer = await daemon.call('POST', `${API}/${path}`, { body });
  expect(answer.code, answer.text).toBe(201);
  return answer.json();
}

async function got(
  path: string,
): Promise<{ items: Item[]; metadata: { resourceVersion: string } }> {
  const answer = await daemon.call('GET', path);
  expect(answer.code, answer.text).toBe(200);
  return answer.json();
}

interface Item {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly reason: string;
  readonly message: string;
  readonly note: string;
  readonly regarding: object;
}

const namespaces = async (): Promise<string[]> =>
  (await got(`${CORE}/namespaces`)).items.map(({ metadata }) => metadata.name);

describe('namespaces', () => {
  test('are those in use, and default', async () => {
    expect(await namespaces()).toEqual(['default']);
    await made('namespaces/apps/sharedsecrets', { metadata: { name: 'one' } });
    await made('namespaces/apps/sharedsecrets', { metadata: { name: 'two' } });
    expect(await namespaces()).toEqual(['apps', 'default']);
    await daemon.call('DELETE', `${API}/namespaces/apps/sharedsecrets/one`);
    expect(await namespaces()).toEqual(['apps', 'default']);
    await daemon.call('DELETE', `${API}/namespaces/apps/sharedsecrets/two`);
    expect(await namespaces()).toEqual(['default']);
  });

  test('are read, watched and selected like other objects', async () => {
    const { metadata } = await got(`${CORE}/namespaces`);
    await made('namespaces/seen/projectsecrets', { metadata: { name: 'one' } });
    await daemon.call('DELETE', `${API}/namespaces/seen/projectsecrets/one`);
    const since = `resourceVersion=${metadata.resourceVersion}&timeoutSeconds=1`;
    const { text } = await daemon.call('GET', `${CORE}/namespaces?watch=true&${since}`);
    const told = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(told.map(({ type, object }) => [type, object.metadata.name])).toEqual([
      ['ADDED', 'seen'],
      ['DELETED', 'seen'],
    ]);
    const selector = 'labelSelector=kubernetes.io%2Fmetadata.name%3Ddefault';
    expect((await got(`${CORE}/namespaces?${selector}`)).items).toHaveLength(1);
    const one = await daemon.call('GET', `${CORE}/namespaces/default`);
    expect(one.json()).toMatchObject({
      kind: 'Namespace',
      metadata: { creationTimestamp: expect.stringMatching(/^20\d\d-.+Z$/) },
      status: { phase: 'Active' },
    });
    expect((await daemon.call('GET', `${CORE}/namespaces/nowhere`)).code).toBe(404);
  });

  test.each([
    ['POST', `${CORE}/namespaces`, 'GET'],
    ['DELETE', `${CORE}/namespaces/default`, 'GET'],
  ])('%s %s is not for clients', async (method, path, allow) => {
    const body = { metadata: { name: 'mine' } };
    const answer = await daemon.call(method, path, { body });
    expect([answer.code, answer.headers['allow']]).toEqual([405, allow]);
  });

  test('are not for a user who has no right to read them', async () => {
    await made('users', { metadata: { name: 'bob' } });
    const { spec } = (await made('ownedaccesskeys', { spec: { user: 'bob' } })) as unknown as {
      spec: { key: string };
    };
    for (const path of ['namespaces', 'namespaces/default', 'events']) {
      const answer = await daemon.call('GET', `${CORE}/${path}`, { token: spec.key });
      expect(answer.code, path).toBe(403);
    }
    expect((await daemon.call('GET', EVENTS, { token: spec.key })).code).toBe(403);
  });

  test('kubectl shows them', async () => {
    expect(await kubectl.ok(['get', 'ns'])).toMatch(/^NAME +STATUS +AGE\ndefault +Active/);
    expect(await kubectl.ok(['get', 'ns', 'default', '-o', 'name'])).toBe('namespace/default\n');
    expect(await kubectl.fails(['create', 'ns', 'mine'])).toContain('MethodNotAllowed');
  });
});

describe('events', () => {
  test('report the work of the garbage collector, in both groups', async () => {
    const boss = await made('teams', { metadata: { name: 'boss' } });
    const owner = { apiVersion: 'management.gitplane.dev/v1', kind: 'Team', name: 'boss' };
    const ownerReferences = [{ ...owner, uid: boss.metadata.uid }];
    const child = await made('teams', { metadata: { name: 'child', ownerReferences } });
    await daemon.call('DELETE', `${API}/teams/boss`);
    const query = 'fieldSelector=involvedObject.name%3Dchild,involvedObject.kind%3DTeam';
    await vi.waitFor(async () => {
      const { items } = await got(`${CORE}/events?${query}`);
      expect(items).toMatchObject([
        {
          apiVersion: 'v1',
          kind: 'Event',
          metadata: { namespace: 'default' },
          involvedObject: { kind: 'Team', name: 'child', uid: child.metadata.uid },
          type: 'Normal',
          reason: 'GarbageCollected',
          count: 1,
        },
      ]);
    }, SOON);
    const { items } = await got(`${EVENTS}?fieldSelector=regarding.name%3Dchild`);
    expect(items).toMatchObject([
      { apiVersion: 'events.k8s.io/v1', reason: 'GarbageCollected', regarding: { name: 'child' } },
    ]);
    expect(items[0]?.note).toContain('boss');
    expect(await kubectl.ok(['events', '-A'])).toContain('GarbageCollected');
  });
});

describe('definitions', () => {
  const path = '/kubernetes/management/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

  test('are those that "gitplane crds" prints, as an API server serves them', async () => {
    let text = '';
    const options = parseOptions(CRDS_OPTIONS, ['--format', 'json'], {});
    await crds(options, { write: (chunk) => (text += chunk) });
    const printed = JSON.parse(text) as { items: { metadata: { name: string } }[] };
    const { items } = await got(path);
    const byName = (a: { metadata: { name: string } }, b: typeof a): number =>
      a.metadata.name < b.metadata.name ? -1 : 1;
    expect(items).toMatchObject(printed.items.sort(byName));
    const one = await daemon.call('GET', `${path}/teams.management.gitplane.dev`);
    expect(one.json()).toMatchObject({
      metadata: { uid: expect.any(String), generation: 1 },
      spec: { conversion: { strategy: 'None' } },
      status: {
        acceptedNames: { kind: 'Team', plural: 'teams' },
        conditions: [{ type: 'NamesAccepted' }, { type: 'Established', status: 'True' }],
        storedVersions: ['v1'],
      },
    });
    expect(await kubectl.ok(['get', 'crd', '-o', 'name'])).toContain(
      'customresourcedefinition.apiextensions.k8s.io/teams.management.gitplane.dev\n',
    );
  });

  test.each(['POST', 'DELETE'])('%s is not for clients', async (method) => {
    const target = method === 'POST' ? path : `${path}/teams.management.gitplane.dev`;
    const answer = await daemon.call(method, target, { body: { metadata: { name: 'a.b' } } });
    expect([answer.code, answer.headers['allow']]).toEqual([405, 'GET']);
  });
});
