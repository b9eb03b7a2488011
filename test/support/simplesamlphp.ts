/**
 * SimpleSAMLphp as Debian packages it, on PHP's own web server: a SAML identity provider that is not
 * ours. Everything it writes is in a folder of its own.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { scratchDir } from './daemon.ts';
import { freePort } from './machine.ts';
import type { SigningKey, SigningMode } from './saml-peer.ts';

const PROGRAM = '/usr/share/simplesamlphp';
/** Of PHP, which Debian packages on their own. */
const MODULES = ['dom', 'mbstring', 'openssl'];

/** Why it cannot run here; undefined: it can. */
export const SIMPLESAMLPHP_MISSING = missing();

function missing(): string | undefined {
  if (!existsSync(join(PROGRAM, 'www'))) return 'install simplesamlphp';
  try {
    const modules = execFileSync('php', ['-m'], { encoding: 'utf8' }).split('\n');
    const absent = MODULES.filter((name) => !modules.includes(name));
    return absent.length === 0 ? undefined : `install php-xml and php-mbstring`;
  } catch {
    return 'install php-cli';
  }
}

export interface ServiceProvider {
  readonly entityId: string;
  readonly redirectUri: string;
  readonly mode: SigningMode;
}

export interface SimpleSamlPhp {
  readonly ssoUrl: string;
  readonly entityId: string;
  /** What it said so far. */
  output(): string;
  stop(): Promise<void>;
}

export interface SimpleSamlPhpSetup {
  readonly key: SigningKey;
  readonly providers: readonly ServiceProvider[];
  /** Password and attributes by user name. */
  readonly people: Readonly<
    Record<string, { password: string; attributes: Readonly<Record<string, readonly string[]>> }>
  >;
}

const TRIES = 5;

export async function startSimpleSamlPhp(setup: SimpleSamlPhpSetup): Promise<SimpleSamlPhp> {
  for (let tries = 1; ; tries++) {
    // Another process may take the port before PHP has it.
    const port = await freePort();
    const started = await start(setup, port);
    if (started !== undefined) return started;
    if (tries === TRIES) throw new Error('SimpleSAMLphp does not start');
  }
}

async function start(setup: SimpleSamlPhpSetup, port: number): Promise<SimpleSamlPhp | undefined> {
  const url = `http://127.0.0.1:${port}`;
  const folder = scratchDir('gitplane-simplesamlphp-');
  writeConfig(folder, url, setup);
  let said = '';
  const php = spawn(
    'php',
    [
      ...['-d', `error_log=${join(folder, 'php.log')}`, '-d', `session.save_path=${folder}`],
      // PHP 8.2 deprecates what this version of it does.
      ...['-d', 'error_reporting=0', '-d', 'display_errors=0'],
      ...['-S', `127.0.0.1:${port}`, '-t', join(PROGRAM, 'www')],
    ],
    {
      env: {
        PATH: process.env['PATH'],
        SIMPLESAMLPHP_CONFIG_DIR: folder,
        TMPDIR: folder,
        PHP_CLI_SERVER_WORKERS: '2',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its workers end with its group.
      detached: true,
    },
  );
  for (const stream of [php.stdout, php.stderr]) {
    stream.on('data', (part: Buffer) => {
      said += part.toString();
    });
  }
  const stop = (): Promise<void> => end(php);
  const entityId = `${url}/metadata`;
  const isUp = await answers(php, `${url}/saml2/idp/SSOService.php`);
  if (!isUp) {
    await stop();
    return undefined;
  }
  return { ssoUrl: `${url}/saml2/idp/SSOService.php`, entityId, output: () => said, stop };
}

function writeConfig(folder: string, url: string, { key, providers, people }: SimpleSamlPhpSetup) {
  const at = (name: string): string => join(folder, name);
  for (const name of ['metadata', 'log', 'data', 'tmp', 'cert']) mkdirSync(at(name));
  writeFileSync(at('cert/idp.pem'), key.keyPem, { mode: 0o600 });
  writeFileSync(at('cert/idp.crt'), key.certificatePem);
  const config = {
    baseurlpath: `${url}/`,
    certdir: at('cert/'),
    loggingdir: at('log/'),
    datadir: at('data/'),
    tempdir: at('tmp'),
    metadatadir: at('metadata/'),
    secretsalt: 'a salt of a test',
    'auth.adminpassword': 'no administrator here',
    technicalcontact_name: 'nobody',
    technicalcontact_email: 'na@example.org',
    timezone: 'UTC',
    'enable.saml20-idp': true,
    'module.enable': { exampleauth: true, core: true, saml: true },
    'session.cookie.secure': false,
    'session.phpsession.savepath': at('tmp'),
    'store.type': 'phpsession',
    'logging.handler': 'file',
    'admin.checkforupdates': false,
    showerrors: true,
    production: true,
    'metadata.sources': [{ type: 'flatfile' }],
  };
  writeFileSync(at('config.php'), `<?php\n$config = ${php(config)};\n`);
  const users = Object.entries(people).map(([name, { password, attributes }]) => [
    `${name}:${password}`,
    { uid: [name], ...attributes },
  ]);
  const sources = { people: { 0: 'exampleauth:UserPass', ...Object.fromEntries(users) } };
  writeFileSync(at('authsources.php'), `<?php\n$config = ${php(sources)};\n`);
  const host = {
    host: '__DEFAULT__',
    privatekey: 'idp.pem',
    certificate: 'idp.crt',
    auth: 'people',
    'signature.algorithm': 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    authproc: {
      3: {
        class: 'saml:AttributeNameID',
        attribute: 'uid',
        Format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      },
    },
  };
  writeFileSync(
    at('metadata/saml20-idp-hosted.php'),
    `<?php\n$metadata[${php(`${url}/metadata`)}] = ${php(host)};\n`,
  );
  const remotes = providers.map(
    ({ entityId, redirectUri, mode }) =>
      `$metadata[${php(entityId)}] = ${php({
        AssertionConsumerService: redirectUri,
        'saml20.sign.response': mode !== 'assertion',
        'saml20.sign.assertion': mode !== 'response',
        NameIDFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      })};\n`,
  );
  writeFileSync(at('metadata/saml20-sp-remote.php'), `<?php\n${remotes.join('')}`);
}

/** A value as PHP writes it. */
function php(value: unknown): string {
  if (typeof value === 'string') return `'${value.replace(/[\\']/g, '\\$&')}'`;
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value).map(([key, item]) => {
    const name = /^\d+$/.test(key) ? key : php(key);
    return `${name} => ${php(item)}`;
  });
  return `[${entries.join(', ')}]`;
}

const PATIENCE_MS = 60_000;

/** False when it ended instead. */
async function answers(child: ChildProcess, url: string): Promise<boolean> {
  const until = Date.now() + PATIENCE_MS;
  while (child.exitCode === null && Date.now() < until) {
    const isThere = await new Promise<boolean>((resolve) => {
      get(url, (response) => {
        response.resume();
        resolve(true);
      }).on('error', () => resolve(false));
    });
    if (isThere && child.exitCode === null) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const closed = new Promise((resolve) => child.once('close', resolve));
  process.kill(-child.pid, 'SIGKILL');
  await closed;
}
