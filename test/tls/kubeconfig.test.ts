import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { systemClock } from '../../src/apimachinery/clock.ts';
import { formatKubeconfig } from '../../src/tls/kubeconfig.ts';
import { ensureServerCertificate } from '../../src/tls/server-certificate.ts';

const run = promisify(execFile);
const server = 'https://127.0.0.1:8443/kubernetes/management';

test('a kubeconfig has one context of one cluster and one user', () => {
  const text = formatKubeconfig({ server, caPem: 'PEM\n', token: 'gpo_x' });
  expect(parse(text)).toEqual({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'gitplane', cluster: { server, 'certificate-authority-data': 'UEVNCg==' } }],
    users: [{ name: 'admin', user: { token: 'gpo_x' } }],
    contexts: [{ name: 'gitplane', context: { cluster: 'gitplane', user: 'admin' } }],
    'current-context': 'gitplane',
  });
});

test('a kubeconfig without an authority leaves the trust to the system', () => {
  const text = formatKubeconfig({ server, token: 't', name: 'ann' });
  expect(text).not.toContain('certificate-authority');
  expect(parse(text)).toMatchObject({ users: [{ name: 'ann' }] });
});

test.each([['a: b'], ['*x'], ['0123'], ['"'], ['x'.repeat(500)], ['line\nline']])(
  'a token or name that YAML could mistake (%j) stays what it is',
  (text) => {
    const read = parse(formatKubeconfig({ server, token: text, name: text }));
    expect(read.users).toEqual([{ name: text, user: { token: text } }]);
    expect(read.contexts[0].context.user).toBe(text);
  },
);

function hasKubectl(): boolean {
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe.runIf(hasKubectl())('kubectl', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'gitplane-kubeconfig-'));
  });

  afterEach(async () => {
    await rm(directory, { recursive: true });
  });

  async function kubectl(config: string, ...args: string[]): Promise<string> {
    const path = join(directory, 'kubeconfig');
    await writeFile(path, config, { mode: 0o600 });
    const env = { ...process.env, HOME: directory };
    return (await run('kubectl', ['--kubeconfig', path, ...args], { env })).stdout;
  }

  test('reads it as it was meant', async () => {
    const config = formatKubeconfig({ server, caPem: 'PEM\n', token: 'gpo_x' });
    const view = await kubectl(config, 'config', 'view', '--raw', '--minify', '-o', 'json');
    expect(JSON.parse(view)).toMatchObject({
      'current-context': 'gitplane',
      clusters: [{ cluster: { server, 'certificate-authority-data': 'UEVNCg==' } }],
      users: [{ name: 'admin', user: { token: 'gpo_x' } }],
    });
  });

  test('reaches a server with a certificate of the private authority, and sends the token', async () => {
    const { keyPem, certificatePem, caPem } = await ensureServerCertificate({
      directory: join(directory, 'tls'),
      hostnames: [],
      clock: systemClock,
    });
    const seen: string[] = [];
    const listener = createServer({ key: keyPem, cert: certificatePem }, (request, response) => {
      seen.push(`${request.url} ${request.headers.authorization}`);
      response.setHeader('content-type', 'text/plain').end('hello');
    });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    try {
      const config = formatKubeconfig({
        server: `https://127.0.0.1:${port}/kubernetes/management`,
        caPem,
        token: 'gpo_x',
      });
      const path = '/kubernetes/management/hello';
      expect(await kubectl(config, 'get', '--raw', path)).toBe('hello');
      expect(seen).toContain(`${path} Bearer gpo_x`);
      expect(seen.filter((line) => !line.endsWith(' Bearer gpo_x'))).toEqual([]);
    } finally {
      listener.closeAllConnections();
      listener.close();
    }
  });
});
