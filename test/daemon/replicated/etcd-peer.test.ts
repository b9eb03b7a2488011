/** What the tests of replicas stand on: a real etcd that can be harmed, and a network that can. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { ETCD_MISSING, type EtcdCluster, startEtcd } from '../../support/etcd.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';

const title = ETCD_MISSING === undefined ? 'a real etcd' : `a real etcd (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  let etcd: EtcdCluster | undefined;

  afterEach(async () => {
    await etcd?.stop();
  });

  test('etcd of three members continues without one, which catches up when it is back', async () => {
    etcd = await startEtcd({ members: 3 });
    expect((await etcd.ctl(['put', 'a', '1'])).stdout).toContain('OK');
    await etcd.members[0]?.kill();
    // It may have been the one that led.
    await expect.poll(() => etcd?.ctl(['put', 'a', '2'], { member: 1 })).toMatchObject({ code: 0 });
    await etcd.members[0]?.start();
    await etcd.compact();
    await etcd.defragment();
    expect((await etcd.ctl(['get', 'a', '--print-value-only'], { member: 0 })).stdout).toBe('2\n');
    expect(etcd.state).toMatch(/^etcd:\/\/127\.0\.0\.1:\d+,127\.0\.0\.1:\d+,127\.0\.0\.1:\d+$/);
  });

  test('etcd with certificates and users serves only clients that have both', async () => {
    etcd = await startEtcd({ tls: 'mutual', users: { root: 'secret-of-root', gitplane: 'pw' } });
    expect((await etcd.ctl(['put', 'a', '1'])).stdout).toContain('OK');
  });

  test('etcd that is full reports it', async () => {
    etcd = await startEtcd({ quota: 2 ** 20, noFsync: true });
    const input = 'x'.repeat(600_000);
    // etcd compares the quota with the size at its last commit to disk.
    const put = async (): Promise<string> =>
      (await etcd?.ctl(['put', 'a'], { input }))?.stderr ?? '';
    await expect.poll(put, { timeout: 20_000 }).toContain('database space exceeded');
  });
});

describe('the proxy', () => {
  const proxies: TcpProxy[] = [];
  const sockets: Socket[] = [];
  const servers: Server[] = [];

  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    for (const proxy of proxies) await proxy.close();
    for (const server of servers) server.close();
  });

  /** An upstream that answers in capitals, and a client of it through a proxy. */
  async function shouting(): Promise<{ proxy: TcpProxy; socket: Socket; heard: () => string }> {
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => socket.write(chunk.toString().toUpperCase()));
    });
    servers.push(server);
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
    });
    const proxy = await startTcpProxy(`127.0.0.1:${port}`);
    proxies.push(proxy);
    const socket = connect(proxy.port, '127.0.0.1');
    sockets.push(socket);
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk.toString();
    });
    socket.on('error', () => undefined);
    return { proxy, socket, heard: () => heard };
  }

  test('passes bytes both ways, holds them back, and passes them on when healed', async () => {
    const { proxy, socket, heard } = await shouting();
    socket.write('a');
    await expect.poll(heard).toBe('A');
    proxy.blackhole('down');
    socket.write('b');
    proxy.blackhole('up');
    socket.write('c');
    proxy.heal();
    await expect.poll(heard).toBe('ABC');
    proxy.delay(30);
    const before = performance.now();
    socket.write('d');
    await expect.poll(heard, { interval: 5 }).toBe('ABCD');
    expect(performance.now() - before).toBeGreaterThan(55);
  });

  test('cuts what is open and takes new connections, or refuses them', async () => {
    const { proxy, socket, heard } = await shouting();
    socket.write('a');
    await expect.poll(heard).toBe('A');
    const closed = new Promise((resolve) => socket.on('close', resolve));
    proxy.cut();
    await closed;
    await expect.poll(() => proxy.open).toBe(0);
    proxy.refuse();
    const refused = connect(proxy.port, '127.0.0.1');
    await new Promise((resolve) => refused.on('error', () => undefined).on('close', resolve));
  });
});
