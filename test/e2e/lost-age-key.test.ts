/** A start without the key that git is sealed for: no new key, and everybody is told. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { ETCD_MISSING, startEtcd } from '../support/etcd.ts';
import { freePorts } from '../support/machine.ts';

const KEY = /age1[a-z0-9]+/;

async function daemonWithoutKey(lose: (keyFile: string) => void): Promise<{
  daemon: Daemon;
  keyFile: string;
  recipient: string;
}> {
  const first = await startDaemon();
  await first.stop();
  const keyFile = join(first.dataDir, 'age.key');
  const recipient = KEY.exec(readFileSync(keyFile, 'utf8'))?.[0] ?? '';
  lose(keyFile);
  rmSync(join(first.dataDir, 'state'), { recursive: true });
  const daemon = await startDaemon({ dataDir: first.dataDir });
  return { daemon, keyFile, recipient };
}

test('no new key is made; /readyz, the log and kubectl say so; the key back ends it', async () => {
  const { daemon, keyFile, recipient } = await daemonWithoutKey((file) =>
    renameSync(file, `${file}.away`),
  );
  expect(existsSync(keyFile)).toBe(false);
  const ready = await daemon.call('GET', '/readyz');
  expect([ready.code, ready.text]).toEqual([
    500,
    expect.stringMatching(/\[-\]secrets failed: .*age\.key/),
  ]);
  expect(ready.text).not.toContain(recipient);
  const told = (): unknown => {
    const lines = daemon.output().split('\n');
    const isTold = (text: string): boolean =>
      /"level":"error"/.test(text) && text.includes(recipient);
    return JSON.parse(lines.find(isTold) ?? '{}');
  };
  await expect.poll(told).toMatchObject({
    missing: [recipient],
    files: expect.any(Number),
    remedy: expect.stringMatching(/put .*age\.key back/i),
  });

  const { stdout } = await daemon.kubectl(['get', 'sharedsecrets,teams', '-A']);
  expect(stdout).toMatch(/^NAMESPACE +NAME .* HEALTH +AGE\n/);
  expect(stdout).toMatch(/sharedsecret\S*\/registry .* Degraded +\S+$/m);
  expect(stdout).toMatch(/team\S*\/\S+ .* Ready +\S+$/m);
  const secret = {
    apiVersion: 'management.gitplane.dev/v1',
    kind: 'SharedSecret',
    metadata: { name: 'late' },
    spec: { data: { a: 'Yg==' } },
  };
  const path = `${API}/namespaces/payments/sharedsecrets`;
  const write = await daemon.call('POST', path, { body: secret });
  expect(write.code).toBeGreaterThanOrEqual(400);
  expect(write.code).toBeLessThan(500);
  await daemon.stop();

  renameSync(`${keyFile}.away`, keyFile);
  const again = await startDaemon({ dataDir: daemon.dataDir });
  expect((await again.call('GET', '/readyz')).code).toBe(200);
  const healthy = await again.kubectl(['get', 'sharedsecrets', '-A', '-o', 'wide']);
  expect(healthy.stdout).not.toMatch(/Degraded/);
  await again.stop();
});

test('a key that was replaced, as earlier versions did, is no less loud', async () => {
  const other = await startDaemon();
  await other.stop();
  const { daemon, recipient } = await daemonWithoutKey((file) =>
    renameSync(join(other.dataDir, 'age.key'), file),
  );
  const ready = await daemon.call('GET', '/readyz');
  expect([ready.code, ready.text]).toEqual([
    500,
    expect.stringMatching(/\[-\]secrets failed: .*cannot be opened/),
  ]);
  await expect.poll(() => daemon.output()).toMatch(new RegExp(`"missing":\\["${recipient}"\\]`));
  await daemon.stop();
});

test.skipIf(ETCD_MISSING !== undefined)(
  'the first leader of replicas makes no new key either',
  async () => {
    const first = await startDaemon();
    await first.stop();
    const keyFile = join(first.dataDir, 'age.key');
    const recipient = KEY.exec(readFileSync(keyFile, 'utf8'))?.[0] ?? '';
    rmSync(keyFile);
    const etcd = await startEtcd();
    onTestFinished(() => etcd.stop());
    const stateKey = join(first.dataDir, 'shared.key');
    writeFileSync(stateKey, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
    const [peer = 0] = await freePorts(1);
    const address = `127.0.0.1:${peer}`;
    const args = ['--state', etcd.state, '--state-key', stateKey, '--listen-peer', address];

    const daemon = await startDaemon({ dataDir: first.dataDir, args });

    const missing = new RegExp(`"missing":\\["${recipient}"\\]`);
    await vi.waitFor(() => expect(daemon.output()).toMatch(missing), { timeout: 20_000 });
    expect(existsSync(keyFile)).toBe(false);
    await daemon.stop();
  },
);
