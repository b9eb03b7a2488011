/** `gitplane login`: a person, a browser, a kubeconfig, and kubectl. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { type BrowserUse, expectAccessible, HAS_BROWSER, useBrowser } from '../support/browser.ts';
import {
  API,
  type Daemon,
  findKubectl,
  RBAC,
  type RunResult,
  run,
  scratchDir,
  startDaemon,
} from '../support/daemon.ts';
import { CLIENT_ID, CLIENT_SECRET, startOidcPeer } from '../support/oidc-peer.ts';
import { PASSWORD, passwordHash } from './passwords.ts';

const MAIN = join(import.meta.dirname, '../../dist/main.js');
const kubectl = findKubectl('1.32');
const apiGroup = 'rbac.authorization.k8s.io';

let daemon: Daemon;
/** Of the person at the terminal; anew for each test. */
let home: string;

beforeAll(async () => {
  daemon = await startDaemon();
  const metadata = { name: 'grace' };
  const rules = [
    { apiGroups: ['management.gitplane.dev'], resources: ['teams'], verbs: ['get', 'list'] },
  ];
  const roleRef = { apiGroup, kind: 'ClusterRole', name: 'grace' };
  const subjects = [{ apiGroup, kind: 'User', name: 'grace' }];
  const made = [
    await daemon.call('POST', `${API}/users`, {
      body: { metadata, spec: { passwordHash: passwordHash(PASSWORD) } },
    }),
    await daemon.call('POST', `${RBAC}/clusterroles`, { body: { metadata, rules } }),
    await daemon.call('POST', `${RBAC}/clusterrolebindings`, {
      body: { metadata, roleRef, subjects },
    }),
  ];
  expect(made.map(({ code }) => code)).toEqual([201, 201, 201]);
  // The example platform is said to be at another address.
  await configure({});
});
afterAll(async () => {
  await daemon?.stop();
});
beforeEach(() => {
  home = scratchDir('gitplane-home-');
});

async function configure(config: object): Promise<void> {
  const path = `${API}/config/platform`;
  const body = { spec: { raw: stringify(config) } };
  const answer = await daemon.call('PATCH', path, { body, type: 'application/merge-patch+json' });
  expect(answer.code, answer.text).toBe(200);
}

const AUTH_URL = /https:\S+\/auth\/cli\S+/;

function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH = '' } = process.env;
  return { PATH, HOME: home, ...more };
}

const trust = (): string[] => ['--ca-file', join(daemon.dataDir, 'tls/ca.crt')];

function gitplane(args: readonly string[], input?: string): Promise<RunResult> {
  return run(process.execPath, [MAIN, ...args], { env: environment(), input });
}

function asKubectl(...args: string[]): Promise<RunResult> {
  return run(kubectl ?? '', args, { env: environment() });
}

// biome-ignore lint/suspicious/noExplicitAny: kubeconfigs of every shape
const config = (): any => parse(readFileSync(join(home, '.kube/config'), 'utf8'));
const context = (): string => `gitplane-127.0.0.1-${daemon.port}`;
const savedFile = (): string => join(home, '.config/gitplane/logins', `${context()}.json`);

/** Starts the command and waits for what it says. */
async function begun(
  args: readonly string[],
  says: RegExp,
  env: Readonly<Record<string, string>> = {},
): Promise<{ match: RegExpExecArray; ended: Promise<{ code: number | null; output: string }> }> {
  const child: ChildProcess = spawn(process.execPath, [MAIN, ...args], {
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill();
  });
  let output = '';
  const ended = new Promise<{ code: number | null; output: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, output }));
  });
  const match = await new Promise<RegExpExecArray>((resolve, reject) => {
    const look = (chunk: Buffer): void => {
      output += chunk;
      const found = says.exec(output);
      if (found !== null) resolve(found);
    };
    child.stdout?.on('data', look);
    child.stderr?.on('data', look);
    child.on('close', (code) => reject(new Error(`It ended with ${code}: ${output}`)));
  });
  return { match, ended };
}

describe('login with an access key', () => {
  // covers: service.accessKeysOfPrograms
  test('kubectl works after it, and not after logout', async () => {
    const args = ['login', daemon.url, ...trust(), '--access-key', '-'];
    const { code, stdout, stderr } = await gitplane(args, `${daemon.token}\n`);
    expect(stderr).toBe('');
    expect([code, stdout]).toEqual([0, expect.stringContaining('Signed in as admin')]);
    expect(readFileSync(join(home, '.kube/config'), 'utf8')).not.toContain(daemon.token);
    expect(statSync(savedFile()).mode & 0o777).toBe(0o600);
    if (kubectl !== undefined) {
      const teams = await asKubectl('get', 'teams', '-o', 'name');
      expect([teams.code, teams.stderr]).toEqual([0, '']);
      expect(teams.stdout).toContain('team.management.gitplane.dev/payments');
    }
    expect((await gitplane(['keys', 'list'])).stdout).toContain('NAME');
    expect((await gitplane(['whoami'])).stdout).toMatch(/user {5}admin\n/);
    const out = await gitplane(['logout']);
    expect([out.code, out.stdout]).toEqual([0, `Signed out of ${daemon.url}.\n`]);
    expect(existsSync(savedFile())).toBe(false);
    expect(config()).toMatchObject({
      clusters: [],
      users: [],
      contexts: [],
      'current-context': '',
    });
    // It was there before, and it is nobody's to take.
    expect((await daemon.call('GET', `${API}/teams`)).code).toBe(200);
  });

  test.each([
    [
      'a key that does not work',
      () => [daemon.url, ...trust(), '--access-key', 'wrong'],
      /401, https:/,
    ],
    ['a server that nobody vouches for', () => [daemon.url, '--access-key', 'x'], /--ca-file/],
    [
      'a server without TLS',
      () => [daemon.url.replace('https', 'http'), '--access-key', 'x'],
      /write https:/,
    ],
    [
      'a name that is a path',
      () => [daemon.url, '--access-key', 'x', '--context', '../x'],
      /Cannot use the name/,
    ],
    ['no server', () => [], /Say where/],
  ])('%s is refused, and nothing is written', async (_what, args, expected) => {
    const { code, stderr } = await gitplane(['login', ...args()]);
    expect([code === 0, stderr]).toEqual([false, expect.stringMatching(expected)]);
    expect(readdirSync(home)).toEqual([]);
  });

  test('--insecure stays in the kubeconfig at $KUBECONFIG', async () => {
    const file = join(home, 'own');
    const env = environment({ KUBECONFIG: `${file}:${join(home, 'other')}` });
    writeFileSync(join(home, 'other'), 'contexts: []\n');
    const args = [
      MAIN,
      'login',
      daemon.url,
      '--insecure',
      '--context',
      'mine',
      '--access-key',
      daemon.token,
    ];
    expect((await run(process.execPath, args, { env })).stderr).toBe('');
    expect(existsSync(file)).toBe(false);
    const { clusters, users } = parse(readFileSync(join(home, 'other'), 'utf8'));
    expect(clusters[0]).toEqual({
      name: 'mine',
      cluster: { server: `${daemon.url}/kubernetes/management`, 'insecure-skip-tls-verify': true },
    });
    expect(users[0].user.exec.args.slice(-2)).toEqual(['credential', 'mine']);
    if (kubectl !== undefined) {
      expect((await run(kubectl, ['get', 'teams'], { env })).code).toBe(0);
    }
  });

  test('the key is for its server: a kubeconfig that was changed gets none', async () => {
    await gitplane(['login', daemon.url, ...trust(), '--access-key', daemon.token]);
    const info = (server: string): string =>
      JSON.stringify({
        apiVersion: 'client.authentication.k8s.io/v1',
        kind: 'ExecCredential',
        spec: { cluster: { server } },
      });
    const asked = (server: string): Promise<RunResult> =>
      run(process.execPath, [MAIN, 'credential', context()], {
        env: environment({ KUBERNETES_EXEC_INFO: info(server) }),
      });
    const right = await asked(`${daemon.url}/kubernetes/management`);
    expect(JSON.parse(right.stdout)).toEqual({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: daemon.token },
    });
    expect((await asked(`${daemon.url}/kubernetes/virtualcluster/blue`)).code).toBe(0);
    for (const other of [
      'https://evil.example/x',
      `${daemon.url}1`,
      `${daemon.url}@evil.example`,
    ]) {
      const wrong = await asked(other);
      expect([wrong.code, wrong.stdout]).toEqual([1, '']);
      expect(wrong.stderr).not.toContain(daemon.token);
    }
  });

  test('a login that ended names the remedy', async () => {
    await gitplane(['login', daemon.url, ...trust(), '--access-key', daemon.token]);
    const saved = JSON.parse(readFileSync(savedFile(), 'utf8'));
    writeFileSync(
      savedFile(),
      JSON.stringify({ ...saved, expirationTimestamp: '2020-01-01T00:00:00Z' }),
    );
    const { code, stderr } = await gitplane(['credential', context()]);
    expect([code, stderr]).toEqual([
      1,
      `gitplane: The login ended at 2020-01-01T00:00:00Z; run: gitplane login ${daemon.url}\n`,
    ]);
  });
});

interface Key {
  readonly spec: { readonly displayName?: string; readonly type?: string; readonly user?: string };
}

describe.skipIf(!HAS_BROWSER)('login with a browser', () => {
  const browser: BrowserUse = useBrowser();
  beforeEach(() => configure({}));

  async function signIn(page: Awaited<ReturnType<BrowserUse['visit']>>['page']): Promise<void> {
    await page.getByLabel('User name').fill('grace');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  test('login on the same computer needs one approval, works for kubectl, and ends with logout', async () => {
    const { match, ended } = await begun(['login', daemon.url, ...trust()], AUTH_URL, {
      BROWSER: 'true',
    });
    const { page, complaints } = await browser.visit();
    await page.goto(match[0]);
    await signIn(page);
    await page.getByRole('heading', { name: 'Let this program sign in?' }).waitFor();
    const facts = await page.locator('dl').innerText();
    expect(facts).toMatch(/Program\s+gitplane \d/);
    expect(facts).toMatch(/It will act as\s+grace/);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Let it sign in' }).press('Enter');
    await page.getByRole('heading', { name: 'The program is signed in' }).waitFor();
    await expectAccessible(page);
    expect(page.url()).toBe(`${daemon.url}/auth/cli/done`);
    const { code, output } = await ended;
    expect([code, output]).toEqual([0, expect.stringContaining('Signed in as grace until ')]);
    const { accessKey, expirationTimestamp } = JSON.parse(readFileSync(savedFile(), 'utf8'));
    expect(Date.parse(expirationTimestamp)).toBeGreaterThan(Date.now());
    expect(output).not.toContain(accessKey);
    const keys: Key[] = (await daemon.call('GET', `${API}/ownedaccesskeys`)).json().items;
    const own = keys.filter(({ spec }) => /^gitplane \S+ on \S+@/.test(spec.displayName ?? ''));
    expect(own.map(({ spec }) => [spec.type, spec.user])).toEqual([['Login', 'grace']]);
    if (kubectl !== undefined) expect((await asKubectl('get', 'teams')).code).toBe(0);
    expect((await gitplane(['whoami'])).stdout).toMatch(/user {5}grace\n/);
    expect((await gitplane(['logout'])).code).toBe(0);
    const after = await daemon.call('GET', `${API}/teams`, { token: accessKey });
    expect(after.code).toBe(401);
    if (kubectl !== undefined) expect((await asKubectl('get', 'teams')).code).not.toBe(0);
    expect(complaints).toEqual([]);
  });

  test('login through a provider waits for the whole redirect', async () => {
    const peer = await startOidcPeer({
      client: {
        redirect_uris: [`${daemon.url}/auth/corp/callback`],
        post_logout_redirect_uris: [`${daemon.url}/login`],
      },
    });
    peer.account = { id: 'lin-1', claims: { preferred_username: 'lin', groups: ['ops'] } };
    const oidc = {
      ...{ issuerUrl: peer.issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
      postLogoutRedirectURI: `${daemon.url}/login`,
      platformUsernameClaim: 'preferred_username',
      groupsClaim: 'groups',
      scopes: ['profile', 'groups'],
    };
    const connectors = [{ id: 'corp', displayName: 'Example Corp', oidc }];
    await configure({ auth: { connectors, password: { disabled: true } } });
    const { match, ended } = await begun(['login', daemon.url, ...trust()], AUTH_URL, {
      BROWSER: 'true',
    });
    const { page, complaints } = await browser.visit();
    await page.goto(match[0]);
    await page.getByRole('link', { name: 'Continue with Example Corp' }).click();
    await page.getByRole('button', { name: 'Let it sign in' }).click();
    await page.getByRole('heading', { name: 'The program is signed in' }).waitFor();
    const { code, output } = await ended;
    expect([code, output]).toEqual([0, expect.stringContaining('Signed in as lin')]);
    expect((await gitplane(['whoami'])).stdout).toMatch(/groups(.|\n)*ops/);
    await page.goto(`${daemon.url}/login`);
    expect(complaints).toEqual([]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL((url) => url.origin === peer.issuer);
    // The page of the provider asks for fonts that are not there.
    expect(complaints.filter((text) => text.includes('Policy'))).toEqual([]);
  });

  test('login that the browser declines ends the command without a key', async () => {
    const { match, ended } = await begun(['login', daemon.url, ...trust()], AUTH_URL, {
      BROWSER: 'true',
    });
    const { page } = await browser.visit();
    await page.goto(match[0]);
    await signIn(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('heading', { name: 'Nothing was given' }).waitFor();
    const { code, output } = await ended;
    expect([code, output]).toEqual([1, expect.stringContaining('declined')]);
    expect(existsSync(savedFile())).toBe(false);
  });

  test('login on another device takes a code, and shows the requester', async () => {
    const { match, ended } = await begun(
      ['login', daemon.url, ...trust(), '--headless'],
      /Open (\S+) .* type: (\S+)/,
    );
    const [, url = '', userCode = ''] = match;
    const { page, complaints } = await browser.visit();
    await page.goto(url);
    await signIn(page);
    await page.getByLabel('Code that the program shows').fill('BBBB-BBBB');
    await page.keyboard.press('Enter');
    expect(await page.getByRole('alert').innerText()).toContain('no such code');
    await expectAccessible(page);
    await page
      .getByLabel('Code that the program shows')
      .fill(userCode.toLowerCase().replace('-', ''));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Let this program sign in?' }).waitFor();
    const facts = await page.locator('dl').innerText();
    expect(facts).toContain('127.0.0.1');
    expect(facts).toContain(userCode);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Let it sign in' }).click();
    await page.getByRole('heading', { name: 'The program is signed in' }).waitFor();
    const { code, output } = await ended;
    expect([code, output]).toEqual([0, expect.stringContaining('Signed in as grace')]);
    if (kubectl !== undefined) expect((await asKubectl('get', 'teams')).code).toBe(0);
    // The one 400 was asked for.
    expect(complaints).toEqual([expect.stringContaining('400')]);
  });
});
