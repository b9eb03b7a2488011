/** Fields of teams, users and the Config that name nothing, or that nothing acts on: taken, and told in a Warning header. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../src/version.ts';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';

let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon();
  const body = { metadata: { name: 'first' }, spec: { username: 'taken' } };
  expect((await daemon.call('POST', `${API}/teams`, { body })).code).toBe(201);
  const secret = { metadata: { name: 'pull' }, spec: { data: { a: 'YQ==' } } };
  const path = `${API}/namespaces/default/sharedsecrets`;
  expect((await daemon.call('POST', path, { body: secret })).code).toBe(201);
});
afterAll(async () => {
  await daemon.stop();
});

async function warningOf(plural: string, name: string, spec: object): Promise<string> {
  const body = { metadata: { name }, spec };
  const answer = await daemon.call('POST', `${API}/${plural}?dryRun=All`, { body });
  expect(answer.code, answer.text).toBe(201);
  return String(answer.headers['warning'] ?? '').replaceAll('\\', '');
}

const GROUP = 'management.gitplane.dev';
const pull = (ref: object): object => ({ imagePullSecrets: [ref] });

test.each<[title: string, plural: string, spec: object, warning: string]>([
  // covers: Team.spec.username
  [
    'a username of another team',
    'teams',
    { username: 'taken' },
    'spec.username: another team has the name "taken"',
  ],
  ['a username of its own', 'teams', { username: 'free' }, ''],
  ['no username', 'teams', { username: '' }, ''],
  // covers: Team.spec.imagePullSecrets
  [
    'a shared secret that is there',
    'teams',
    pull({ apiGroup: GROUP, kind: 'SharedSecret', secretName: 'pull', secretNamespace: 'default' }),
    '',
  ],
  [
    'a shared secret in no namespace, which is the default one',
    'users',
    pull({ apiGroup: GROUP, kind: 'SharedSecret', secretName: 'pull' }),
    '',
  ],
  // covers: Team.spec.imagePullSecrets
  [
    'a shared secret of another namespace',
    'users',
    pull({ apiGroup: GROUP, kind: 'SharedSecret', secretName: 'pull', secretNamespace: 'x' }),
    'spec.imagePullSecrets.0: there is no sharedsecret "pull" in the namespace "x"',
  ],
  // covers: Team.spec.imagePullSecrets
  [
    'a Secret, of which the platform keeps none',
    'teams',
    pull({ secretName: 'pull' }),
    'spec.imagePullSecrets.0: the platform keeps no Secret of the group ""',
  ],
  [
    'a reference to nothing',
    'teams',
    pull({ apiGroup: GROUP, kind: 'SharedSecret' }),
    'spec.imagePullSecrets.0: there is no sharedsecret ""',
  ],
])('%s (%s)', async (_title, plural, spec, warning) => {
  const found = await warningOf(plural, 'asked', spec);
  if (warning === '') expect(found).toBe('');
  else expect(found).toContain(warning);
});

test('a team is not warned about its own username, nor about one that is free again', async () => {
  const answer = await daemon.call('PATCH', `${API}/teams/first`, {
    body: { spec: { description: 'x' } },
    type: 'application/merge-patch+json',
  });
  expect([answer.code, answer.headers['warning']]).toEqual([200, undefined]);
  await daemon.call('DELETE', `${API}/teams/first`);
  expect(await warningOf('teams', 'second', { username: 'taken' })).toBe('');
});

// covers: Team.spec.username
test('two new teams with one username in a push are both warned of, and a team that hands it over is not', async () => {
  const clone = await daemon.clone();
  const team = async (name: string, username: string): Promise<void> => {
    const manifest = {
      apiVersion: `${GROUP}/v1`,
      kind: 'Team',
      metadata: { name },
      spec: { username },
    };
    await mkdir(join(clone, 'teams'), { recursive: true });
    await writeFile(join(clone, `teams/${name}.yaml`), `${JSON.stringify(manifest)}\n`);
  };
  const push = async (): Promise<string> => {
    await daemon.git(['add', '-A'], clone);
    await daemon.git(['commit', '-qm', 'Teams'], clone);
    const { code, stderr } = await daemon.git(['push'], clone);
    expect(code, stderr).toBe(0);
    return stderr;
  };
  await Promise.all([team('north', 'shared'), team('south', 'shared'), team('east', 'alone')]);
  const told = await push();
  for (const name of ['north', 'south']) {
    expect(told).toContain(`Team "${name}": spec.username: another team has the name "shared"`);
  }
  expect(told).not.toContain('Team "east"');
  await Promise.all([team('north', 'free'), team('south', 'alone'), team('east', 'shared')]);
  expect(await push()).not.toContain('spec.username');
});

test('the status of the Config has the version that is running, and unauthenticated clients do not read it where it is hidden', async () => {
  const path = `${API}/config/platform`;
  const raw = 'authenticateVersionEndpoint: true\nuiSettings: {primaryColor: teal}\n';
  const answer = await daemon.call('PATCH', path, {
    body: { spec: { raw } },
    type: 'application/merge-patch+json',
  });
  expect([answer.code, answer.json().status.uiSettings]).toEqual([
    200,
    { primaryColor: 'teal', platformVersion: VERSION },
  ]);
  const shown = await daemon.call('GET', '/ui/settings', { token: null });
  expect([shown.code, shown.text.includes(VERSION)]).toEqual([200, false]);
});

test('a writer without a right on secrets gets the same answer for an existing and a missing one', async () => {
  const make = async (path: string, body: object): Promise<{ spec: { key: string } }> => {
    const { code, text, json } = await daemon.call('POST', path, { body });
    expect(code, text).toBe(201);
    return json();
  };
  await make(`${API}/users`, { metadata: { name: 'team-writer' } });
  await make(`${RBAC}/clusterroles`, {
    metadata: { name: 'team-writer' },
    rules: [{ apiGroups: [GROUP], resources: ['teams'], verbs: ['create'] }],
  });
  await make(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'team-writer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'team-writer' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'team-writer' }],
  });
  const { spec } = await make(`${API}/ownedaccesskeys`, { spec: { user: 'team-writer' } });
  const told = async (secretName: string): Promise<string> => {
    const ref = { apiGroup: GROUP, kind: 'SharedSecret', secretName };
    const body = { metadata: { name: 'asked' }, spec: pull(ref) };
    const options = { body, token: spec.key };
    const answer = await daemon.call('POST', `${API}/teams?dryRun=All`, options);
    expect(answer.code, answer.text).toBe(201);
    return String(answer.headers['warning']).replaceAll(`"${secretName}\\"`, '"NAME"');
  };
  expect(await told('pull')).toBe(await told('absent'));
  expect(await told('pull')).toContain('that you may read');
});
