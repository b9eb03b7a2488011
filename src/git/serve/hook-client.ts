/**
 * Program of hooks/pre-receive and hooks/proc-receive: asks the daemon for its verdict on a push and
 * forwards it. It fails closed: without the daemon, no push is accepted. Arguments: the socket of the
 * daemon, and the name of the hook.
 *
 * proc-receive exchanges pkt-lines with `git receive-pack` (githooks, "proc-receive"): git hands over
 * the commands and waits for one report per ref.
 */
import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  forwardedVariables,
  type HookName,
  type PushRequest,
  type PushVerdict,
  type RefUpdate,
} from './hook-protocol.ts';
import { pktLine } from './pkt-line.ts';

const FLUSH = '0000';
const LENGTH_DIGITS = 4;
const ID_DIGITS = 40;

/** Answer to the greeting of git: version 1, without extensions. */
const GREETING = `${pktLine('version=1\n')}${FLUSH}`;

/** Reads pkt-lines from a stream that stays open. */
class PktLines {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest = Buffer.alloc(0);

  constructor(input: Readable) {
    this.#chunks = input[Symbol.asyncIterator]();
  }

  /** Lines before the next flush, without their line ends. */
  async section(): Promise<string[]> {
    const lines: string[] = [];
    for (;;) {
      const digits = (await this.#take(LENGTH_DIGITS)).toString('latin1');
      const length = Number.parseInt(digits, 16);
      if (length === 0) return lines;
      const bytes = await this.#take(length - LENGTH_DIGITS);
      lines.push(bytes.toString('utf8').replace(/\n$/, ''));
    }
  }

  async #take(length: number): Promise<Buffer> {
    while (this.#rest.length < length) {
      const { done, value } = await this.#chunks.next();
      if (done === true) throw new Error('git ended the dialogue');
      this.#rest = Buffer.concat([this.#rest, value]);
    }
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }
}

/** A daemon that is silent for this long counts as dead. */
const TIMEOUT_MS = 120_000;

// biome-ignore lint/style/noProcessEnv: git passes the quarantine to a hook in the environment
const environment = process.env;

// Colours and cursor movements in a hostile path must not reach the terminal of the pusher.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
const controlCharacters = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

function pushOptions(): string[] {
  const count = Number(environment['GIT_PUSH_OPTION_COUNT'] ?? 0);
  return Array.from({ length: count }, (_, i) => environment[`GIT_PUSH_OPTION_${i}`] ?? '');
}

function request(hook: HookName, updates: readonly RefUpdate[]): PushRequest {
  const env: Record<string, string> = {};
  for (const name of forwardedVariables) {
    const value = environment[name];
    if (value !== undefined) env[name] = value;
  }
  return { hook, updates, env, pushOptions: pushOptions() };
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

/** Shows the lines of the verdict to the pusher, each behind `remote: `. */
async function show({ lines }: PushVerdict): Promise<void> {
  const shown = lines.map((line) => `${line.replaceAll(controlCharacters, '?')}\n`);
  await new Promise((done) => process.stderr.write(shown.join(''), done));
}

async function preReceive(socketPath: string): Promise<number> {
  const lines = (await text(process.stdin)).split('\n').filter((line) => line !== '');
  const verdict = await ask(socketPath, request('pre-receive', lines.map(parseUpdate)));
  await show(verdict);
  return verdict.ok ? 0 : 1;
}

/** Parses `<old id> SP <new id> SP <ref>`. */
function parseUpdate(line: string): RefUpdate {
  return {
    oldId: line.slice(0, ID_DIGITS),
    newId: line.slice(ID_DIGITS + 1, 2 * ID_DIGITS + 1),
    ref: line.slice(2 * ID_DIGITS + 2),
  };
}

async function procReceive(socketPath: string): Promise<number> {
  const input = new PktLines(process.stdin);
  await input.section();
  process.stdout.write(GREETING);
  const updates = (await input.section()).map(parseUpdate);
  const verdict = await ask(socketPath, request('proc-receive', updates));
  await show(verdict);
  const reason = verdict.reason?.replaceAll(controlCharacters, '?');
  await new Promise((done) => process.stdout.write(report(updates, { ...verdict, reason }), done));
  // Git may keep the pipe open until the hook ends.
  process.stdin.destroy();
  return 0;
}

/** One report per ref. The client shows `reason` beside the ref. */
function report(
  updates: readonly RefUpdate[],
  { ok, reason = 'refused' }: { readonly ok: boolean; readonly reason?: string | undefined },
): string {
  const lines = updates.map(({ ref }) => pktLine(ok ? `ok ${ref}\n` : `ng ${ref} ${reason}\n`));
  return `${lines.join('')}${FLUSH}`;
}

const [socketPath = '', hook = 'pre-receive'] = process.argv.slice(2);
process.exitCode = await (hook === 'proc-receive' ? procReceive : preReceive)(socketPath);
