/** Secrets of a platform and a store over HTTP: what flows where, and what people are told. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { git } from '../support/git.ts';
import { KvStore } from '../support/kv/kv-store.ts';
import { startKvServer } from '../support/kv-server.ts';
import { openSynced, PATH, type SyncedPlatform } from './synced-platform.ts';

const BOTH = { direction: 'both' };
const PUSH = { direction: 'push' };

function head({ platform }: SyncedPlatform): string {
  return git(platform.repository.gitDir, ['log', '-1', '--format=%an%n%s%n%b', 'main']);
}

function commits({ platform }: SyncedPlatform): number {
  return Number(git(platform.repository.gitDir, ['rev-list', '--count', 'main']));
}

/** A secret that git and the store agree about: user=ann, password=one. */
async function agreed(annotations: Readonly<Record<string, string>> = BOTH) {
  const synced = await openSynced();
  synced.mount.put(PATH, { user: 'ann', password: 'one' });
  await synced.tie({ user: 'ann', password: 'one' }, annotations);
  await synced.cycle();
  expect(synced.conditions()).toEqual(['Synced=True Synced']);
  return synced;
}

describe('the default direction', () => {
  test('a value of the store comes into git, as a commit of a bot with the reason', async () => {
    const synced = await openSynced();
    synced.mount.put(PATH, { user: 'ann', password: 'hunter2' });
    await synced.tie({});
    await synced.cycle();

    expect(synced.data()).toEqual({ user: 'ann', password: 'hunter2' });
    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    const message = head(synced);
    expect(message).toContain('gitplane-secret-sync\npatch SharedSecret "default/mail"');
    expect(message).toContain(
      'Pulled from the secret store, secret/app/mail. Keys: password, user',
    );
    expect(message).toMatch(/Store-Version: 1\nStore-Created: 2026-01-01T\S+Z/);
    expect(message).not.toContain('hunter2');
  });

  test('a push writes only changed secrets, and nothing when nothing changed', async () => {
    const synced = await agreed({});
    const before = commits(synced);
    await synced.cycle();
    expect(commits(synced)).toBe(before);

    synced.mount.put(PATH, { user: 'ann', password: 'two' });
    await synced.cycle();
    expect(commits(synced)).toBe(before + 1);
    const stat = git(synced.platform.repository.gitDir, ['show', '--format=', '--numstat', 'main']);
    expect(stat).toMatch(/^1\t1\t/);
  });

  // covers: SharedSecret.status.conditions
  test('nothing is written to the store, and a change in git is reported', async () => {
    const synced = await agreed({});
    await synced.edit({ user: 'bob', password: 'one' });
    await synced.cycle();

    expect(synced.mount.live(PATH)).toEqual({ user: 'ann', password: 'one' });
    expect(synced.conditions()).toEqual(['Synced=False GitChanged']);
    expect(synced.message()).toContain('user');
    expect(synced.message()).not.toContain('bob');
  });
});

describe('a secret that is pushed', () => {
  test('is in the store soon after it is in git, and without another cycle over all', async () => {
    const synced = await openSynced();
    await synced.tie({ token: 'abc' }, PUSH);

    await vi.waitFor(() => expect(synced.mount.live(PATH)).toEqual({ token: 'abc' }), 10_000);
    await synced.edit({ token: 'def' });
    await vi.waitFor(() => expect(synced.mount.live(PATH)).toEqual({ token: 'def' }), 10_000);
  });

  test('is not overwritten by a change in the store', async () => {
    const synced = await agreed(PUSH);
    synced.mount.put(PATH, { user: 'eve', password: 'one' });
    await synced.cycle();

    expect(synced.data()).toEqual({ user: 'ann', password: 'one' });
    expect(synced.mount.live(PATH)).toEqual({ user: 'eve', password: 'one' });
    expect(synced.conditions()).toEqual(['Synced=False StoreChanged']);
  });
});

describe('both ways', () => {
  test('keys that changed on different sides are merged', async () => {
    const synced = await agreed();
    synced.mount.put(PATH, { user: 'eve', password: 'one' });
    await synced.edit({ user: 'ann', password: 'two' });
    await synced.cycle();

    const merged = { user: 'eve', password: 'two' };
    await vi.waitFor(() => expect(synced.data()).toEqual(merged), 10_000);
    expect(synced.mount.live(PATH)).toEqual(merged);
    expect(synced.conditions()).toEqual(['Synced=True Synced']);
  });

  test('keys that belong together are not torn apart', async () => {
    const synced = await agreed({ ...BOTH, merge: 'user,password' });
    synced.mount.put(PATH, { user: 'eve', password: 'one' });
    await synced.edit({ user: 'ann', password: 'two' });
    await synced.cycle();

    expect(synced.data()).toEqual({ user: 'ann', password: 'two' });
    expect(synced.mount.live(PATH)).toEqual({ user: 'eve', password: 'one' });
    expect(synced.conditions()).toEqual(['Synced=False Conflict']);
  });

  test.each([
    ['git', { user: 'ann', password: 'of git' }],
    ['store', { user: 'ann', password: 'of the store' }],
  ])('a conflict is held until a user decides, for %s', async (winner, settled) => {
    const synced = await conflict();
    expect(synced.conditions()).toEqual(['Synced=False Conflict']);
    expect(synced.message()).toContain('Changed on both sides since they agreed: password.');
    expect(synced.message()).not.toContain('of ');

    const [, decision = ''] = new RegExp(`"(${winner}@\\w+)"`).exec(synced.message()) ?? [];
    await synced.annotate({ resolve: decision });
    await synced.cycle();
    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.data()).toEqual(settled);
    expect(synced.mount.live(PATH)).toEqual(settled);
  });

  test('a decision is about the pair that was shown, and about no other', async () => {
    const synced = await conflict();
    const [, decision = ''] = /"(store@\d+)"/.exec(synced.message()) ?? [];
    synced.mount.put(PATH, { user: 'ann', password: 'newer' });
    await synced.annotate({ resolve: decision });
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=False Conflict']);
    expect(synced.data()).toEqual({ user: 'ann', password: 'of git' });
  });

  test('two secrets that never agreed are not laid over each other', async () => {
    const synced = await openSynced();
    synced.mount.put(PATH, { password: 'of the store' });
    await synced.tie({ password: 'of git' }, BOTH);
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=False AdoptionConflict']);
    expect(synced.data()).toEqual({ password: 'of git' });
    expect(synced.mount.live(PATH)).toEqual({ password: 'of the store' });
  });

  test('the second of two secrets that push to one path gets a condition', async () => {
    const synced = await agreed();
    await synced.tie({ user: 'zoe' }, BOTH, 'other');
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.conditions('other')).toEqual(['Synced=False PathShared']);
    expect(synced.mount.live(PATH)).toEqual({ user: 'ann', password: 'one' });
  });

  async function conflict(): Promise<SyncedPlatform> {
    const synced = await agreed();
    synced.mount.put(PATH, { user: 'ann', password: 'of the store' });
    await synced.edit({ user: 'ann', password: 'of git' });
    await synced.cycle();
    return synced;
  }
});

describe('a deletion', () => {
  test('a deletion in the store is reported, and git keeps the values', async () => {
    const synced = await agreed();
    synced.mount.deleteLatest(PATH);
    await synced.cycle();
    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=False DeletedInStore']);
    expect(synced.data()).toEqual({ user: 'ann', password: 'one' });
  });

  test.each([
    ['soft', (synced: SyncedPlatform) => synced.mount.deleteLatest(PATH)],
    ['hard', (synced: SyncedPlatform) => synced.mount.removeKey(PATH)],
  ])(
    'a deletion in the store, a %s one, deletes in git where the policy asks for it',
    async (_, remove) => {
      const synced = await agreed({ 'deletion-in-store': 'delete' });
      remove(synced);
      await synced.cycle();
      expect(synced.object()).toBeDefined();
      await synced.cycle();

      expect(synced.object()).toBeUndefined();
      expect(head(synced)).toContain('It was deleted in the secret store.');
    },
  );

  test('a deletion in git does not delete in the store', async () => {
    const synced = await agreed();
    await synced.remove();
    await synced.cycle();

    expect(synced.mount.live(PATH)).toEqual({ user: 'ann', password: 'one' });
  });

  test('a deletion in git hides the version in the store where the policy asks for it', async () => {
    const synced = await agreed({ ...BOTH, 'deletion-in-git': 'soft-delete' });
    await synced.remove();
    await synced.cycle();

    expect(synced.mount.live(PATH)).toBeUndefined();
    expect(synced.mount.keys.get(PATH)?.versions.size).toBe(1);
  });

  test('a deletion of a secret that another process changed in the store hides nothing', async () => {
    const synced = await agreed({ ...BOTH, 'deletion-in-git': 'soft-delete' });
    await synced.remove();
    synced.mount.put(PATH, { user: 'new' });
    await synced.cycle();

    expect(synced.mount.live(PATH)).toEqual({ user: 'new' });
  });

  test('a deletion of a tie deletes no secret, and removes the conditions', async () => {
    const synced = await agreed({ ...BOTH, 'deletion-in-git': 'soft-delete' });
    await synced.change((object) => {
      delete (object['metadata'] as { annotations?: object }).annotations;
    });
    await synced.cycle();

    await vi.waitFor(() => expect(synced.conditions()).toEqual([]), 10_000);
    expect(synced.mount.live(PATH)).toEqual({ user: 'ann', password: 'one' });
  });

  test('a deletion of many secrets at once needs an approval', async () => {
    const synced = await openSynced();
    for (let index = 0; index < 6; index += 1) {
      synced.mount.put(`many/${index}`, { a: 'x' });
      const place = { 'kv-secret-path': `many/${index}`, 'deletion-in-store': 'delete' };
      await synced.tie({ a: 'x' }, place, `mail-${index}`);
    }
    await synced.cycle();
    for (let index = 0; index < 6; index += 1) synced.mount.removeKey(`many/${index}`);
    await synced.cycle();
    await synced.cycle();

    expect(synced.conditions('mail-3')).toEqual(['Synced=False MassDeletionBlocked']);
    expect(synced.platform.names('sharedsecrets')).toHaveLength(6);
    await synced.cycle(true);
    expect(synced.platform.names('sharedsecrets')).toEqual([]);
  });

  test('a deletion of a whole mount deletes none of its secrets', async () => {
    const synced = await agreed({ 'deletion-in-store': 'delete' });
    synced.server.store.mount('secret/');
    await synced.cycle();
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=False MountReplaced']);
    expect(synced.data()).toEqual({ user: 'ann', password: 'one' });
  });
});

describe('a store that is in trouble', () => {
  test.each([
    [
      'sealed',
      (synced: SyncedPlatform, on: boolean) => (synced.server.store.isSealed = on),
      'Sealed',
    ],
    [
      'failing',
      (synced: SyncedPlatform, on: boolean) => {
        const answer = { status: 503, headers: {}, text: '{"errors":[]}' };
        synced.server.store.scripted.splice(0, 1000, ...(on ? Array(500).fill(answer) : []));
      },
      'StoreFailed',
    ],
  ])(
    '%s leaves the last good values, is asked little, and is used again',
    async (_, trouble, reason) => {
      const synced = await agreed();
      trouble(synced, true);
      const asked = synced.server.store.requests.length;
      await synced.cycle();

      expect(synced.conditions()).toContain(`Stale=True ${reason}`);
      expect(synced.conditions()).toContain('Synced=True Synced');
      expect(synced.message()).toMatch(/last synced 20/);
      expect(synced.sync.report().state).toBe('unavailable');
      expect(synced.server.store.requests.length - asked).toBeLessThanOrEqual(2);

      trouble(synced, false);
      synced.mount.put(PATH, { user: 'ann', password: 'later' });
      // Nobody asks for a cycle: the sync comes back by itself.
      await vi.waitFor(() => expect(synced.data()?.['password']).toBe('later'), 15_000);
      await vi.waitFor(() => expect(synced.conditions()).toEqual(['Synced=True Synced']), 10_000);
      expect(synced.sync.report().state).toBe('available');
    },
  );

  test('a store that is missing at the start is found later', async () => {
    const synced = await openSynced();
    await synced.tie({}, {});
    const { server } = synced;
    await server.close();
    await synced.cycle();

    // `Synced` is absent if the store answered before it closed, and false if it never did.
    const conditions = synced.conditions();
    expect(conditions).toContain('Stale=True Unreachable');
    expect(conditions.join()).not.toContain('Synced=True');
  });

  test('answers from a node that lags behind take nothing back', async () => {
    let lag = 0;
    const store = new KvStore({ lag: () => lag });
    const mount = store.mount('secret/');
    const server = await startKvServer({ store });
    onTestFinished(() => server.close());
    const synced = await openSynced({ server });
    await synced.tie({ v: 'first' }, BOTH);
    await synced.cycle();
    await synced.edit({ v: 'second' });
    await synced.cycle();
    expect(mount.live(PATH)).toEqual({ v: 'second' });

    lag = 1;
    await synced.cycle();
    await synced.cycle();
    expect(synced.data()).toEqual({ v: 'second' });
    expect(mount.keys.get(PATH)?.current).toBe(2);
  });

  test('a refused secret blocks no other', async () => {
    const synced = await agreed();
    synced.server.store.token('root', { denies: (_method, path) => path.includes('theirs') });
    synced.mount.put('theirs', { a: 'x' });
    await synced.tie({}, { 'kv-secret-path': 'theirs' }, 'theirs');
    synced.mount.put(PATH, { user: 'ann', password: 'two' });
    await synced.cycle();

    expect(synced.conditions('theirs')).toEqual(['Synced=False Forbidden']);
    expect(synced.data()).toEqual({ user: 'ann', password: 'two' });
    expect(synced.sync.report()).toMatchObject({
      state: 'available',
      counts: { synced: 1, failed: 1 },
      attention: [{ name: 'theirs', reason: 'Forbidden' }],
    });
  });

  test('a missing mount is reported', async () => {
    const synced = await openSynced();
    await synced.tie({ a: 'x' }, { 'kv-mount-path': 'nowhere' });
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=False MountMissing']);
  });

  test('an engine of another version than the annotation is reported', async () => {
    const synced = await openSynced();
    await synced.tie({ a: 'x' }, { 'kv-version': 'kv1', ...PUSH });
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=False WrongEngine']);
    expect(synced.mount.keys.size).toBe(0);
  });
});
