/** Owners and access rules become roles and bindings that go with the object they belong to. */
import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { keyString } from '../../../src/apimachinery/key.ts';
import { RbacAuthorizer } from '../../../src/auth/rbac/authorizer.ts';
import { objectAccess } from '../../../src/daemon/access/object-access.ts';
import { RBAC_GROUP } from '../../../src/kinds/kind.ts';
import { ReadableStore } from '../../../src/registry/projection/readable-store.ts';
import { MemoryEngine } from '../../../src/state/engines/memory-engine.ts';
import { openStore } from '../../../src/state/open-store.ts';
import { sealingCodec } from '../../../src/state/records/codec.ts';
import type { Change, JournalEvent, Store } from '../../../src/state/store.ts';
import { kinds, openTestPlatform, type TestPlatform, team } from '../../support/platform.ts';

const RBAC_KINDS = ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'] as const;
const payments = { user: 'ada' };
const rule = { name: 'readers', verbs: ['get', 'create'], users: ['bob'], teams: ['ops'] };

function secret(name: string, spec: object): string {
  const metadata = JSON.stringify({ name, namespace: 'shop' });
  return `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata: ${metadata}\nspec: ${JSON.stringify(spec)}\n`;
}

function readable(platform: TestPlatform): ReadableStore {
  return new ReadableStore(platform.store, kinds);
}

/** Everything of RBAC that readers see, without what a restart may renumber. */
function rbac(platform: TestPlatform): string[] {
  return RBAC_KINDS.flatMap((kind) =>
    readable(platform)
      .list({ group: RBAC_GROUP, kind })
      .items.map((stored) => {
        const { resourceVersion: _, ...metadata } = stored.object.metadata;
        return `${keyString(stored.key)} ${JSON.stringify({ ...stored.object, metadata })}`;
      }),
  );
}

function names(platform: TestPlatform, kind: string): string[] {
  return readable(platform)
    .list({ group: RBAC_GROUP, kind })
    .items.map(({ key }) => key.name);
}

/** By the objects themselves, and by what readers see of RBAC: both have to say the same. */
function rights(platform: TestPlatform): [RbacAuthorizer, RbacAuthorizer] {
  const direct = new RbacAuthorizer(objectAccess(kinds, platform.store));
  const shown = new RbacAuthorizer();
  for (const kind of RBAC_KINDS) {
    for (const { object } of readable(platform).list({ group: RBAC_GROUP, kind }).items) {
      if (kind.endsWith('Binding')) shown.setBinding(object);
      else shown.setRole(object);
    }
  }
  return [direct, shown];
}

function allowed(platform: TestPlatform, user: string, request: string): boolean {
  const [verb = '', path = ''] = request.split(' ');
  const [resource = '', name = '', subresource = ''] = path.split('/');
  const namespace = resource === 'sharedsecrets' ? 'shop' : '';
  const group = 'management.gitplane.dev';
  const groups = ['system:authenticated', ...(user === 'olga' ? ['gitplane:team:ops'] : [])];
  const [direct = false, shown = false] = rights(platform).map(
    (one) =>
      one.authorize({ name: user, groups }, { verb, group, resource, subresource, namespace, name })
        .allowed,
  );
  expect(direct).toBe(shown);
  return direct;
}

describe('the grants of a manifest', () => {
  // covers: Team.spec.owner.user Team.spec.access accessRule.{verbs,subresources,users,teams}
  // covers: authentication.access authentication.verbs
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
    ['eve', 'get teams/payments', 'a user whom no rule names', false],
  ])('%s, %s: %s', async (user, request, _why, expected) => {
    const platform = await openTestPlatform();
    await platform.commit({ 't.yaml': team('payments', { owner: payments, access: [rule] }) });

    expect(allowed(platform, user, request)).toBe(expected);
  });

  // covers: SharedSecret.spec.access accessRule.verbs accessRule.users accessRule.teams
  test.each(['users', 'teams'])(
    'the grants on a namespaced object are a Role beside it, and a star among %s means every user',
    async (field) => {
      const platform = await openTestPlatform();
      await platform.commit({
        's.yaml': secret('card', {
          access: [{ verbs: ['*'], subresources: ['*'], [field]: ['*'] }],
        }),
      });

      expect(allowed(platform, 'eve', 'delete sharedsecrets/card/status')).toBe(true);
      expect(allowed(platform, 'eve', 'get sharedsecrets/other')).toBe(false);
      expect(names(platform, 'Role')).toEqual(names(platform, 'RoleBinding'));
      expect(names(platform, 'ClusterRole')).toEqual([]);
    },
  );

  // covers: SharedSecret.spec.owner.{user,team} Team.spec.owner.team service.teamObjects
  test.each([
    ['a user', { user: 'olga' }, 'olga'],
    ['the members of a team', { team: 'ops' }, 'olga'],
  ])('the grants of a manifest give %s that own it every right', async (_owner, owner, user) => {
    const platform = await openTestPlatform();
    await platform.commit({
      's.yaml': secret('card', { owner }),
      't.yaml': team('red', { owner }),
    });

    for (const path of ['sharedsecrets/card', 'teams/red']) {
      for (const verb of ['get', 'update', 'patch', 'delete']) {
        expect(allowed(platform, user, `${verb} ${path}`)).toBe(true);
        expect(allowed(platform, 'eve', `${verb} ${path}`)).toBe(false);
      }
    }
    expect(allowed(platform, user, 'get sharedsecrets/other')).toBe(false);
  });

  // covers: Team.spec.owner.user
  test('goes when the rule goes, when the owner changes and with the object', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 't.yaml': team('payments', { owner: payments, access: [rule] }) });
    expect(names(platform, 'ClusterRole')).toHaveLength(2);

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

  test('is the same after a rebuild from git', async () => {
    const platform = await openTestPlatform();
    await platform.commit({
      't.yaml': team('payments', { owner: payments, access: [rule] }),
      's.yaml': secret('card', { owner: { team: 'ops' } }),
    });
    const before = rbac(platform);
    expect(before).toHaveLength(6);

    const fresh = await platform.restart({ disk: new Map() });
    await fresh.branch.sync();
    expect(rbac(fresh)).toEqual(before);
  });

  test('can be read by name, with the version that a list has', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 't.yaml': team('payments', { owner: payments, access: [rule] }) });
    const store = readable(platform);
    const { items } = store.list({ group: RBAC_GROUP, kind: 'ClusterRoleBinding' });

    expect(items).toHaveLength(2);
    for (const { key, object } of items) expect(store.get(key)?.object).toEqual(object);
    const [first] = items;
    if (first === undefined) throw new Error('there is no binding');
    const { key } = first;
    for (const name of [
      `${key.name}0`,
      'gitplane:access:team:other:0123456789',
      'gitplane:access:',
    ]) {
      expect(store.get({ ...key, name })).toBeUndefined();
    }
    expect(store.get({ ...key, kind: 'RoleBinding', namespace: 'shop' })).toBeUndefined();
  });
});

describe('a watch of roles', () => {
  const collection = { group: RBAC_GROUP, kind: 'ClusterRole' };
  const spec = fc.record({
    owner: fc.constantFrom({}, { user: 'ada' }, { team: 'ops' }),
    access: fc.subarray([rule, { verbs: ['*'], users: ['bob'] }, { verbs: ['get'], users: ['*'] }]),
  });
  const change = fc.record({
    name: fc.constantFrom('a', 'b'),
    spec: fc.option(spec, { nil: undefined }),
  });

  test('ends equal to a list, from wherever it goes on', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
        const platform = await openMemoryStore();
        const store = new ReadableStore(platform, kinds);
        const start = store.resourceVersion;
        for (const one of changes) platform.apply([changeOf(one)]);
        const seen = await eventsAfter(store, start);
        const versions = seen.map(({ current }) => current.resourceVersion);
        expect(versions).toEqual([...versions].sort((a, b) => a - b));
        const want = store.list(collection).items.map(({ object }) => object);

        for (let at = 0; at <= seen.length; at++) {
          const objects = new Map<string, unknown>();
          const known = seen.slice(0, at);
          const rest = await eventsAfter(store, known.at(-1)?.current.resourceVersion ?? start);
          for (const { type, current } of [...known, ...rest]) {
            if (type === 'DELETED') objects.delete(current.key.name);
            else objects.set(current.key.name, current.object);
          }
          expect([...objects].sort().map(([, object]) => object)).toEqual(want);
        }
        await platform.close();
      }),
      { numRuns: 50 },
    );
  });

  test('is live, in the order of the journal, and tells of written roles as well', async () => {
    const platform = await openTestPlatform();
    const store = readable(platform);
    const watch = store.watch(collection, store.resourceVersion);
    const told: string[] = [];
    const reading = (async () => {
      for await (const { type, current } of watch.events())
        told.push(`${type} ${current.key.name}`);
    })();
    await platform.commit({ 't.yaml': team('payments', { owner: payments }) });
    await platform.create('clusterroles', { metadata: { name: 'written' }, rules: [] });
    await platform.delete('teams', 'payments');
    await vi.waitFor(() => expect(told).toHaveLength(3));
    watch.close();
    await reading;

    const own = expect.stringMatching(/ gitplane:access:team:payments:[0-9a-f]{64}$/);
    expect(told).toEqual([own, 'ADDED written', own]);
    expect(told[2]).toMatch(/^DELETED/);
  });

  async function openMemoryStore(): Promise<Store> {
    return await openStore({
      engine: new MemoryEngine(),
      codec: sealingCodec(Buffer.alloc(32, 7), () => false),
      onError: (error) => {
        throw error;
      },
    });
  }

  function changeOf(of: { name: string; spec: object | undefined }): Change {
    const key = { group: 'management.gitplane.dev', kind: 'Team', namespace: '', name: of.name };
    if (of.spec === undefined) return { type: 'remove', key };
    const apiVersion = 'management.gitplane.dev/v1';
    const metadata = { name: of.name, uid: `uid-${of.name}` };
    return {
      type: 'put',
      key,
      object: { apiVersion, kind: 'Team', metadata, spec: of.spec } as never,
    };
  }

  /** Events up to now; a live watch would wait for more. */
  async function eventsAfter(store: Store, since: number): Promise<JournalEvent[]> {
    const watch = store.watch(collection, since);
    const events: JournalEvent[] = [];
    const reading = (async () => {
      for await (const event of watch.events()) events.push(event);
    })();
    await new Promise(setImmediate);
    watch.close();
    await reading;
    return events;
  }
});

test('a user cannot create a role with the name of a derived role', async () => {
  const platform = await openTestPlatform();
  const body = { metadata: { name: 'gitplane:access:team:payments:0123456789' }, rules: [] };

  await expect(platform.create('clusterroles', body)).rejects.toMatchObject({ code: 422 });
});
