/** A real sshd on a free port, for one test file; run by the user of the tests, with keys of its own. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { scratchDir } from './daemon.ts';
import { freePort } from './machine.ts';

const PLACES = ['/usr/sbin/sshd', '/usr/local/sbin/sshd', '/usr/bin/sshd'];

export const SSHD = PLACES.find((path) => existsSync(path));

export interface SshServer {
  readonly port: number;
  /** `ssh://user@127.0.0.1:port`, to be followed by a path. */
  readonly url: string;
  /** Holds a key that may log in. Its path has a space in it. */
  readonly keyFile: string;
  /** A key that may not. */
  readonly strangerKeyFile: string;
  readonly knownHostsFile: string;
  /** Another host key for the same address. */
  readonly wrongKnownHostsFile: string;
  start(): Promise<void>;
  /** To be called when the tests of the file are done. */
  stop(): Promise<void>;
}

export async function startSshd(): Promise<SshServer> {
  if (SSHD === undefined) throw new Error('sshd is missing');
  const program = SSHD;
  const folder = join(scratchDir('gitplane-sshd-'), 'with space');
  mkdirSync(folder, { recursive: true });
  const file = (name: string): string => join(folder, name);
  for (const name of ['host', 'other-host', 'user', 'stranger']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', file(name)]);
  }
  const port = await freePort();
  const publicKey = (name: string): string => readFileSync(file(`${name}.pub`), 'utf8');
  writeFileSync(file('authorized'), publicKey('user'));
  writeFileSync(file('known_hosts'), `[127.0.0.1]:${port} ${publicKey('host')}`);
  writeFileSync(file('wrong_hosts'), `[127.0.0.1]:${port} ${publicKey('other-host')}`);
  const config = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey "${file('host')}"`,
    `AuthorizedKeysFile "${file('authorized')}"`,
    'PidFile none',
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
  ];
  writeFileSync(file('config'), `${config.join('\n')}\n`);
  // For root sshd insists on it.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  let child: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    const ended = child;
    child = undefined;
    if (ended === undefined || ended.exitCode !== null) return;
    const closed = new Promise((done) => ended.once('close', done));
    ended.kill('SIGKILL');
    await closed;
  };
  const start = async (): Promise<void> => {
    const args = ['-D', '-e', '-f', file('config')];
    const started = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    child = started;
    let said = '';
    started.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    while (!(await answers(port))) {
      if (started.exitCode !== null) throw new Error(`sshd ended: ${said}`);
      await new Promise((done) => setTimeout(done, 20));
    }
  };
  await start();
  return {
    port,
    url: `ssh://${userInfo().username}@127.0.0.1:${port}`,
    keyFile: file('user'),
    strangerKeyFile: file('stranger'),
    knownHostsFile: file('known_hosts'),
    wrongKnownHostsFile: file('wrong_hosts'),
    start,
    stop,
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}
