/** The client and an etcd of several members, with TLS and passwords. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Etcd, RemoteEtcd } from '../../src/etcd/etcd.ts';
import { EtcdError } from '../../src/etcd/etcd-error.ts';
import type { EtcdOptions } from '../../src/etcd/etcd-options.ts';
import { openEtcd } from '../../src/etcd/open-etcd.ts';
import { ETCD_MISSING, type EtcdCluster, startEtcd } from '../support/etcd.ts';

const WHY = ETCD_MISSING ?? '';
// Etcd reports a missing leader only after seconds: the tests of the other cluster run meanwhile.
const concurrent = true;

describe.skipIf(WHY !== '')(`etcd of three members ${WHY}`, { concurrent }, () => {
  let cluster: EtcdCluster;
  let etcd: Etcd;

  beforeAll(async () => {
    cluster = await startEtcd({
      members: 3,
      noFsync: true,
      args: ['--heartbeat-interval=50', '--election-timeout=500'],
    });
    etcd = await openEtcd({ endpoints: cluster.endpoints, timeoutMs: 30_000 });
  });

  afterAll(async () => {
    await etcd.close();
    await cluster.stop();
  });

  test('reads, writes, a watch and a lease go on while members are killed and stopped', async () => {
    const lease = await etcd.grant(20);
    const { revision } = await put('0');
    const watch = etcd.watch({ key: 'k/', prefix: true, from: revision })[Symbol.asyncIterator]();
    const seen: string[] = [];
    const heard = async (): Promise<void> => {
      for (const { kv } of (await watch.next()).value.events) seen.push(kv.key);
    };

    for (const [i, member] of cluster.members.entries()) {
      if (i % 2 === 0) await member.kill();
      else member.pause();
      await put(String(i + 1));
      while (!seen.includes(`k/${i + 1}`)) await heard();
      if (i % 2 === 0) await member.start();
      else member.resume();
      await cluster.healthy();
    }

    expect(seen).toEqual(['k/0', 'k/1', 'k/2', 'k/3']);
    expect((await etcd.range({ key: 'k/', prefix: true })).kvs).toHaveLength(4);
    expect(lease.lost.aborted).toBe(false);
    await lease.revoke();
  });

  /** May be asked for again, whatever became of it the first time. */
  async function put(name: string): Promise<{ revision: bigint }> {
    for (;;) {
      try {
        const key = `k/${name}`;
        const operations = [{ put: key, value: Buffer.from(name) }];
        const { revision, succeeded } = await etcd.txn({
          compare: [{ key, createRevision: 0n }],
          operations,
        });
        if (succeeded) return { revision };
        return { revision: (await etcd.range({ key })).kvs[0]?.modRevision ?? 0n };
      } catch (error) {
        if (!(error instanceof EtcdError && error.unknown)) throw error;
      }
    }
  }
});

describe.skipIf(WHY !== '')(`a guarded etcd ${WHY}`, { concurrent }, () => {
  let cluster: EtcdCluster;
  let files: EtcdOptions['tls'];

  beforeAll(async () => {
    cluster = await startEtcd({
      tls: 'mutual',
      users: { root: 'of-root', app: 'of-app' },
      noFsync: true,
      // Tokens that end while we look on.
      args: ['--auth-token-ttl=1'],
    });
    const { tls } = cluster;
    files = tls && {
      ca: readFileSync(tls.ca),
      cert: readFileSync(tls.cert),
      key: readFileSync(tls.key),
    };
    await cluster.ctl(['role', 'add', 'gitplane']);
    await cluster.ctl(['role', 'grant-permission', 'gitplane', '--prefix', 'readwrite', '/g/']);
    await cluster.ctl(['user', 'revoke-role', 'app', 'root']);
    await cluster.ctl(['user', 'grant-role', 'app', 'gitplane']);
  });

  afterAll(() => cluster.stop());

  async function as(username: string, password: string): Promise<RemoteEtcd> {
    const credentials = { username, password: () => password };
    return await openEtcd({
      endpoints: cluster.endpoints,
      tls: files,
      credentials,
      timeoutMs: 500,
    });
  }

  test.sequential('a user with a role for the prefix can do all that is needed, and nothing elsewhere', async () => {
    const etcd = await as('app', 'of-app');
    const lease = await etcd.grant(30);
    const { revision } = await etcd.txn({
      compare: [{ key: '/g/a', createRevision: 0n }],
      operations: [{ put: '/g/a', value: Buffer.from('1'), lease: lease.id }],
    });
    const watch = etcd.watch({ key: '/g/', prefix: true, from: revision })[Symbol.asyncIterator]();
    expect((await watch.next()).value.revision).toBe(revision);
    await etcd.compact(revision);

    const elsewhere = etcd.range({ key: '/other/', prefix: true });
    await expect(elsewhere).rejects.toThrow('permission denied; grant its user a role');
    const watching = etcd.watch({ key: '/other/', prefix: true, from: 1n });
    await expect(watching[Symbol.asyncIterator]().next()).rejects.toThrow('permission denied');

    await watch.return?.();
    await lease.revoke();
    expect((await etcd.range({ key: '/g/', prefix: true })).kvs).toEqual([]);
    await etcd.close();
  });

  test.sequential('a token that has ended is renewed, also when the roles have changed', async () => {
    const etcd = await as('app', 'of-app');
    await etcd.range({ key: '/g/a' });
    await cluster.ctl(['role', 'grant-permission', 'gitplane', 'read', '/g/b']);
    await cluster.ctl(['user', 'passwd', 'app', '--interactive=false'], { input: 'of-app' });

    expect((await etcd.range({ key: '/g/a' })).kvs).toEqual([]);
    await etcd.close();
  });

  test.sequential.each([
    { name: 'a wrong password', user: 'app', password: 'wrong', told: 'check the user name' },
    { name: 'nobody', user: 'nobody', password: 'x', told: 'check the user name' },
  ])('$name is refused with the remedy, and without the password', async (of) => {
    const etcd = await as(of.user, of.password);

    const error: Error = await etcd.range({ key: '/g/a' }).then(String, (thrown) => thrown);

    expect(error.message).toContain(of.told);
    expect(error.message).not.toContain('wrong');
    await etcd.close();
  });

  test.sequential('an unreadable password file is reported, and read again the next time', async () => {
    let isThere = false;
    const password = (): string => {
      if (!isThere) throw new Error('no such file');
      return 'of-app';
    };
    const credentials = { username: 'app', password };
    const etcd = await openEtcd({ endpoints: cluster.endpoints, tls: files, credentials });

    const error: unknown = await etcd.range({ key: '/g/a' }).catch((thrown: unknown) => thrown);
    isThere = true;

    expect(error).toBeInstanceOf(EtcdError);
    expect((error as Error).message).toContain('cannot be read: no such file');
    expect((await etcd.range({ key: '/g/a' })).kvs).toEqual([]);
    await etcd.close();
  });

  test.sequential('files that are replaced are used for new connections, and nothing under way ends', async () => {
    const etcd = await as('app', 'of-app');
    const { revision } = await etcd.range({ key: '/g/a' });
    const watch = etcd.watch({ key: '/g/renewed/', prefix: true, from: revision + 1n });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { events } of watch) seen.push(...events.map(({ kv }) => kv.key));
    })();
    const put = (name: string): Promise<unknown> =>
      etcd.txn({
        compare: [],
        operations: [{ put: `/g/renewed/${name}`, value: Buffer.from('x') }],
      });
    await put('a');
    await expect.poll(() => seen).toEqual(['/g/renewed/a']);
    const lease = await etcd.grant(5);

    const { tls } = cluster;
    const [pair, other] = [await tls?.another('root'), await tls?.another('root')];
    const of = (cert = '', key = ''): Parameters<typeof etcd.useTls>[0] => ({
      ca: files?.ca,
      cert: Buffer.from(cert),
      key: Buffer.from(key),
    });
    expect(() => etcd.useTls(of(pair?.certificate, other?.key))).toThrow();
    expect(() => etcd.useTls(of('garbage', 'garbage'))).toThrow();
    await put('b');
    etcd.useTls(of(pair?.certificate, pair?.key));
    await put('c');

    await expect.poll(() => seen).toEqual(['a', 'b', 'c'].map((name) => `/g/renewed/${name}`));
    expect(lease.lost.aborted).toBe(false);
    await lease.revoke();
    watch.close();
    await reading.catch(() => undefined);
    await etcd.close();
  });

  test.sequential('servers that another authority vouches for are not spoken to', async () => {
    const { tls } = cluster;
    const credentials = { username: 'app', password: () => 'of-app' };
    const wrong = { cert: readFileSync(tls?.cert ?? ''), key: readFileSync(tls?.key ?? '') };
    for (const security of [wrong, undefined]) {
      const { endpoints } = cluster;
      const etcd = await openEtcd({ endpoints, tls: security, credentials, timeoutMs: 200 });

      await expect(etcd.range({ key: '/g/a' })).rejects.toThrow('cannot be reached');
      await etcd.close();
    }
  });
});
