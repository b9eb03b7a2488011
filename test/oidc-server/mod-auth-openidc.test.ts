/**
 * Apache with mod_auth_openidc, a certified client that is none of ours, in front of pages of its own.
 * Where it is not installed, this file says so and tests nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../support/machine.ts';
import { Browser, type RunningProvider, startProvider } from './running.ts';

const APACHE = '/usr/sbin/apache2';
const MODULES = '/usr/lib/apache2/modules';
const isInstalled = existsSync(APACHE) && existsSync(join(MODULES, 'mod_auth_openidc.so'));

if (!isInstalled) {
  test.skip('Apache with mod_auth_openidc is not installed (apache2, libapache2-mod-auth-openidc): it signed nobody in', () => {});
}

const SECRET = 'a-secret-of-the-apache-client-0123456789';
/** Whom it runs as where the tests run as root. */
const NOBODY = 65_534;

interface Apache {
  readonly url: string;
  /** Its log, for what went wrong. */
  errorLog(): string;
}

async function startApache(issuer: string, alg: string): Promise<Apache> {
  const folder = mkdtempSync(join(tmpdir(), 'gitplane-apache-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  for (const page of ['private', 'closed', 'bye']) {
    mkdirSync(join(folder, 'www', page), { recursive: true });
    writeFileSync(join(folder, 'www', page, 'index.html'), `the page ${page}`);
  }
  const modules = [
    'mpm_event',
    'authn_core',
    'authz_core',
    'authz_user',
    'auth_openidc',
    'headers',
    'dir',
  ];
  writeFileSync(
    join(folder, 'apache.conf'),
    `ServerRoot ${folder}
ServerName 127.0.0.1
Listen 127.0.0.1:${port}
PidFile ${folder}/pid
DefaultRuntimeDir ${folder}
ErrorLog ${folder}/error.log
StartServers 1
${modules.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`).join('\n')}
DocumentRoot ${folder}/www
DirectoryIndex index.html
OIDCProviderMetadataURL ${issuer}/.well-known/openid-configuration
OIDCClientID apache
OIDCClientSecret ${SECRET}
OIDCRedirectURI ${url}/private/callback
OIDCCryptoPassphrase ${'0123456789abcdef'.repeat(2)}
OIDCPKCEMethod S256
# A busy machine takes longer than its limit of 5 s.
OIDCHTTPTimeoutShort 60
OIDCScope "openid profile email groups"
OIDCIDTokenSignedResponseAlg ${alg}
OIDCRemoteUserClaim sub
OIDCCacheType file
OIDCCacheDir ${folder}
<Location /private>
  AuthType openid-connect
  Require claim groups:dev
  Header set X-User "expr=%{REMOTE_USER}"
  Header set X-Groups "expr=%{reqenv:OIDC_CLAIM_groups}"
</Location>
<Location /closed>
  AuthType openid-connect
  Require claim groups:nobody
</Location>
`,
  );
  const isRoot = process.getuid?.() === 0;
  chmodSync(folder, 0o700);
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const child = spawn(APACHE, ['-f', join(folder, 'apache.conf'), '-DFOREGROUND'], {
    stdio: 'ignore',
    ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
  });
  onTestFinished(async () => {
    await stopped(child);
    rmSync(folder, { recursive: true, force: true });
  });
  const log = (): string => {
    const file = join(folder, 'error.log');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  };
  const browser = new Browser();
  await vi.waitFor(async () => expect((await browser.get(`${url}/bye/`)).code, log()).toBe(200), {
    timeout: 30_000,
    interval: 100,
  });
  return { url, errorLog: log };
}

function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}

async function scene(
  signWith: 'RS256' | 'ES256',
): Promise<RunningProvider & Apache & { browser: Browser }> {
  const provider = await startProvider({}, { signWith });
  const apache = await startApache(provider.issuer, signWith);
  provider.configure({
    enabled: true,
    clients: [
      {
        clientId: 'apache',
        clientSecret: SECRET,
        redirectURIs: [`${apache.url}/private/callback`],
      },
    ],
  });
  return { ...provider, ...apache, browser: new Browser() };
}

/** Follows redirects wherever they lead, up to the sign-in page. */
async function open(browser: Browser, url: string) {
  let visit = await browser.get(url);
  for (let hops = 0; hops < 12 && visit.location !== undefined; hops++) {
    if (new URL(visit.location).pathname === '/login') break;
    visit = await browser.get(visit.location);
  }
  return visit;
}

describe.skipIf(!isInstalled)('Apache with mod_auth_openidc', () => {
  test.each(['RS256', 'ES256'] as const)(
    'signs people in with ID tokens of %s, lets in by groups, and signs them out',
    async (alg) => {
      const { url, browser, login, platform, issuer, errorLog } = await scene(alg);
      const asked = await open(browser, `${url}/private/`);
      expect(asked.location, errorLog()).toContain('/login?returnTo=');
      const key = await login('ann');
      browser.signIn(key);
      const page = await open(browser, `${url}/private/`);
      expect(page.text, errorLog()).toBe('the page private');
      expect(page.headers['x-user']).toBe('ann');
      expect(page.headers['x-groups']).toBe('gitplane:user:ann,gitplane:team:ops,dev');
      expect((await open(browser, `${url}/closed/`)).code).toBe(401);

      const back = encodeURIComponent(`${url}/bye/`);
      const question = await open(browser, `${url}/private/callback?logout=${back}`);
      const xsrf = /name="xsrf" value="([^"]+)"/.exec(question.text)?.[1] ?? '';
      const left = await browser.post(`${issuer}/logout/confirm`, { xsrf, logout: 'yes' });
      expect(left.location?.startsWith(`${url}/bye/`), left.text).toBe(true);
      expect(platform.access.authenticate(key)).not.toHaveProperty('user');
      expect((await open(browser, `${url}/private/`)).location).toContain('/login?returnTo=');
    },
  );
});
