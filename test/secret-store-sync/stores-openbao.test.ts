/** Several stores and pulls of whole paths, with a real OpenBao. Skipped where it is not installed. */
import { afterAll, test as anyTest, beforeAll, describe, expect, onTestFinished, vi } from 'vitest';
import { OPENBAO_RELEASES, OpenBao } from '../support/openbao.ts';
import { kindOf } from '../support/platform.ts';
import { openSynced, type SyncedPlatform, secret } from './synced-platform.ts';

describe.each(OPENBAO_RELEASES)('OpenBao $release', ({ program }) => {
  const test = anyTest.skipIf(program === undefined);
  let bao: OpenBao;

  beforeAll(async () => {
    if (program !== undefined) bao = await OpenBao.start({ program });
  });
  afterAll(() => bao?.stop());

  async function tokenFor(policy: string): Promise<string> {
    const name = `of-${Math.abs(policy.length)}-${policy.split('"')[1]?.replace(/\W/g, '-')}`;
    await bao.must('PUT', `sys/policies/acl/${name}`, { policy });
    return await bao.token({ policies: [name], period: '1h', no_parent: true });
  }

  function store(of: OpenBao, token: string, more: object = {}): object {
    return { enabled: true, address: of.address, auth: { token }, syncInterval: '1h', ...more };
  }

  const ALL = 'path "secret/*" { capabilities = ["create","read","update","patch","list"] }';
  const pull = (path: string, more: object = {}): object => ({
    pulls: [{ name: path, mount: 'secret', path, namespace: 'team-a', ...more }],
  });

  function names({ platform }: SyncedPlatform): string[] {
    const { group, kind } = kindOf('sharedsecrets');
    const { items } = platform.store.list({ group, kind });
    return items.flatMap(({ key }) => (key.namespace === 'team-a' ? [key.name] : [])).sort();
  }

  test.each([
    ['with listings of versions', ALL],
    [
      'with plain listings',
      `path "secret/data/*" { capabilities = ["read"] }
       path "secret/metadata/*" { capabilities = ["read","list"] }`,
    ],
  ])('a path becomes objects, %s', async (how, policy) => {
    const path = how.replaceAll(' ', '-');
    for (const key of ['mail', 'db/Main', 'deep/er/est', 'gone', 'a b', 'ключ']) {
      await bao.put(`${path}/${encodeURIComponent(key).replaceAll('%2F', '/')}`, { of: key });
    }
    await bao.must('DELETE', `secret/data/${path}/gone`);
    const config = store(bao, await tokenFor(policy), pull(path, { deletionPolicy: 'Delete' }));
    const synced = await openSynced({ config });
    await synced.cycle();
    expect(names(synced)).toEqual(['db-main', 'deep-er-est', 'mail']);
    const [report] = synced.sync.report().pulls;
    expect(report?.refused.map(({ reason }) => reason).sort()).toEqual([
      'NameInvalid',
      'PathInvalid',
    ]);
    await vi.waitFor(() => expect(synced.sync.report().counts).toMatchObject({ synced: 3 }));

    await bao.must('DELETE', `secret/metadata/${path}/mail`);
    await bao.put(`${path}/new`, { a: '1' });
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();
    expect(names(synced)).toEqual(['db-main', 'deep-er-est', 'new']);
  });

  test('a folder of more than a page is listed as a whole', async () => {
    const paths = Array.from({ length: 1_050 }, (_one, index) => `big/n${index}`);
    for (let index = 0; index < paths.length; index += 50) {
      await Promise.all(paths.slice(index, index + 50).map((path) => bao.put(path, { a: '1' })));
    }
    for (const policy of [
      ALL,
      ALL.replace('secret/*', 'secret/data/*').concat(
        'path "secret/metadata/*" { capabilities = ["list"] }',
      ),
    ]) {
      const config = store(
        bao,
        await tokenFor(policy),
        pull('big', { match: 'n10[0-4].$', limit: 10 }),
      );
      const synced = await openSynced({ config });
      await synced.cycle();

      expect(names(synced)).toHaveLength(10);
      expect(synced.toldOfPulls.at(-1)).toContain('40 more secrets');
    }
  });

  test('rights that are taken away, and a sealed store, delete nothing', async () => {
    for (const key of ['a', 'closed/b']) await bao.put(`rights/${key}`, { a: '1' });
    const name = 'shrinking';
    const grant = (policy: string) => bao.must('PUT', `sys/policies/acl/${name}`, { policy });
    await grant(ALL);
    const token = await bao.token({ policies: [name], period: '1h', no_parent: true });
    const config = store(bao, token, pull('rights', { deletionPolicy: 'Delete' }));
    const synced = await openSynced({ config });
    await synced.cycle();
    expect(names(synced)).toEqual(['a', 'closed-b']);

    await grant(`${ALL} path "secret/+/rights/closed/*" { capabilities = ["deny"] }`);
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();
    expect(names(synced)).toEqual(['a', 'closed-b']);
    await grant('path "secret/metadata/nothing" { capabilities = ["list"] }');
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();
    expect(names(synced)).toEqual(['a', 'closed-b']);
    expect(synced.sync.report().pulls[0]?.problem?.reason).toMatch(/^(Forbidden|MountMissing)$/);
    await bao.seal();
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();
    expect(names(synced)).toEqual(['a', 'closed-b']);
    await bao.unseal();
    await grant(ALL);
    await synced.cycle();
    expect(synced.sync.report().pulls[0]?.problem).toBeUndefined();
  });

  test('a store that is killed holds up no other, and goes on by itself', async () => {
    const eu = await OpenBao.start({ program, storage: 'raft' });
    onTestFinished(() => eu.stop());
    const token = await tokenFor(ALL);
    const named = { name: 'eu', ...store(eu, eu.rootToken, { syncInterval: '1s' }) };
    const synced = await openSynced({ config: store(bao, token), stores: [named] });
    for (const [name, at] of [
      ['own', bao],
      ['of-eu', eu],
    ] as const) {
      await at.put(`two/${name}`, { a: '1' });
      const object = secret(name, {}, { 'kv-secret-path': `two/${name}` }) as {
        metadata: { annotations: Record<string, string> };
      };
      if (at === eu) object.metadata.annotations['gitplane.dev/secret-store'] = 'eu';
      await synced.platform.create('sharedsecrets', object, 'default');
    }
    await synced.cycle();
    expect([synced.data('own'), synced.data('of-eu')]).toEqual([{ a: '1' }, { a: '1' }]);

    await eu.kill();
    await bao.put('two/own', { a: '2' });
    await synced.cycle(false, 'default');
    expect(synced.data('own')).toEqual({ a: '2' });
    await vi.waitFor(
      () => expect(synced.conditions('of-eu')).toContain('Stale=True Unreachable'),
      20_000,
    );
    expect(synced.conditions('own')).toEqual(['Synced=True Synced']);

    await eu.startAgain();
    await eu.put('two/of-eu', { a: '3' });
    await vi.waitFor(() => expect(synced.data('of-eu')).toEqual({ a: '3' }), 30_000);
  });
});
