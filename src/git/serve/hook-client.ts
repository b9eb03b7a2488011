/**
 * Program of hooks/pre-receive for a push by path: asks the daemon for its verdict and passes it on. It
 * fails closed: without the daemon, no push is accepted. Argument: the socket of the daemon.
 */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  forwardedVariables,
  type PushRequest,
  type PushVerdict,
  parseUpdates,
} from './hook-protocol.ts';

/** A daemon that is silent for this long counts as dead. */
const TIMEOUT_MS = 120_000;

// biome-ignore lint/style/noProcessEnv: git passes the quarantine to a hook in the environment
const environment = process.env;

function pushOptions(): string[] {
  const count = Number(environment['GIT_PUSH_OPTION_COUNT'] ?? 0);
  return Array.from({ length: count }, (_, i) => environment[`GIT_PUSH_OPTION_${i}`] ?? '');
}

function request(lines: string): PushRequest {
  const env: Record<string, string> = {};
  for (const name of forwardedVariables) {
    const value = environment[name];
    if (value !== undefined) env[name] = value;
  }
  return { updates: parseUpdates(lines), env, pushOptions: pushOptions() };
}

/** Answer of the daemon, or a refusal with the reason for a missing answer. */
function ask(socketPath: string, question: PushRequest): Promise<PushVerdict> {
  return new Promise((resolve) => {
    const refuse = (...lines: string[]) => resolve({ ok: false, lines });
    const socket = connect(socketPath);
    let answer = '';
    socket.setEncoding('utf8');
    socket.setTimeout(TIMEOUT_MS, () => {
      refuse('gitplane did not answer in time: check its log, then push again');
      socket.destroy();
    });
    socket.on('connect', () => socket.write(`${JSON.stringify(question)}\n`));
    socket.on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.on('error', (error: NodeJS.ErrnoException) => refuse(explain(error, socketPath)));
    socket.on('close', () => {
      try {
        resolve(JSON.parse(answer));
      } catch {
        refuse('gitplane closed the connection before it answered: check its log, then push again');
      }
    });
  });
}

function explain(error: NodeJS.ErrnoException, socketPath: string): string {
  return error.code === 'EACCES'
    ? `gitplane cannot be reached (no access to ${socketPath}): push as the user who runs it, or over HTTP`
    : 'gitplane is not running and cannot validate this push: start it with `gitplane serve`, then push again';
}

const [socketPath = ''] = process.argv.slice(2);
const { ok, lines } = await ask(socketPath, request(await text(process.stdin)));
// Each is shown behind `remote: `.
await new Promise((done) => process.stderr.write(lines.map((line) => `${line}\n`).join(''), done));
process.exitCode = ok ? 0 : 1;
