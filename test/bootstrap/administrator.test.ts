/** The first administrator, and the way back in when every key of an administrator is lost. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { administratorToken } from '../../src/bootstrap/administrator.ts';
import { temporaryFolder } from '../support/git.ts';
import { type GuardedPlatform, object, openGuardedPlatform } from '../support/guarded-platform.ts';
import { kinds } from '../support/platform.ts';

const DAY_MS = 86_400_000;

let at: GuardedPlatform;
let now: number;
let file: string;

function token(): Promise<string> {
  const { store, registry } = at.platform;
  return administratorToken({ kinds, store, registry }, file);
}

beforeEach(async () => {
  now = Date.now();
  file = join(temporaryFolder(), 'admin.token');
  const limits = { accessKeyMaxTTLSeconds: (30 * DAY_MS) / 1000 };
  at = await openGuardedPlatform({ now: () => now }, limits);
});

test('can do everything, with a key that is in a file and nowhere else', async () => {
  const key = await token();
  expect(readFileSync(file, 'utf8').trim()).toBe(key);
  expect(at.may(key, 'escalate', 'clusterroles')).toBe(true);
  expect(at.may(key, 'delete', 'ownedaccesskeys', 'x')).toBe(true);
});

test('is made once: what is removed on purpose does not come back while the file is there', async () => {
  const key = await token();
  await at.delete(key, 'ownedaccesskeys', 'admin');
  expect(await token()).toBe(key);
  expect(() => at.who(key)).toThrow('Unauthorized');
});

describe('the next start without the file makes a key that works', () => {
  const binding = {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [],
  };
  test.each<[string, () => Promise<unknown> | unknown]>([
    ['though the old one is still good', () => undefined],
    ['though the old one has ended by the maximum', () => (now += 31 * DAY_MS)],
    [
      'though the old one was given a scope',
      async () =>
        at.patch(old, 'ownedaccesskeys', 'admin', ({ spec }) => {
          spec.scope = { roles: [{ role: 'agent' }] };
        }),
    ],
    [
      'though the old one is held by a finalizer',
      async () =>
        at.patch(old, 'ownedaccesskeys', 'admin', ({ metadata }) => {
          metadata.finalizers = ['x.y/z'];
        }),
    ],
    ['though the old one is gone', async () => at.delete(old, 'ownedaccesskeys', 'admin')],
    [
      'though the user is disabled',
      () => at.give(object('User', 'admin', { spec: { disabled: true } })),
    ],
    [
      'though the role is another one now',
      async () =>
        at.patch(old, 'clusterroles', 'cluster-admin', (role) => {
          role.rules = [];
        }),
    ],
    [
      'though nobody is bound any more',
      async () =>
        at.patch(old, 'clusterrolebindings', 'cluster-admin-admin', (it) =>
          Object.assign(it, binding),
        ),
    ],
  ])('%s', async (_why, lose) => {
    old = await token();
    await lose();
    rmSync(file);

    const key = await token();

    expect(at.may(key, 'escalate', 'clusterroles')).toBe(true);
    expect(key).not.toBe(old);
    expect(() => at.who(old)).toThrow('Unauthorized');
  });
  let old = '';
});
