/** The real daemon, as it is bundled: an OpenID provider, a password, and what is written of both. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Daemon, run, scratchDir, startDaemon } from '../support/daemon.ts';
import { CLIENT_ID, CLIENT_SECRET, startOidcPeer } from '../support/oidc-peer.ts';

const anonymous = { token: null };
const config = join(scratchDir(), 'config.yaml');
const auditLog = join(scratchDir(), 'audit.log');
let daemon: Daemon;

beforeAll(async () => {
  writeFileSync(config, '{}');
  daemon = await startDaemon({
    args: ['--config', config, '--public-url', 'https://platform.example'],
  });
});

afterAll(async () => {
  await daemon.stop();
});

function cookieOf(answer: { headers: Readonly<Record<string, unknown>> }, name: string): string {
  const lines = [answer.headers['set-cookie'] ?? []].flat() as string[];
  return lines.find((line) => line.startsWith(`${name}=`))?.split(';')[0] ?? '';
}

// covers: authentication.connectors.oidc authentication.password
test('people sign in with a provider, and a password of theirs ends that session and begins others', async () => {
  const peer = await startOidcPeer();
  peer.account = {
    id: 'ann-1',
    claims: { preferred_username: 'ann', email: 'a@b.example', groups: ['dev', 'qa'] },
  };
  const oidc = {
    ...{ issuerUrl: peer.issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
    ...{ groupsClaim: 'groups', scopes: ['profile', 'groups'] },
  };
  const audit = { enabled: true, path: auditLog, level: 2 };
  writeFileSync(config, JSON.stringify({ auth: { oidc, groupsFilters: ['^d'] }, audit }));
  const info = async () => (await daemon.call('GET', '/auth/info', anonymous)).json();
  await expect.poll(async () => (await info()).methods.sso).toHaveLength(1);
  const begun = await daemon.call('GET', '/auth/oidc/login?returnTo=/teams', anonymous);
  expect(begun.code, begun.text).toBe(303);
  const back = await peer.signIn(String(begun.headers['location']));
  const kept = [begun.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0]);
  const headers = { cookie: kept.join('; ') };
  const ended = await daemon.call('GET', back.pathname + back.search, { ...anonymous, headers });
  expect(ended.headers['location'], ended.text).toBe('/teams');
  const cookie = cookieOf(ended, '__Host-session');
  const session = async () =>
    await daemon.call('GET', '/auth/session', { ...anonymous, headers: { cookie } });
  const { user, groups } = (await session()).json();
  expect(user).toBe('ann');
  expect(groups).toContain('dev');
  expect(groups).not.toContain('qa');

  const kubeconfig = join(daemon.dataDir, 'kubeconfig');
  const words = ['dist/main.js', 'users', 'passwd', 'ann', '--kubeconfig', kubeconfig];
  const input = 'a new password\n';
  const set = await run(process.execPath, words, { input });
  expect(set.stderr + set.stdout).toContain('has a new password');
  await expect.poll(async () => (await session()).code).toBe(401);
  const body = { username: 'ann', password: 'a new password' };
  const answer = await daemon.call('POST', '/auth/password/login', { ...anonymous, body });
  const { accessKey: key } = answer.json();
  const who = await daemon.call('POST', '/auth/token', { ...anonymous, body: { key } });
  expect(who.json()).toMatchObject({ user: 'ann' });

  const clone = await daemon.clone();
  const history = (await daemon.git(['log', '-p'], clone)).stdout;
  expect(history).toContain('Signed-In: ann');
  expect(history).not.toContain('a new password');
  expect(history).not.toMatch(/name: login-ann/);
  const log = (): string => readFileSync(auditLog, 'utf8');
  await expect.poll(log).toContain('"gitplane.dev/connector":"password"');
  expect(log()).toContain('"gitplane.dev/connector":"oidc","gitplane.dev/user":"ann"');
  for (const secret of [key, 'a new password', String(back.searchParams.get('code'))]) {
    expect(log() + daemon.output()).not.toContain(secret);
  }
});
