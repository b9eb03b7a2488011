/** Changes that a push by a user with few rights may make: object by object, as through the API. */
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  API,
  type Daemon,
  RBAC,
  type RunResult,
  scratchDir,
  startDaemon,
} from '../support/daemon.ts';
import { commitFiles, gitIn, hookSaid, manifest } from './clones.ts';

const TEAMS = `${API}/teams`;

let daemon: Daemon;
/** A clone that is up to date when a test begins. */
let clone: string;

beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});
beforeEach(async () => {
  clone = await daemon.clone();
});

function git(...args: string[]): Promise<string> {
  return gitIn(daemon, clone, ...args);
}

function commit(files: Record<string, string | null>): Promise<void> {
  return commitFiles(daemon, clone, files);
}

function push(...args: string[]): Promise<RunResult> {
  return daemon.git(['push', ...args], clone);
}

// biome-ignore lint/suspicious/noExplicitAny: tests reach into answers of every shape
async function read(path: string): Promise<any> {
  const answer = await daemon.call('GET', path);
  return answer.code === 404 ? undefined : answer.json();
}

async function everything(): Promise<string> {
  const paths = ['teams', 'sharedsecrets', 'users', 'config'].map((plural) => `${API}/${plural}`);
  const answers = await Promise.all(paths.map((path) => daemon.call('GET', path)));
  return answers
    .map(({ text }) => text.replace(/"metadata":\{"resourceVersion":"\d+"\}/, ''))
    .join();
}

describe('a pusher with few rights', () => {
  let key: string;

  beforeAll(async () => {
    const created = async (path: string, body: object) => {
      const answer = await daemon.call('POST', path, { body });
      expect(answer.code, answer.text).toBe(201);
      return answer.json();
    };
    const metadata = { name: 'pusher' };
    await created(`${API}/users`, { metadata, spec: { email: 'pusher@example.com' } });
    key = (await created(`${API}/ownedaccesskeys`, { metadata, spec: { user: 'pusher' } })).spec
      .key;
    const rules = [
      { apiGroups: ['management.gitplane.dev'], resources: ['teams'], verbs: ['update'] },
      { nonResourceURLs: ['/git/platform.git'], verbs: ['get', 'update'] },
    ];
    await created(`${RBAC}/clusterroles`, { metadata, rules });
    const apiGroup = 'rbac.authorization.k8s.io';
    await created(`${RBAC}/clusterrolebindings`, {
      metadata,
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'pusher' },
      subjects: [{ apiGroup, kind: 'User', name: 'pusher' }],
    });
  });

  const own = () => `https://pusher:${key}@127.0.0.1:${daemon.port}/git/platform.git`;

  test('is refused for every object that is not theirs to change', async () => {
    const before = await everything();
    await git('pull', '-q');
    await commit({
      'teams/storefront.yaml': manifest(
        'Team',
        'storefront',
        '{ description: allowed, owner: { team: platform } }',
      ),
      'teams/new.yaml': manifest('Team', 'not-theirs'),
      'teams/platform.yaml': null,
      'namespaces/payments/sharedsecrets/registry.yaml': manifest('SharedSecret', 'registry'),
      'role.yaml':
        'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: me\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: cluster-admin\nsubjects:\n  - kind: User\n    apiGroup: rbac.authorization.k8s.io\n    name: pusher\n',
    });
    const result = await push(own(), 'main:main');
    expect(result.code).toBe(1);
    expect(hookSaid(result).toSorted()).toEqual([
      '4 problems; nothing was changed',
      'namespaces/payments/sharedsecrets/registry.yaml: SharedSecret "payments/registry": Forbidden: User "pusher" cannot update sharedsecrets',
      'removes Team "platform" (teams/platform.yaml)',
      'role.yaml: ClusterRoleBinding "me": Forbidden: User "pusher" cannot create clusterrolebindings',
      'teams/new.yaml: Team "not-theirs": Forbidden: User "pusher" cannot create teams',
      'teams/platform.yaml: Team "platform": Forbidden: User "pusher" cannot delete teams',
    ]);
    expect(await everything()).toBe(before);
  });

  test('is accepted for what is theirs', async () => {
    await commit({
      'teams/storefront.yaml': manifest(
        'Team',
        'storefront',
        '{ description: allowed, owner: { team: platform } }',
      ),
    });
    const result = await push(own(), 'main:main');
    expect([result.code, hookSaid(result)]).toEqual([
      0,
      ['accepted: 0 created, 1 changed, 0 removed'],
    ]);
    expect(await read(`${TEAMS}/storefront`)).toMatchObject({ spec: { description: 'allowed' } });
  });

  test('does not even clone without the right on the repository', async () => {
    const metadata = { name: 'no-git' };
    await daemon.call('POST', `${API}/users`, { body: { metadata, spec: {} } });
    const body = { metadata, spec: { user: 'no-git' } };
    const { spec } = (await daemon.call('POST', `${API}/ownedaccesskeys`, { body })).json();
    const url = `https://x:${spec.key}@127.0.0.1:${daemon.port}/git/platform.git`;
    const { code, stderr } = await daemon.git(['clone', '-q', url, join(scratchDir(), 'x')], clone);
    expect([code, stderr]).toEqual([128, expect.stringContaining('403')]);
  });
});
