/** Naming a kubeconfig is as much as having it. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import { kubeconfigGuard } from '../../../src/daemon/guards/kubeconfig-guard.ts';
import { grant, object, openGuardedPlatform } from '../../support/guarded-platform.ts';
import { ann, kindOf } from '../../support/platform.ts';

const reader = {
  apiGroups: [kindOf('tenants').group],
  resources: ['sharedsecrets'],
  verbs: ['get'],
  resourceNames: [],
  nonResourceURLs: [],
};
const onlyIn = (readable: string) => ({
  rulesFor: (_user: unknown, namespace: string) => (namespace === readable ? [reader] : []),
});

function tenant(ends: object): KubeObject {
  const kind = kindOf('tenants');
  const spec = { external: { gitplane: ends } } as KubeObject['spec'] & object;
  return { apiVersion: `${kind.group}/v1`, kind: kind.kind, metadata: { name: 'blue' }, spec };
}

const secret = (namespace: string) => ({
  kubeconfig: { sharedSecret: { namespace, name: 'host', key: 'config' } },
});

test.each([
  ['no kubeconfig', {}, undefined],
  ['a file that the operator put there', { target: { kubeconfig: { file: 'host' } } }, undefined],
  ['a secret that may be read', { target: secret('mine') }, undefined],
  ['a secret of others as the target', { target: secret('theirs') }, 403],
  ['a secret of others as the source', { source: secret('theirs'), target: secret('mine') }, 403],
])('a tenant with %s', (_what, ends, code) => {
  const guard = kubeconfigGuard(onlyIn('mine'));
  const change = { user: ann, kind: kindOf('tenants'), object: tenant(ends), old: undefined };

  expect(guard(change)?.code).toBe(code);
});

test('removing a tenant takes no right on its kubeconfig', () => {
  const guard = kubeconfigGuard(onlyIn('nowhere'));
  const old = tenant({ target: secret('theirs') });

  expect(guard({ user: ann, kind: kindOf('tenants'), object: undefined, old })).toBeUndefined();
});

test('an owner of a secret has no tenant use the next one of its name', async () => {
  const guarded = await openGuardedPlatform();
  await guarded.give(
    object('User', 'eve'),
    ...grant('makers', 'create sharedsecrets', 'User:eve'),
    ...grant('tenants', '* tenants', 'User:eve'),
  );
  const eve = await guarded.giveKey('eve', { user: 'eve' });
  const spec = { owner: { user: 'eve' }, data: { config: 'e30=' } };
  const own = object('SharedSecret', 'host', { spec }, 'shared');
  expect(await guarded.create(eve, 'sharedsecrets', own, 'shared')).toMatchObject({ code: 200 });
  expect(guarded.may(eve, 'get', 'sharedsecrets', 'host', 'shared')).toBe(true);
  const ends = JSON.stringify(tenant({ target: secret('shared') }).spec);

  const refused = await guarded.push(eve, { 'tenants/blue/vcluster.yaml': ends });
  expect(refused.code).toBe(403);
  expect(refused.text).toContain('what its owner and access rules give does not count');
  await guarded.give(...grant('readers', 'get sharedsecrets host', 'User:eve'));
  expect(await guarded.push(eve, { 'tenants/blue/vcluster.yaml': ends })).toMatchObject({
    code: 200,
  });
});
