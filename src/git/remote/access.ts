/**
 * Turns credentials for a remote into config and environment of one git process. They never become
 * arguments or files. Secrets in files are read at each use, so that they can be replaced at run time.
 */

import { readFile } from 'node:fs/promises';
import { errorCode, GitError } from '../git-error.ts';
import { inheritedEnvironment } from '../process/git-environment.ts';
import type { RemoteAddress } from './address.ts';

export interface RemoteAccess {
  /** For HTTP. Forges accept any name with a token. */
  readonly username?: string | undefined;
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** HTTP authentication scheme. Default: `basic`, with the token as password. */
  readonly tokenType?: 'basic' | 'bearer' | undefined;
  /** Trusted certificate authorities (PEM), in place of those of the system. */
  readonly caFile?: string | undefined;
  /** TLS client certificate (PEM), sent to a server that requests one. */
  readonly clientCertFile?: string | undefined;
  /** Its private key, without a passphrase. Default: the key in `clientCertFile`. */
  readonly clientKeyFile?: string | undefined;
  readonly sshKeyFile?: string | undefined;
  /** Accepted host keys. Default: those of the user who runs gitplane, and of the system. */
  readonly knownHostsFile?: string | undefined;
}

export interface RemoteSettings {
  readonly env: Readonly<Record<string, string>>;
  readonly config: readonly (readonly [string, string])[];
  /** Strings to redact everywhere. */
  readonly secrets: readonly string[];
}

/** Proxy settings that curl reads. */
const PROXY_VARIABLES = [
  'http_proxy',
  'https_proxy',
  'HTTPS_PROXY',
  'all_proxy',
  'ALL_PROXY',
  'no_proxy',
  'NO_PROXY',
];

const DEFAULT_USERNAME = 'git';
/** Characters that ssh expands or splits in the value of an option. */
const SSH_SPECIAL = /["'\\%$\p{Cc}]/u;

/** Throws a GitError if a file cannot be read or used. */
export async function remoteSettings(
  address: RemoteAddress,
  access: RemoteAccess,
): Promise<RemoteSettings> {
  // No answer of a server can make git use another transport.
  const env = { GIT_ALLOW_PROTOCOL: address.protocol };
  if (address.protocol === 'file') return { env, config: [], secrets: [] };
  if (address.protocol === 'ssh') {
    const command = { GIT_SSH_COMMAND: sshCommand(access), GIT_SSH_VARIANT: 'ssh' };
    // ssh finds known hosts through the user database; HOME is for its other lookups.
    const home = inheritedEnvironment(access.knownHostsFile === undefined ? ['HOME'] : []);
    return { env: { ...env, ...command, ...home }, config: [], secrets: [] };
  }
  const { config, secrets } = await httpSettings(address, access);
  return { env: { ...env, ...inheritedEnvironment(PROXY_VARIABLES) }, config, secrets };
}

async function httpSettings(
  address: RemoteAddress,
  access: RemoteAccess,
): Promise<Pick<RemoteSettings, 'config' | 'secrets'>> {
  const config: [string, string][] = [
    // The authorization header would follow a redirect.
    ['http.followRedirects', 'false'],
    ['http.sslVerify', 'true'],
    // No other credentials are tried if the server rejects these.
    ['credential.helper', ''],
  ];
  if (access.caFile !== undefined) config.push(['http.sslCAInfo', access.caFile]);
  if (access.clientCertFile !== undefined) {
    // The message of git for an unreadable file names another reason.
    for (const file of [access.clientCertFile, access.clientKeyFile ?? access.clientCertFile]) {
      await readText(file);
    }
    config.push(['http.sslCert', access.clientCertFile]);
    config.push(['http.sslKey', access.clientKeyFile ?? access.clientCertFile]);
  }
  const secret = await readSecret(access, address);
  if (secret === undefined) return { config, secrets: [] };
  const username = access.username ?? address.username ?? DEFAULT_USERNAME;
  const encoded = Buffer.from(`${username}:${secret}`).toString('base64');
  const header =
    access.tokenType === 'bearer'
      ? `Authorization: Bearer ${secret}`
      : `Authorization: Basic ${encoded}`;
  config.push(['http.extraHeader', header]);
  return { config, secrets: [secret, encoded, encodeURIComponent(secret)] };
}

async function readSecret(
  access: RemoteAccess,
  address: RemoteAddress,
): Promise<string | undefined> {
  if (access.tokenFile === undefined) return access.token ?? address.password;
  const text = await readText(access.tokenFile);
  const secret = text.trim();
  if (secret === '' || /\p{Cc}/u.test(secret)) {
    throw new GitError(`${access.tokenFile} does not contain a token`, {
      remedy: 'Write the token into it, on one line',
    });
  }
  return secret;
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new GitError(`Cannot read ${file} (${errorCode(error)})`, {
      remedy: 'Check that it exists and its permissions',
      cause: error,
    });
  }
}

/** Strict host key checking; never prompts at a terminal. */
function sshCommand({ sshKeyFile, knownHostsFile }: RemoteAccess): string {
  const options = [
    'BatchMode=yes',
    'StrictHostKeyChecking=yes',
    'UpdateHostKeys=no',
    'ForwardAgent=no',
    'ClearAllForwardings=yes',
    'ConnectTimeout=10',
    'ServerAliveInterval=10',
    'ServerAliveCountMax=3',
  ];
  if (sshKeyFile !== undefined) {
    options.push('IdentitiesOnly=yes', 'IdentityAgent=none', `IdentityFile=${sshPath(sshKeyFile)}`);
  }
  if (knownHostsFile !== undefined) {
    options.push(`UserKnownHostsFile=${sshPath(knownHostsFile)}`, 'GlobalKnownHostsFile=/dev/null');
  }
  return ['ssh', '-F', '/dev/null', ...options.flatMap((option) => ['-o', `'${option}'`])].join(
    ' ',
  );
}

/** A path in the value of an ssh option. It is quoted, because ssh splits lists of files at spaces. */
function sshPath(path: string): string {
  if (SSH_SPECIAL.test(path)) {
    throw new GitError(`ssh cannot use the file name ${JSON.stringify(path)}`, {
      remedy: 'Use a path without quotes, backslashes, "%" and "$"',
    });
  }
  return `"${path}"`;
}
