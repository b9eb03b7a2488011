/**
 * `gitplane login`, `logout` and `whoami`: from a person to a kubeconfig that works. The kubeconfig
 * gets a program that hands out the key (`gitplane credential`); the key itself stays in a file of
 * its own.
 */

import { hostname, userInfo } from 'node:os';
import { resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { terminalText } from '../apimachinery/index.ts';
import { type ParsedOptions, UsageError } from '../options/index.ts';
import { VERSION } from '../version.ts';
import { signInWithCode } from './device-flow.ts';
import { AnswerError } from './https-client.ts';
import {
  addToKubeconfig,
  kubeconfigFiles,
  readKubeconfigs,
  removeFromKubeconfig,
} from './kubeconfig-file.ts';
import { checkedName, LoginStore, type SavedLogin } from './login-store.ts';
import { signInWithBrowser } from './loopback.ts';
import { hasBrowser, openBrowser } from './open-browser.ts';
import { pluginCommand } from './plugin-command.ts';
import { type Output, print, wantsJson } from './print.ts';
import {
  endKey,
  type GivenKey,
  keyHolder,
  type SignInServer,
  serverUrl,
  signInServer,
} from './sign-in-server.ts';

export interface LoginInput {
  readonly stdin: NodeJS.ReadableStream;
  readonly out: Output;
}

const CLIENT = `gitplane ${VERSION}`;

export async function login(options: ParsedOptions, input: LoginInput): Promise<number> {
  const [given, ...more] = options.operands;
  if (more.length > 0) throw new UsageError('Write: gitplane login [SERVER]');
  const store = new LoginStore(options);
  const files = filesOf(options);
  const earlier = given === undefined ? await currentLogin(store, files) : undefined;
  const url = given ?? earlier?.server;
  if (url === undefined) throw new UsageError('Say where: gitplane login https://HOST[:PORT]');
  // Before anybody signs in: what cannot be read cannot be added to.
  await readKubeconfigs(files);
  const server = await trusted(options, url, earlier);
  const name = checkedName(options.text('context') ?? earlier?.name ?? nameOf(server.url));
  const before = await store.find(name);
  const key = await newKey(options, input, server);
  const saved: SavedLogin = {
    name,
    server: server.url,
    ...key,
    ...(server.caPem === undefined ? {} : { caPem: server.caPem }),
    ...(server.insecure ? { insecure: true } : {}),
  };
  await store.save(saved);
  const file = await addToKubeconfig(files, kubeconfigEntry(saved, options));
  if (before !== undefined && before.accessKey !== saved.accessKey) await endLogin(before);
  const end = saved.expirationTimestamp;
  const until = end === undefined ? '' : ` until ${end}`;
  print(options, input.out, {
    text: `Signed in as ${saved.user}${until}.\n"${name}" is the current context of ${file}. Try: kubectl get teams\n`,
    json: { user: saved.user, server: saved.server, context: name, kubeconfig: file, until: end },
  });
  return 0;
}

/** Removes the login, also when the platform cannot be reached, and reports that. */
export async function logout(options: ParsedOptions, out: Output): Promise<number> {
  const { store, files, saved } = await chosenLogin(options, 'logout');
  const problem = await endLogin(saved);
  await store.remove(saved.name);
  await removeFromKubeconfig(files, saved.name);
  const { server } = saved;
  const text =
    problem === undefined
      ? `Signed out of ${server}.\n`
      : `Signed out here; ${server} was not told, and the key works until it ends: ${problem}\n`;
  print(options, out, { text, json: { server, context: saved.name, problem } });
  return problem === undefined ? 0 : 1;
}

export async function whoami(options: ParsedOptions, out: Output): Promise<number> {
  const { saved } = await chosenLogin(options, 'whoami');
  const holder = await keyHolder(serverOf(saved), saved.accessKey).catch((error: unknown) => {
    throw error instanceof AnswerError && error.code === 401 ? overError(saved, error) : error;
  });
  const { user, groups, name, expirationTimestamp: end } = holder;
  const lines = [
    `user     ${user}`,
    `server   ${saved.server}`,
    `key      ${name}${end === undefined ? '' : `, until ${end}`}`,
    ...groups.map((group, index) => `${index === 0 ? 'groups  ' : '        '} ${group}`),
  ];
  const json = { user, server: saved.server, key: name, until: end, groups };
  print(options, out, { text: `${lines.join('\n')}\n`, json });
  return 0;
}

function overError(saved: SavedLogin, cause: unknown): Error {
  return new Error(`The key of ${saved.user} works no more; run: gitplane login ${saved.server}`, {
    cause,
  });
}

type Key = GivenKey & Pick<SavedLogin, 'isOurs'>;

async function newKey(
  options: ParsedOptions,
  { stdin, out }: LoginInput,
  server: SignInServer,
): Promise<Key> {
  const own = options.text('access-key');
  if (own !== undefined) {
    const accessKey = (own === '-' ? await readAll(stdin) : own).trim();
    const { groups: _groups, name: _name, ...key } = await keyHolder(server, accessKey);
    return { ...key, isOurs: false };
  }
  const { environment } = options;
  const who = { server, device: deviceName(), client: CLIENT };
  // Instructions are not a part of the JSON document.
  const guide: Output = wantsJson(options) ? process.stderr : out;
  const headless = options.isOn('headless') || !hasBrowser(environment, process.platform);
  const key = headless
    ? await signInWithCode({
        ...who,
        show: ({ url, code, minutes }) =>
          guide.write(
            terminalText(
              `Open ${url} in any browser within ${minutes} minutes and type: ${code}\n`,
            ),
          ),
      })
    : await signInWithBrowser({
        ...who,
        open: (url) => {
          guide.write(`Sign in with your browser. If it does not open, go to:\n${url}\n`);
          openBrowser(url, environment);
        },
      });
  return { ...key, isOurs: true };
}

/** Undefined: the platform revoked the key, or did not issue it. */
async function endLogin(saved: SavedLogin): Promise<string | undefined> {
  if (!saved.isOurs) return undefined;
  try {
    await endKey(serverOf(saved), saved.accessKey);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

interface Chosen {
  readonly store: LoginStore;
  readonly files: readonly string[];
  readonly saved: SavedLogin;
}

async function chosenLogin(options: ParsedOptions, command: string): Promise<Chosen> {
  const [given, ...more] = options.operands;
  if (more.length > 0) throw new UsageError(`Write: gitplane ${command} [SERVER]`);
  const store = new LoginStore(options);
  const files = filesOf(options);
  const name =
    options.text('context') ?? (given === undefined ? undefined : nameOf(serverUrl(given)));
  const saved =
    name === undefined ? await currentLogin(store, files) : await store.find(checkedName(name));
  if (saved !== undefined) return { store, files, saved };
  const what =
    name === undefined
      ? 'The current context was not made by gitplane login (for its user, run kubectl auth whoami)'
      : `There is no login "${name}" of gitplane`;
  throw new UsageError(`${what}; name a login with --context, or run gitplane login SERVER`);
}

/** The login that the current context of the kubeconfig belongs to. */
async function currentLogin(
  store: LoginStore,
  files: readonly string[],
): Promise<SavedLogin | undefined> {
  const { currentContext } = await readKubeconfigs(files);
  return isName(currentContext) ? await store.find(currentContext) : undefined;
}

function isName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/.test(text);
}

/** CA certificate of the former login; a new login to the same server trusts it again. */
async function trusted(
  options: ParsedOptions,
  url: string,
  earlier: SavedLogin | undefined,
): Promise<SignInServer> {
  const server = await signInServer(options, url);
  if (earlier === undefined || server.caPem !== undefined || server.insecure) return server;
  return serverOf(earlier);
}

function serverOf({ server: url, caPem, insecure = false }: SavedLogin): SignInServer {
  return { url, caPem, insecure };
}

function filesOf(options: ParsedOptions): readonly string[] {
  return kubeconfigFiles(options.text('kubeconfig'), options.environment);
}

/** `gitplane-platform.example.com`, with a port that is not the usual one. */
function nameOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `gitplane-${host}${pathname === '/' ? '' : pathname}`.replace(/[^A-Za-z0-9._-]+/g, '-');
}

function deviceName(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // The id of this process is unique on the machine.
    return hostname();
  }
}

function kubeconfigEntry(
  saved: SavedLogin,
  options: ParsedOptions,
): Parameters<typeof addToKubeconfig>[1] {
  const { name, server, apiRoot, caPem, insecure } = saved;
  const { command, args } = pluginCommand(options.environment['PATH'] ?? '');
  const configDir = options.text('config-dir');
  const folder = configDir === undefined ? [] : ['--config-dir', resolve(configDir)];
  return {
    name,
    cluster: {
      server: `${server}${apiRoot}`,
      'certificate-authority': undefined,
      'certificate-authority-data':
        caPem === undefined ? undefined : Buffer.from(caPem).toString('base64'),
      'insecure-skip-tls-verify': insecure === true ? true : undefined,
    },
    user: {
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command,
        args: [...args, 'credential', name, ...folder],
        interactiveMode: 'Never',
        provideClusterInfo: true,
        installHint: `This context was made by "gitplane login ${server}", which needs gitplane.`,
      },
    },
  };
}
