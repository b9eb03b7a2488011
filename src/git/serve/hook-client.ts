/**
 * The program behind hooks/pre-receive: asks the daemon for its verdict on a push and passes it
 * on. Fails closed: no daemon, no push. Arguments: the daemon's socket.
 */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  forwardedVariables,
  type PushRequest,
  type PushVerdict,
  type RefUpdate,
} from './hook-protocol.ts';

/** A judge that says nothing for so long is taken for dead. */
const PATIENCE_MS = 120_000;

// biome-ignore lint/style/noProcessEnv: git hands its quarantine to a hook in the environment
const environment = process.env;

// Colours and cursor movements of a hostile path must not reach the pusher's terminal.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
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

/** The daemon's answer, or why there is none. */
function ask(socketPath: string, question: PushRequest): Promise<PushVerdict> {
  return new Promise((resolve) => {
    const refuse = (...lines: string[]) => resolve({ ok: false, lines });
    const socket = connect(socketPath);
    let answer = '';
    socket.setEncoding('utf8');
    socket.setTimeout(PATIENCE_MS, () => {
      refuse('gitplane did not answer in time: look at its log, then push again');
      socket.destroy();
    });
    socket.on('connect', () => socket.write(`${JSON.stringify(question)}\n`));
    socket.on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.on('error', (error: NodeJS.ErrnoException) => refuse(explain(error, socketPath)));
    socket.on('close', () => {
      try {
        resolve(JSON.parse(answer) as PushVerdict);
      } catch {
        refuse('gitplane went away before it answered: look at its log, then push again');
      }
    });
  });
}

function explain(error: NodeJS.ErrnoException, socketPath: string): string {
  return error.code === 'EACCES'
    ? `gitplane cannot be asked (no access to ${socketPath}): push as the user who runs it, or over HTTP`
    : 'gitplane is not running, so that nobody can validate this push: start it with `gitplane serve`, then push again';
}

async function main(): Promise<number> {
  const [socketPath = ''] = process.argv.slice(2);
  const { ok, lines } = await ask(socketPath, request(await text(process.stdin)));
  const shown = lines.map((line) => `${line.replaceAll(controlCharacters, '?')}\n`);
  await new Promise((done) => process.stderr.write(shown.join(''), done));
  return ok ? 0 : 1;
}

process.exitCode = await main();
