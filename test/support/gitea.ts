/**
 * A real Gitea on the loopback interface, with an organization, a user `bot` and its token.
 * `scripts/gitea.sh` builds it.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { fastPlace, freePort } from './machine.ts';
import { PROGRAM_CACHE } from './programs.ts';

const HOME = join(dirname(PROGRAM_CACHE), 'gitea');
const PROGRAM = join(HOME, 'gitea');

/** Reason why it cannot run here; undefined: it can. */
export const GITEA_MISSING = existsSync(PROGRAM)
  ? undefined
  : 'Gitea is missing: bash scripts/gitea.sh';

const START_MS = 60_000;

export interface GiteaAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into answers of every shape
  readonly body: any;
}

export class Gitea {
  readonly port: number;
  readonly url: string;
  readonly token: string;
  readonly #folder: string;
  #process: ChildProcess | undefined;
  #output = '';

  private constructor(of: { port: number; folder: string; token: string }) {
    this.port = of.port;
    this.url = `http://127.0.0.1:${of.port}`;
    this.#folder = of.folder;
    this.token = of.token;
  }

  static async start(): Promise<Gitea> {
    const folder = mkdtempSync(join(fastPlace(), 'gitplane-gitea-'));
    const port = await freePort();
    writeFileSync(join(folder, 'app.ini'), configuration(folder, port));
    await run(folder, ['migrate']);
    const user = [
      '--username',
      'bot',
      '--password',
      'bot-password-1',
      '--email',
      'bot@example.com',
    ];
    const rights = ['--admin', '--must-change-password=false'];
    const withToken = ['--access-token', '--access-token-scopes', 'all'];
    const made = await run(folder, ['admin', 'user', 'create', ...user, ...rights, ...withToken]);
    const token = /created\.\.\. ([0-9a-f]{40})/.exec(made)?.[1] ?? '';
    const gitea = new Gitea({ port, folder, token });
    await gitea.launch();
    return gitea;
  }

  /** Starts the process again on its data. */
  async launch(): Promise<void> {
    const child = spawn(PROGRAM, ['--config', join(this.#folder, 'app.ini'), 'web'], {
      env: environment(this.#folder),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        this.#output = (this.#output + chunk).slice(-65_536);
      });
    }
    const end = Date.now() + START_MS;
    for (;;) {
      const answer = await this.call('GET', '/version').catch(() => undefined);
      if (answer?.status === 200) return;
      if (Date.now() > end || child.exitCode !== null) {
        throw new Error(`Gitea does not start:\n${this.#output}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async call(
    method: string,
    path: string,
    body?: object,
    token = this.token,
  ): Promise<GiteaAnswer> {
    const answer = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { authorization: `token ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
  }

  /** As `call`; rejects when the answer is not a success. */
  async must(method: string, path: string, body?: object): Promise<GiteaAnswer['body']> {
    const answer = await this.call(method, path, body);
    if (answer.status < 300) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  /** An empty repository of the bot; the URL has the token, for git of people. */
  async makeRepository(
    name: string,
  ): Promise<{ readonly url: string; readonly authorized: string }> {
    await this.must('POST', '/user/repos', { name, private: true, default_branch: 'main' });
    const path = `127.0.0.1:${this.port}/bot/${name}.git`;
    return { url: `http://${path}`, authorized: `http://bot:${this.token}@${path}` };
  }

  /** Ends the process; its data stays. */
  async stop(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    await new Promise<void>((resolve) => {
      child.on('close', () => resolve());
      child.kill('SIGKILL');
    });
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function run(folder: string, args: readonly string[]): Promise<string> {
  const options = { env: environment(folder), timeout: START_MS };
  const all = ['--config', join(folder, 'app.ini'), ...args];
  return (await promisify(execFile)(PROGRAM, all, options)).stdout;
}

function environment(folder: string): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: folder, GITEA_WORK_DIR: folder };
}

function configuration(folder: string, port: number): string {
  return `
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
APP_NAME = tests
RUN_MODE = prod
RUN_USER = ${userInfo().username}
WORK_PATH = ${folder}
[server]
STATIC_ROOT_PATH = ${join(HOME, 'static')}
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = http://127.0.0.1:${port}/
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = ${folder}/gitea.db
[security]
INSTALL_LOCK = true
PASSWORD_HASH_ALGO = pbkdf2_v1
[log]
MODE = console
LEVEL = Error
[cron]
ENABLED = false
[service]
DISABLE_REGISTRATION = true
[webhook]
ALLOWED_HOST_LIST = loopback
`;
}
