/** Tying a secret to the store is as much as reading, or writing, what is there. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import type { Authorizer } from '../../../src/apimachinery/request.ts';
import { storeLinkGuard } from '../../../src/daemon/guards/store-link-guard.ts';
import { ann, kindOf } from '../../support/platform.ts';

const kind = kindOf('sharedsecrets');

/** Ann may read below secret/mine/, and write secret/mine/shared. */
const authorizer: Authorizer = {
  authorize: (_user, attributes) => {
    const { verb, path = '' } = attributes as { verb: string; path?: string };
    const mayRead = verb === 'get' && path.startsWith('/secret-store/paths/secret/mine/');
    const mayWrite = verb === 'update' && path === '/secret-store/paths/secret/mine/shared';
    return { allowed: mayRead || mayWrite, reason: '' };
  },
};
const guard = storeLinkGuard(authorizer);

function secret(path?: string, more: Readonly<Record<string, string>> = {}): KubeObject {
  const tied = {
    'gitplane.dev/secret-store-kv-mount-path': 'secret',
    'gitplane.dev/secret-store-kv-secret-path': path ?? '',
    ...more,
  };
  const annotations = path === undefined ? {} : { annotations: tied };
  return {
    apiVersion: 'v1',
    kind: kind.kind,
    metadata: { name: 'mail', ...annotations },
    spec: {},
  };
}

const BOTH = { 'gitplane.dev/secret-store-direction': 'both' };
const PUSH = { 'gitplane.dev/secret-store-direction': 'push' };

test.each([
  ['no tie', secret(), undefined],
  ['a tie to what ann may read', secret('mine/a'), undefined],
  ['a tie to what others have', secret('theirs/a'), 403],
  ['a tie both ways to what ann may only read', secret('mine/a', BOTH), 403],
  ['a tie both ways to what ann may write', secret('mine/shared', BOTH), undefined],
  ['a push to what ann may not write', secret('mine/a', PUSH), 403],
])('a new secret with %s', (_what, object, code) => {
  const refusal = guard({ user: ann, kind, object, old: undefined });

  expect(refusal?.code).toBe(code);
  if (code !== undefined) expect(refusal?.message).toMatch(/User "ann" cannot (get|update) path/);
});

test('editing a tied secret needs no right on the store, tying it elsewhere does', () => {
  const old = secret('theirs/a');
  const settled = secret('theirs/a', { 'gitplane.dev/secret-store-resolve': 'store@3' });
  const slower = secret('theirs/a', { 'gitplane.dev/secret-store-sync-interval': '1h' });

  expect(guard({ user: ann, kind, object: secret('theirs/a'), old })).toBeUndefined();
  expect(guard({ user: ann, kind, object: settled, old })).toBeUndefined();
  expect(guard({ user: ann, kind, object: slower, old })).toBeUndefined();
  expect(guard({ user: ann, kind, object: undefined, old })).toBeUndefined();
  expect(guard({ user: ann, kind, object: secret('theirs/b'), old })?.code).toBe(403);
  expect(guard({ user: ann, kind, object: secret('theirs/a', PUSH), old })?.code).toBe(403);
});

test('a right on paths of the default store is none on those of another one', () => {
  const eu = { 'gitplane.dev/secret-store': 'eu' };
  expect(
    guard({ user: ann, kind, object: secret('mine/a', eu), old: undefined })?.message,
  ).toContain('cannot get path "/secret-store/stores/eu/paths/secret/mine/a"');
  expect(
    guard({ user: ann, kind, object: secret('mine/a', eu), old: secret('mine/a') })?.code,
  ).toBe(403);
  const named = { 'gitplane.dev/secret-store': 'default' };
  expect(
    guard({ user: ann, kind, object: secret('mine/a', named), old: undefined }),
  ).toBeUndefined();
});
