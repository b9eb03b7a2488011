/**
 * Program of hooks/pre-receive: asks the daemon for its verdict on a push and forwards it. It fails
 * closed: without the daemon, no push is accepted. Argument: the socket of the daemon.
 */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  forwardedVariables,
  type PushRequest,
  type PushVerdict,
  type RefUpdate,
} from './hook-protocol.ts';

/** A daemon that is silent for this long counts as dead. */
const TIMEOUT_MS = 120_000;

// biome-ignore lint/style/noProcessEnv: git passes the quarantine to a hook in the environment
const environment = process.env;

// Colours and cursor movements in a hostile path must not reach the terminal of the pusher.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
const controlCharacters = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

function parseUpdates(stdin: string): RefUpdate[] {
  return stdin
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({
      oldId: line.slice(0, 40),
      newId: line.slice(41, 81),
      ref: line.slice(82),
    }));
}

function pushOptions(): string[] {
  const count = Number(environment['GIT_PUSH_OPTION_COUNT'] ?? 0);
  return Array.from({ length: count }, (_, i) => environment[`GIT_PUSH_OPTION_${i}`] ?? '');
}

function request(stdin: string): PushRequest {
  const env: Record<string, string> = {};
  for (const name of forwardedVariables) {
    const value = environment[name];
    if (value !== undefined) env[name] = value;
  }
  return { updates: parseUpdates(stdin), env, pushOptions: pushOptions() };
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

async function main(): Promise<number> {
  const [socketPath = ''] = process.argv.slice(2);
  const { ok, lines } = await ask(socketPath, request(await text(process.stdin)));
  const shown = lines.map((line) => `${line.replaceAll(controlCharacters, '?')}\n`);
  await new Promise((done) => process.stderr.write(shown.join(''), done));
  return ok ? 0 : 1;
}

process.exitCode = await main();
