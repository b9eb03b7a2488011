/** Naming a kubeconfig is as much as having it. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import type { Attributes, Authorizer } from '../../../src/apimachinery/request.ts';
import { kubeconfigGuard } from '../../../src/daemon/guards/kubeconfig-guard.ts';
import { ann, kindOf } from '../../support/platform.ts';

const asked: Attributes[] = [];
const onlyIn = (namespace: string): Authorizer => ({
  authorize: (_user, attributes) => {
    asked.push(attributes);
    return { allowed: 'namespace' in attributes && attributes.namespace === namespace, reason: '' };
  },
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
  for (const attributes of asked) {
    expect(attributes).toMatchObject({ verb: 'get', resource: 'sharedsecrets', name: 'host' });
  }
});

test('removing a tenant takes no right on its kubeconfig', () => {
  const guard = kubeconfigGuard(onlyIn('nowhere'));
  const old = tenant({ target: secret('theirs') });

  expect(guard({ user: ann, kind: kindOf('tenants'), object: undefined, old })).toBeUndefined();
});
