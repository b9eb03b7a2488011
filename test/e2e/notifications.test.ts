/** Notifications of a daemon: a receiver that is away and comes back, and a daemon that is killed meanwhile. */
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { freePort } from '../support/machine.ts';

interface Received {
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly subjects: string[];
}

const received: Received[] = [];
let port: number;
let server: Server | undefined;
let daemon: Daemon;
/** Answer of the receiver. */
let status = 204;

async function listen(): Promise<void> {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const { id, type, source, data } = JSON.parse(body);
      const subjects = data.items.map(({ subject }: { subject: string }) => subject);
      expect(request.headers['webhook-id']).toBe(id);
      expect(request.headers['webhook-signature']).toMatch(/^v1,/);
      received.push({ id, type, source, subjects });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((done) => server?.listen(port, '127.0.0.1', done));
}

async function away(): Promise<void> {
  server?.closeAllConnections();
  await new Promise((done) => server?.close(done));
}

const config = (): string =>
  JSON.stringify({
    notifications: [
      { name: 'hook', webhook: { url: `http://127.0.0.1:${port}/x`, secret: '$HOOK_KEY' } },
    ],
  });
const env = { HOOK_KEY: 'whsec_plJ3nmyCDGBKInavdOK15jsl' };
const patient = { timeout: 30_000 };

async function commit(path: string, text: string): Promise<void> {
  const folder = await daemon.clone();
  const { code, stderr } = await daemon.git(['pull', '-q'], folder);
  expect([code, stderr]).toEqual([0, '']);
  const { writeFileSync, mkdirSync } = await import('node:fs');
  const { dirname, join } = await import('node:path');
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
  await daemon.git(['add', '-A'], folder);
  await daemon.git(
    ['-c', 'user.name=a', '-c', 'user.email=a@x', 'commit', '-qm', 'change'],
    folder,
  );
  // By path, without a verdict: a broken manifest is refused over HTTP.
  await daemon.git(['push', '-q', `${daemon.dataDir}/repo.git`, 'HEAD:refs/heads/side'], folder);
  const moved = await daemon.git(
    ['--git-dir', `${daemon.dataDir}/repo.git`, 'update-ref', 'refs/heads/main', 'refs/heads/side'],
    folder,
  );
  expect(moved.code).toBe(0);
}

beforeAll(async () => {
  port = await freePort();
  await listen();
  daemon = await startDaemon({ env });
  const made = await daemon.call('PATCH', `${API}/config/platform`, {
    body: { spec: { raw: config() } },
    type: 'application/merge-patch+json',
  });
  expect([made.code, made.text.slice(0, 500)]).toEqual([200, expect.any(String)]);
});

afterAll(async () => {
  await daemon?.stop();
  server?.closeAllConnections();
  server?.close();
});

test('a manifest that is broken, and mended', async () => {
  await commit('teams/broken.yaml', 'kind: [');
  await commit('teams/payments.yaml', 'kind: [');
  await expect
    .poll(() => received.map(({ type }) => type), patient)
    .toContain('dev.gitplane.degraded.raised');
  expect(received[0]?.source).toBe(daemon.url);
  expect(received.at(-1)?.subjects).toEqual(['Team "payments"']);
});

test('a receiver that is away gets everything when it is back, over two crashes', async () => {
  await away();
  const before = received.length;
  await commit('teams/platform.yaml', 'kind: [');
  await expect.poll(() => daemon.output(), patient).toContain('Deliveries wait');
  await daemon.stop('SIGKILL');
  daemon = await startDaemon({ env, dataDir: daemon.dataDir, seed: undefined });
  await expect.poll(() => daemon.output(), patient).toContain('Deliveries wait');
  await daemon.stop('SIGKILL');
  // It takes the notification and says that it failed, so that the same one comes again.
  status = 503;
  await listen();
  daemon = await startDaemon({ env, dataDir: daemon.dataDir, seed: undefined });
  await expect.poll(() => received.length, patient).toBeGreaterThan(before);
  status = 204;
  const [first] = received.slice(before);
  await expect.poll(() => received.slice(before).length, patient).toBeGreaterThan(1);
  const again = received.slice(before);
  expect(new Set(again.map(({ id }) => id)).size).toBe(1);
  expect(first?.subjects).toEqual(['Team "platform"']);
  expect(daemon.output()).not.toContain(env.HOOK_KEY);
});
