/** Owners and access rules from the outside: they act on the next request, and can be read. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';

let daemon: Daemon;
/** A user without any role. */
let bob: string;
const teams = `${API}/teams`;
const merge = 'application/merge-patch+json';

async function make(path: string, body: object): Promise<Answer> {
  const answer = await daemon.call('POST', path, { body });
  expect(answer.code, answer.text).toBe(201);
  return answer;
}

beforeAll(async () => {
  daemon = await startDaemon();
  await make(`${API}/users`, { metadata: { name: 'bob' } });
  const key = await make(`${API}/ownedaccesskeys`, { spec: { user: 'bob' } });
  bob = key.json().spec.key;
  await make(teams, { metadata: { name: 'red' }, spec: {} });
});

afterAll(async () => {
  await daemon.stop();
});

async function patch(path: string, body: object, token?: string): Promise<Answer> {
  const options = { type: merge, body: JSON.stringify(body) };
  return await daemon.call('PATCH', path, token === undefined ? options : { ...options, token });
}

describe('an access rule', () => {
  // covers: metadata.ownerReferences.controller accessRule.users Team.spec.access
  // covers: authentication.access
  test('gives and takes rights at once, and can be read as a role with its binding', async () => {
    expect((await daemon.call('GET', `${teams}/red`, { token: bob })).code).toBe(403);

    await patch(`${teams}/red`, { spec: { access: [{ verbs: ['get'], users: ['bob'] }] } });
    expect((await daemon.call('GET', `${teams}/red`, { token: bob })).code).toBe(200);
    expect((await daemon.call('DELETE', `${teams}/red`, { token: bob })).code).toBe(403);

    const bindings = (await daemon.call('GET', `${RBAC}/clusterrolebindings`)).json().items;
    // biome-ignore lint/suspicious/noExplicitAny: an answer
    const mine = bindings.filter((one: any) => one.subjects[0].name === 'bob');
    expect(mine).toMatchObject([
      { metadata: { ownerReferences: [{ kind: 'Team', name: 'red', controller: true }] } },
    ]);

    await patch(`${teams}/red`, { spec: { access: null } });
    expect((await daemon.call('GET', `${teams}/red`, { token: bob })).code).toBe(403);
  });

  // covers: service.teamMembers accessRule.teams Team.spec.users Team.spec.access
  test('gives members of a team their rights, and a role that follows from it is no user’s to change', async () => {
    await make(teams, { metadata: { name: 'blue' }, spec: { users: ['bob'] } });
    await patch(`${teams}/red`, { spec: { access: [{ verbs: ['get'], teams: ['blue'] }] } });
    expect((await daemon.call('GET', `${teams}/red`, { token: bob })).code).toBe(200);
    await patch(`${teams}/blue`, { spec: { users: [] } });
    expect((await daemon.call('GET', `${teams}/red`, { token: bob })).code).toBe(403);

    const roles = (await daemon.call('GET', `${RBAC}/clusterroles`)).json().items;
    // biome-ignore lint/suspicious/noExplicitAny: an answer
    const derived = roles.find((one: any) =>
      one.metadata.name.startsWith('gitplane:access:team:red'),
    );
    const path = `${RBAC}/clusterroles/${encodeURIComponent(derived.metadata.name)}`;
    for (const answer of [
      await patch(path, { rules: [] }),
      await daemon.call('DELETE', path),
      await daemon.call('PUT', path, { body: { ...derived, rules: [] } }),
    ]) {
      expect([405, 422], answer.text).toContain(answer.code);
      expect(answer.json().message).toMatch(/follows? from (access rules|spec\.owner)/);
    }
    expect((await daemon.call('GET', path)).json()).toEqual(derived);
  });
});

describe('subresources of an access rule', () => {
  const access = (...subresources: string[]): object => ({
    spec: {
      access: [
        { verbs: ['get'], users: ['bob'] },
        { verbs: ['get'], subresources, users: ['bob'] },
      ],
    },
  });

  test.each(['status', 'history', 'rollback'])(
    'are refused with their place where they have no rights of their own: %s',
    async (name) => {
      await make(teams, { metadata: { name: `of-${name}` }, spec: {} });
      const place = 'spec.access[1].subresources[1]';
      const refused = await patch(`${teams}/of-${name}`, access('*', name));
      expect(refused.code).toBe(422);
      expect(refused.json().details.causes[0].field).toBe(place);
      expect(refused.json().message).toContain(`"${name}": has no rights of its own: name "get"`);

      const clone = await daemon.clone();
      const file = join(clone, `teams/of-${name}.yaml`);
      const { spec } = access('*', name) as { spec: object };
      const metadata = { name: `of-${name}` };
      const apiVersion = 'management.gitplane.dev/v1';
      writeFileSync(file, JSON.stringify({ apiVersion, kind: 'Team', metadata, spec }));
      await daemon.git(['commit', '-qam', name], clone);
      const pushed = await daemon.git(['push'], clone);
      expect(pushed.code).not.toBe(0);
      expect(pushed.stderr).toContain(place);
    },
  );

  test('warn where no subresource of the name is served, and take the star', async () => {
    const warned = await patch(`${teams}/of-status`, access('accesskeys', '*'));
    expect(warned.code, warned.text).toBe(200);
    expect(warned.headers['warning']).toContain('spec.access[1].subresources[0]: no subresource');
    expect(warned.headers['warning']).not.toContain('subresources[1]');
  });

  test('are not needed for the status and the history, which `get` reads', async () => {
    await patch(`${teams}/of-status`, {
      spec: { access: [{ verbs: ['get'], users: ['bob'] }] },
    });
    const codes: number[] = [];
    for (const path of ['', '/status', '/history']) {
      codes.push((await daemon.call('GET', `${teams}/of-status${path}`, { token: bob })).code);
    }
    const history = (await daemon.call('GET', `${teams}/of-status/history`)).json();
    const body = { revision: history.items.at(-1).revision };
    const rollback = `${teams}/of-status/rollback`;
    codes.push((await daemon.call('POST', rollback, { token: bob, body })).code);
    expect(codes).toEqual([200, 200, 200, 403]);
  });
});

describe('an owner', () => {
  // covers: Team.spec.owner.user Team.verbs.makeowner authentication.makeowner
  test('may do everything with the object, and hand it on only where makeowner says so', async () => {
    await patch(`${teams}/red`, { spec: { owner: { user: 'bob' }, access: null } });
    const change = await patch(`${teams}/red`, { spec: { description: 'mine' } }, bob);
    expect(change.code, change.text).toBe(200);

    const handed = await patch(`${teams}/red`, { spec: { owner: { user: 'ada' } } }, bob);
    expect(handed.code).toBe(403);
    expect(handed.json().message).toBe(
      'teams.management.gitplane.dev "red" is forbidden: User "bob" cannot makeowner users "ada"',
    );

    expect((await daemon.call('DELETE', `${teams}/red`, { token: bob })).code).toBe(200);
  });
});

test('a push is judged by the same rules', async () => {
  await make(teams, { metadata: { name: 'green' }, spec: {} });
  const rules = [
    { apiGroups: ['management.gitplane.dev'], resources: ['teams'], verbs: ['get', 'update'] },
    {
      apiGroups: ['gitplane.dev', 'management.gitplane.dev'],
      resources: ['repositories'],
      verbs: ['*'],
    },
    { nonResourceURLs: ['*'], verbs: ['*'] },
  ];
  await make(`${RBAC}/clusterroles`, { metadata: { name: 'pusher' }, rules });
  await make(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'pusher' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'pusher' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' }],
  });
  const clone = await daemon.clone();
  writeFileSync(
    join(clone, 'teams/green.yaml'),
    'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: green\nspec:\n  owner:\n    user: bob\n',
  );
  await daemon.git(['commit', '-qam', 'mine'], clone);
  const remote = `https://bob:${bob}@127.0.0.1:${daemon.port}/git/platform.git`;

  const pushed = await daemon.git(['push', remote, 'HEAD:main'], clone);

  expect(pushed.code).not.toBe(0);
  expect(pushed.stderr).toContain('not currently held');
});
