/** The sync with a real OpenBao: its quotas, and what happens to it. Skipped where OpenBao is not installed. */
import { afterAll, test as anyTest, beforeAll, describe, expect, onTestFinished, vi } from 'vitest';
import { OPENBAO_RELEASES, OpenBao } from '../support/openbao.ts';
import { startStandby } from './lying-standby.ts';
import { openSynced, PATH, type SyncedPlatform } from './synced-platform.ts';

const BOTH = { direction: 'both' };
const POLICY = 'path "secret/*" { capabilities = ["create","read","update","patch","list"] }';

describe.each(OPENBAO_RELEASES)('OpenBao $release', ({ program }) => {
  const test = anyTest.skipIf(program === undefined);
  let bao: OpenBao;

  beforeAll(async () => {
    bao = await OpenBao.start({ program, storage: 'raft' });
    await bao.must('PUT', 'sys/policies/acl/sync', { policy: POLICY });
  });
  afterAll(() => bao.stop());

  function configOf(token: string, address = bao.address): object {
    return { enabled: true, address, auth: { token }, syncInterval: '1h' };
  }

  function newToken(): Promise<string> {
    return bao.token({ policies: ['sync'], period: '1h', no_parent: true });
  }

  async function metric(synced: SyncedPlatform, name: string): Promise<number | undefined> {
    const found = await synced.metrics.getSingleMetric(`gitplane_secret_sync_${name}`)?.get();
    return found?.values[0]?.value;
  }

  /** A secret that agrees with a path of its own. */
  async function agreed(setup: { token?: string; address?: string } = {}) {
    const { token = await newToken(), address } = setup;
    const synced = await openSynced({ config: configOf(token, address) });
    await bao.must('DELETE', `secret/metadata/${PATH}`);
    for (const v of ['one', 'two']) await bao.put(PATH, { v });
    await synced.tie({ v: 'two' }, BOTH);
    await synced.cycle();
    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    return { synced, token };
  }

  async function answersAgain(synced: SyncedPlatform): Promise<void> {
    await synced.edit({ v: 'later' });
    await synced.cycle();
    await vi.waitFor(() => expect(synced.conditions()).toEqual(['Synced=True Synced']), 10_000);
    expect(await bao.live(PATH)).toEqual({ v: 'later' });
    expect(await metric(synced, 'store_available')).toBe(1);
  }

  test('holds newer values of git after a restored snapshot, with both versions', async () => {
    const { synced } = await agreed();
    const snapshot = await bao.snapshot();
    await synced.edit({ v: 'three' });
    await synced.cycle();
    expect(await bao.live(PATH)).toEqual({ v: 'three' });
    await bao.restore(snapshot);
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=False StoreOlder']);
    expect(synced.message()).toMatch(/version 2, after version 3\)/);
    expect(synced.data()).toEqual({ v: 'three' });
    expect(await bao.live(PATH)).toEqual({ v: 'two' });
    const [decision = ''] = /git@[0-9a-f]+/.exec(synced.message()) ?? [];
    await synced.annotate({ resolve: decision });
    await synced.cycle();
    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(await bao.live(PATH)).toEqual({ v: 'three' });
  });

  test.each([
    ['PreferGit', 'three', 3],
    ['PreferStore', 'two', 2],
  ])('follows onStoreOlder after a restored snapshot: %s', async (onStoreOlder, v, version) => {
    const { synced, token } = await agreed();
    await synced.configure({ ...configOf(token), onStoreOlder });
    const snapshot = await bao.snapshot();
    await synced.edit({ v: 'three' });
    await synced.cycle();
    expect(await bao.live(PATH)).toEqual({ v: 'three' });
    await bao.restore(snapshot);
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.message()).toContain(`version ${version})`);
    expect(synced.data()).toEqual({ v });
    expect(await bao.live(PATH)).toEqual({ v });
    expect(synced.log.join('\n')).toContain(v === 'two' ? 'Pulled from' : 'Pushed to');
  });

  test('takes nothing back through a standby with older values', async () => {
    const standby = await startStandby(bao.address);
    onTestFinished(() => standby.close());
    const { synced, token } = await agreed({ address: standby.address });
    await synced.configure({ ...configOf(token, standby.address), onStoreOlder: 'PreferStore' });
    await synced.edit({ v: 'three' });
    await synced.cycle();
    standby.lag();
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=False StoreLags']);
    expect(synced.data()).toEqual({ v: 'three' });
    expect(await bao.live(PATH)).toEqual({ v: 'three' });
    standby.catchUp();
    await synced.cycle();
    await answersAgain(synced);
  });

  test('leaves the last good values while it is sealed, and is used again once it is unsealed', async () => {
    const { synced } = await agreed();
    await bao.seal();
    await synced.cycle();

    expect(synced.conditions().sort()).toEqual(['Stale=True Sealed', 'Synced=True Synced']);
    expect(await metric(synced, 'store_available')).toBe(0);
    expect(synced.log.join('\n')).toContain('The secret store does not answer');
    await bao.unseal();
    await answersAgain(synced);
  });

  test('is used again once it runs after a kill', async () => {
    const { synced } = await agreed();
    await bao.kill();
    await synced.cycle();

    expect(synced.conditions().sort()).toEqual(['Stale=True Unreachable', 'Synced=True Synced']);
    await bao.startAgain();
    await answersAgain(synced);
  });

  test('is neither read nor written with a revoked token until another one is configured', async () => {
    const { synced, token } = await agreed();
    await bao.must('POST', 'auth/token/revoke', { token });
    await synced.cycle();

    expect(synced.conditions().sort()).toEqual([
      'Stale=True TokenInvalid',
      'Synced=False TokenInvalid',
    ]);
    expect(await metric(synced, 'store_in_force')).toBe(0);
    expect(synced.log.join('\n')).toContain('The configured secret store is not in use');
    await synced.configure(configOf(await newToken()));
    await answersAgain(synced);
  });

  test('gets requests with the new token alone after a rotation', async () => {
    const { synced, token } = await agreed();
    await synced.configure(configOf(await newToken()));
    await bao.must('POST', 'auth/token/revoke', { token });
    await answersAgain(synced);

    expect(synced.log.join('\n')).not.toContain('is not in use');
  });

  test.each(ratesOfQuotas())(
    'gets every change of git under a quota of %i requests per second, and is not an outage',
    async (rate) => {
      const count = Math.max(40, 2 * rate);
      const synced = await openSynced({ config: configOf(await newToken()) });
      const paths = Array.from({ length: count }, (_, index) => `quota-${rate}/${index}`);
      for (const [index, path] of paths.entries()) {
        await bao.put(path, { v: 'agreed' });
        await synced.tie({ v: 'agreed' }, { ...BOTH, 'kv-secret-path': path }, `mail-${index}`);
      }
      await synced.cycle();
      expect(synced.sync.report().counts).toMatchObject({ synced: count });
      onTestFinished(async () => {
        await bao.must('DELETE', 'sys/quotas/rate-limit/test').catch(() => undefined);
      });
      await bao.limit(rate);
      await Promise.all(paths.map((_, index) => synced.edit({ v: 'changed' }, `mail-${index}`)));
      const before = { requests: await metric(synced, 'requests_total'), at: performance.now() };
      await synced.cycle();
      const seconds = (performance.now() - before.at) / 1_000;
      const refused = (await metric(synced, 'refused_total')) ?? 0;
      const sent = ((await metric(synced, 'requests_total')) ?? 0) - (before.requests ?? 0);
      await bao.must('DELETE', 'sys/quotas/rate-limit/test');

      for (const path of paths) expect(await bao.live(path)).toEqual({ v: 'changed' });
      expect(synced.sync.report()).toMatchObject({ state: 'available', counts: { synced: count } });
      expect(synced.log.join('\n')).not.toContain('does not answer');
      expect(refused).toBeLessThan(sent / 2);
      if (process.env['GITPLANE_TEST_STORE_QUOTAS'] === undefined) return;
      const share = ((sent - refused) / seconds / rate).toFixed(2);
      process.stdout.write(
        `quota ${rate}/s: ${count} changes in ${seconds.toFixed(1)} s, ${sent - refused} requests accepted, ${refused} refused, share ${share}\n`,
      );
    },
    300_000,
  );
});

/** Requests per second; `GITPLANE_TEST_STORE_QUOTAS=4,10,30,60` takes minutes and prints figures. */
function ratesOfQuotas(): readonly number[] {
  return (process.env['GITPLANE_TEST_STORE_QUOTAS'] ?? '30').split(',').map(Number);
}
