import { expect, test } from 'vitest';
import { fileOf, grant, object, openGuardedPlatform } from '../../support/guarded-platform.ts';

test('a create that waits behind a push is decided by the roles that the push leaves', async () => {
  const guarded = await openGuardedPlatform();
  const held = grant('held', 'get,list teams', 'User:bob');
  const rules = [...grant('writers', 'create clusterroles', 'User:bob'), ...held];
  await guarded.give(object('User', 'bob'), ...rules);
  const bob = await guarded.giveKey('bob', { user: 'bob' });
  const role = (name: string): object =>
    object('ClusterRole', name, {
      rules: [{ apiGroups: ['*'], resources: ['teams'], verbs: ['get', 'list'] }],
    });
  expect(await guarded.create(bob, 'clusterroles', role('before'))).toMatchObject({ code: 200 });

  const taken = guarded.platform.commit(Object.fromEntries(held.map((one) => [fileOf(one), null])));
  const waiting = guarded.create(bob, 'clusterroles', role('after'));
  await taken;

  expect(await waiting).toMatchObject({ code: 403 });
  expect(guarded.platform.find('clusterroles', 'after')).toBeUndefined();
});
