/** Certificates that are replaced while the daemon serves. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { followCertificate, openTls } from '../../../src/daemon/network/listener.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { ensureServerCertificate } from '../../../src/tls/server-certificate.ts';
import { API, type Daemon, scratchDir, startDaemon } from '../../support/daemon.ts';

const DAY_MS = 86_400_000;

interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** Each of an authority of its own. */
async function makePair(): Promise<Pair> {
  const directory = join(scratchDir(), 'tls');
  const made = await ensureServerCertificate({ directory, hostnames: [], clock: Date });
  return { cert: made.certificatePem, key: made.keyPem };
}

function serialOf(pem: string): string {
  return new X509Certificate(pem).serialNumber;
}

async function handshake(port: number): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  return socket;
}

async function served(port: number): Promise<string> {
  const socket = await handshake(port);
  const serial = socket.getPeerX509Certificate()?.serialNumber ?? '';
  socket.destroy();
  return serial;
}

/** As the kubelet does it: both files at once, through a link. */
function mount(folder: string, version: string, { cert, key }: Pair): void {
  mkdirSync(join(folder, version), { recursive: true });
  writeFileSync(join(folder, version, 'tls.crt'), cert);
  writeFileSync(join(folder, version, 'tls.key'), key);
  symlinkSync(version, join(folder, '..data_tmp'));
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
}

test('the files of --tls-cert and --tls-key are served as they change, and connections go on', async () => {
  const folder = scratchDir();
  const [first, second, third] = [await makePair(), await makePair(), await makePair()];
  mount(folder, '..1', first);
  for (const name of ['tls.crt', 'tls.key']) symlinkSync(`..data/${name}`, join(folder, name));
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  const daemon: Daemon = await startDaemon({
    args: ['--tls-cert', certFile, '--tls-key', keyFile],
  });
  onTestFinished(async () => void (await daemon.stop()));
  const open = await handshake(daemon.port);
  expect(open.getPeerX509Certificate()?.serialNumber).toBe(serialOf(first.cert));

  mount(folder, '..2', second);
  rmSync(join(folder, '..1'), { recursive: true });
  await expect.poll(() => served(daemon.port)).toBe(serialOf(second.cert));

  // A pair that does not fit, or is none, is told, and the one before is served on.
  for (const wrong of [
    { cert: third.cert, key: first.key },
    { cert: 'garbage', key: third.key },
  ]) {
    const before = daemon.output().split('cannot be served').length;
    mount(folder, `..wrong-${before}`, wrong);
    await expect.poll(() => daemon.output().split('cannot be served').length).toBe(before + 1);
    expect(await served(daemon.port)).toBe(serialOf(second.cert));
  }
  rmSync(join(folder, '..data'));
  await expect.poll(() => daemon.output()).toContain('Cannot read --tls-cert');
  mount(folder, '..3', third);
  await expect.poll(() => served(daemon.port)).toBe(serialOf(third.cert));

  open.write(
    `GET ${API}/teams HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${daemon.token}\r\n\r\n`,
  );
  const [head] = (await once(open, 'data')) as [Buffer];
  expect(head.toString('latin1')).toMatch(/^HTTP\/1\.1 200 /);
  open.destroy();
  expect(daemon.output()).not.toContain('PRIVATE KEY');
});

test('the certificate of our own authority is renewed before it ends, without a restart', async () => {
  let shift = 0;
  const clock = { now: () => Date.now() + shift };
  const source = {
    options: { tls: undefined, hostnames: [], listen: { host: '127.0.0.1', port: 0 } },
    data: { tls: join(scratchDir(), 'tls') },
    clock,
  };
  const tls = await openTls(source);
  const server = createServer({ cert: tls.cert, key: tls.key }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const log: string[] = [];
  const logger = createLogger('info', { write: (line) => void log.push(line) });
  const stop = followCertificate({ ...source, tls, logger }, server, { renewalMs: 20 });
  onTestFinished(() => {
    stop();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  expect(await served(port)).toBe(serialOf(tls.cert));

  shift = 360 * DAY_MS;
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await served(port)).toBe(serialOf(tls.cert));
  shift = 370 * DAY_MS;
  await expect.poll(() => served(port)).not.toBe(serialOf(tls.cert));
  const socket = await handshake(port);
  const authority = new X509Certificate(tls.ca ?? '');
  expect(socket.getPeerX509Certificate()?.verify(authority.publicKey)).toBe(true);
  socket.destroy();
  expect(log.join('')).toContain('A newer certificate is served');
});
