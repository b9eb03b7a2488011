/** Owners and access rules become roles and bindings that go with the object they belong to. */
import { describe, expect, test } from 'vitest';
import { keyString } from '../../src/apimachinery/key.ts';
import { RbacAuthorizer } from '../../src/auth/authorizer.ts';
import { kinds, openTestPlatform, type TestPlatform, team } from '../support/platform.ts';

const RBAC_PLURALS = ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'] as const;
const payments = { user: 'ada' };
const rule = { name: 'readers', verbs: ['get', 'create'], users: ['bob'], teams: ['ops'] };

function secret(name: string, spec: object): string {
  const metadata = JSON.stringify({ name, namespace: 'shop' });
  return `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata: ${metadata}\nspec: ${JSON.stringify(spec)}\n`;
}

/** Everything of RBAC that readers see, without what a restart may renumber. */
function rbac(platform: TestPlatform): string[] {
  return RBAC_PLURALS.flatMap((plural) => {
    const kind = kinds.kinds.find((one) => one.plural === plural);
    if (kind === undefined) throw new Error(plural);
    return platform.store.list({ group: kind.group, kind: kind.kind }).items.map((stored) => {
      const { resourceVersion: _, ...metadata } = stored.object.metadata;
      return `${keyString(stored.key)} ${JSON.stringify({ ...stored.object, metadata })}`;
    });
  });
}

function rights(platform: TestPlatform): RbacAuthorizer {
  const rbacOf = new RbacAuthorizer();
  for (const kind of kinds.kinds.filter((one) => RBAC_PLURALS.some((p) => p === one.plural))) {
    for (const { object } of platform.store.list({ group: kind.group, kind: kind.kind }).items) {
      if (kind.plural.endsWith('bindings')) rbacOf.setBinding(object);
      else rbacOf.setRole(object);
    }
  }
  return rbacOf;
}

function allowed(platform: TestPlatform, user: string, request: string): boolean {
  const [verb = '', path = ''] = request.split(' ');
  const [resource = '', name = '', subresource = ''] = path.split('/');
  const namespace = resource === 'sharedsecrets' ? 'shop' : '';
  const group = 'management.gitplane.dev';
  const groups = ['system:authenticated', ...(user === 'olga' ? ['gitplane:team:ops'] : [])];
  return rights(platform).authorize(
    { name: user, groups },
    { verb, group, resource, subresource, namespace, name },
  ).allowed;
}

describe('what a manifest grants', () => {
  test.each<[string, string, string, boolean]>([
    ['ada', 'get teams/payments', 'the owner reads', true],
    ['ada', 'delete teams/payments', 'the owner removes', true],
    ['ada', 'update teams/payments/status', 'the owner has subresources', true],
    ['ada', 'get teams/other', 'the owner has nothing beyond', false],
    ['bob', 'get teams/payments', 'a user of a rule', true],
    ['olga', 'get teams/payments', 'a member of a team of a rule', true],
    ['bob', 'update teams/payments', 'a verb the rule has not', false],
    ['bob', 'create teams/payments', 'create cannot be given on one object', false],
    ['bob', 'get teams/payments/status', 'a rule without subresources', false],
    ['eve', 'get teams/payments', 'somebody whom no rule names', false],
  ])('%s, %s: %s', async (user, request, _why, expected) => {
    const platform = await openTestPlatform();
    await platform.commit({ 't.yaml': team('payments', { owner: payments, access: [rule] }) });

    expect(allowed(platform, user, request)).toBe(expected);
  });

  test('on a namespaced object is a Role beside it, and a star means everyone', async () => {
    const platform = await openTestPlatform();
    await platform.commit({
      's.yaml': secret('card', { access: [{ verbs: ['*'], subresources: ['*'], users: ['*'] }] }),
    });

    expect(allowed(platform, 'eve', 'delete sharedsecrets/card/status')).toBe(true);
    expect(allowed(platform, 'eve', 'get sharedsecrets/other')).toBe(false);
    expect(platform.names('roles')).toEqual(platform.names('rolebindings'));
    expect(platform.names('clusterroles')).toEqual([]);
  });

  test('goes when the rule goes, when the owner changes and with the object', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 't.yaml': team('payments', { owner: payments, access: [rule] }) });
    expect(platform.names('clusterroles')).toHaveLength(2);

    await platform.patch('teams', 'payments', (object) => {
      object.spec.access = [];
      object.spec.owner = { user: 'bob' };
    });
    expect(allowed(platform, 'ada', 'get teams/payments')).toBe(false);
    expect(allowed(platform, 'bob', 'update teams/payments')).toBe(true);
    expect(allowed(platform, 'olga', 'get teams/payments')).toBe(false);

    await platform.delete('teams', 'payments');
    expect(rbac(platform)).toEqual([]);
  });

  test('stays while finalizers hold the object, so that its owner can release them', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 't.yaml': team('payments', { owner: payments }) });
    await platform.patch('teams', 'payments', (object) => {
      object.metadata.finalizers = ['example.com/hold'];
    });
    await platform.delete('teams', 'payments');
    expect(allowed(platform, 'ada', 'update teams/payments')).toBe(true);

    await platform.patch('teams', 'payments', (object) => {
      object.metadata.finalizers = [];
    });
    expect(rbac(platform)).toEqual([]);
  });

  test('is the same after a rebuild from git, and stale roles of earlier rules are gone', async () => {
    const platform = await openTestPlatform();
    await platform.commit({
      't.yaml': team('payments', { owner: payments, access: [rule] }),
      's.yaml': secret('card', { owner: { team: 'ops' } }),
    });
    const before = rbac(platform);
    expect(before).toHaveLength(6);

    const [stale] = platform.store.list({ group: 'rbac.authorization.k8s.io', kind: 'Role' }).items;
    if (stale === undefined) throw new Error('there is no role');
    const name = `${stale.key.name}-stale`;
    const metadata = { ...stale.object.metadata, name };
    platform.store.apply([
      { type: 'put', key: { ...stale.key, name }, object: { ...stale.object, metadata } },
    ]);
    const again = await platform.restart({ rules: 'other rules' });
    await again.branch.sync();
    expect(rbac(again)).toEqual(before);

    const fresh = await again.restart({ disk: new Map() });
    await fresh.branch.sync();
    expect(rbac(fresh)).toEqual(before);
  });
});

test('nobody can make a role with the name of one that follows from a rule', async () => {
  const platform = await openTestPlatform();
  const body = { metadata: { name: 'gitplane:access:team:payments:0123456789' }, rules: [] };

  await expect(platform.create('clusterroles', body)).rejects.toMatchObject({ code: 422 });
});
