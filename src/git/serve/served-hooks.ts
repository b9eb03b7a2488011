/**
 * The daemon's end of the hooks of a push over HTTP. They are shell scripts (`hook.ts`) that relay between git
 * and file descriptor 3, a connection to the daemon: the start of a Node process would cost more than the
 * rest of a small push.
 *
 * pre-receive writes its environment and updates, each ended by a NUL, and reads `<exit code> <lines>` and
 * the lines to show. proc-receive relays the pkt-lines of git (githooks, "proc-receive"), and reads
 * `<lines>`, the lines to show, and the same for the report. In an atomic push with other refs,
 * reference-transaction writes `prepared` and the updates, ended by a NUL, and reads an exit code.
 */
import type { Duplex } from 'node:stream';
import type { GitLogger } from '../logger.ts';
import type { AtomicPush } from './atomic-push.ts';
import {
  forwardedVariables,
  type PushRequest,
  type PushVerdict,
  parseUpdate,
  parseUpdates,
  type RefUpdate,
} from './hook-protocol.ts';
import { pktLine } from './pkt-line.ts';
import { type Judge, shownVerdict } from './push-judge.ts';

export interface ServedHooks {
  /** Judges a push before its objects leave the quarantine. */
  readonly preReceive: Judge;
  /** Lands refs in the place of git. */
  procReceive(updates: readonly RefUpdate[]): Promise<PushVerdict>;
  readonly logger?: GitLogger | undefined;
}

const MAX_REQUEST_BYTES = 16 * 1024 * 1024;
const LENGTH_DIGITS = 4;
const NUL = 0;
/** Fields in front of the push options: the variables, and the number of options. */
const FIXED_FIELDS = forwardedVariables.length + 1;

/** Answers the hooks of one push. Resolves when the connection has ended. */
export async function answerHooks(
  connection: Duplex,
  hooks: ServedHooks,
  atomic?: AtomicPush,
): Promise<void> {
  const input = new HookInput(connection);
  try {
    const push = await readPush(input).catch((error: unknown) => {
      // Git has ended before, or runs no hook, if nothing came.
      if (input.hasBegun)
        hooks.logger?.warn({}, 'A hook did not pass on its push, which is refused');
      throw error;
    });
    const verdict = await shownVerdict(hooks.preReceive(push), hooks.logger);
    connection.write(`${verdict.ok ? 0 : 1} ${shown(verdict)}`);
    if (!verdict.ok) return;
    if (atomic !== undefined && (await input.peek()) === PREPARED_START) {
      // Git refused the branch before its hooks, and would move the other refs.
      atomic.refuse(INCOMPLETE, push.updates, new Set());
      connection.write('1\n');
      return;
    }
    // The section before has the version of the protocol.
    await readSection(input);
    const updates = (await readSection(input)).map(parseUpdate);
    const land = () => shownVerdict(hooks.procReceive(updates), hooks.logger);
    const here = new Set(updates.map(({ ref }) => ref));
    const others = push.updates.filter(({ ref }) => !here.has(ref));
    if (atomic === undefined || others.length === 0) {
      const landed = await land();
      connection.write(`${shown(landed)}${report(updates, landed)}`);
      if (atomic === undefined) return;
      // The transaction is empty.
      await input.field();
      connection.write('0\n');
      return;
    }
    connection.write(`${shown(PREPARED)}${report(updates, PREPARED)}`);
    const isWhole = await readPrepared(input, { others, goOn: () => connection.write('0\n') });
    const landed = isWhole ? await land() : INCOMPLETE;
    if (landed.ok) atomic.landed = landed;
    else atomic.refuse(landed, push.updates, here);
    connection.write(landed.ok ? '0\n' : '1\n');
  } catch (error) {
    // Git has ended, or has nothing to land here.
    if (!(error instanceof HookEndedError)) throw error;
  } finally {
    connection.end();
    await input.drain();
  }
}

class HookEndedError extends Error {
  override readonly name = 'HookEndedError';
}

/** Bytes of the hooks as they arrive. */
class HookInput {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest = Buffer.alloc(0);
  /** True once a byte has come. */
  hasBegun = false;

  constructor(connection: Duplex) {
    this.#chunks = connection.iterator({ destroyOnReturn: false });
  }

  /** The next byte, which stays. */
  async peek(): Promise<number | undefined> {
    while (this.#rest.length === 0) await this.#more();
    return this.#rest[0];
  }

  async take(length: number): Promise<Buffer> {
    while (this.#rest.length < length) await this.#more();
    return this.#cut(length, length);
  }

  /** Bytes in front of the next NUL. */
  async field(): Promise<string> {
    for (let from = 0; ; ) {
      const end = this.#rest.indexOf(NUL, from);
      if (end !== -1) return this.#cut(end, end + 1).toString('utf8');
      from = this.#rest.length;
      await this.#more();
    }
  }

  /** Reads to the end: while bytes are unread, git counts as running. */
  async drain(): Promise<void> {
    for (let isOver = false; !isOver; ) {
      const { done } = await this.#chunks.next().catch(() => ENDED);
      isOver = done === true;
    }
  }

  async #more(): Promise<void> {
    const next = await this.#chunks.next().catch(() => ENDED);
    if (next.done === true || this.#rest.length > MAX_REQUEST_BYTES) throw new HookEndedError();
    this.hasBegun = true;
    this.#rest = Buffer.concat([this.#rest, next.value]);
  }

  #cut(length: number, next: number): Buffer {
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(next);
    return taken;
  }
}

const ENDED = { done: true, value: undefined } as const;

async function readPush(input: HookInput): Promise<PushRequest> {
  const fields: string[] = [];
  while (fields.length < FIXED_FIELDS) fields.push(await input.field());
  const env = Object.fromEntries(
    forwardedVariables.flatMap((name, i) => (fields[i] ? [[name, fields[i]]] : [])),
  );
  const pushOptions: string[] = [];
  const count = Number(fields.at(-1));
  while (pushOptions.length < count) pushOptions.push(await input.field());
  const updates = parseUpdates(await input.field());
  // Git has at least one, and would make those that the hook has not passed on.
  if (updates.length === 0) throw new HookEndedError();
  return { env, pushOptions, updates };
}

/** Nothing is landed before git has prepared all other refs. */
const PREPARED: PushVerdict = { ok: true, lines: [] };
const INCOMPLETE: PushVerdict = {
  ok: false,
  lines: ['nothing was changed, since git refused a ref of this atomic push'],
};

const NO_ID = /^0+$/;
const PREPARED_START = 'p'.charCodeAt(0);

/**
 * Reads what git has prepared. False: another ref of the push is not in it. If refs are removed from
 * `packed-refs`, git calls the hook for that file first, without their old values. A removal without an old
 * value, which git takes from a client, would be the same in both calls.
 */
async function readPrepared(
  input: HookInput,
  { others, goOn }: { readonly others: readonly RefUpdate[]; goOn(): void },
): Promise<boolean> {
  if (others.some(({ oldId, newId }) => NO_ID.test(oldId + newId))) return false;
  for (;;) {
    const [, ...lines] = (await input.field()).split('\n');
    const prepared = lines.filter((line) => line !== '').map(parseUpdate);
    const present = new Set(lines);
    if (others.every((other) => present.has(lineOf(other)))) return true;
    const isRemoved = ({ ref, oldId, newId }: RefUpdate): boolean =>
      NO_ID.test(oldId + newId) && others.some((one) => one.ref === ref && !NO_ID.test(one.oldId));
    if (prepared.length === 0 || !prepared.every(isRemoved)) return false;
    goOn();
  }
}

function lineOf({ oldId, newId, ref }: RefUpdate): string {
  return `${oldId} ${newId} ${ref}`;
}

/** Lines before the next flush, without their line ends. */
async function readSection(input: HookInput): Promise<string[]> {
  const lines: string[] = [];
  for (;;) {
    const digits = (await input.take(LENGTH_DIGITS)).toString('latin1');
    const length = Number.parseInt(digits, 16);
    if (length === 0) return lines;
    if (!(length >= LENGTH_DIGITS)) throw new HookEndedError();
    const bytes = await input.take(length - LENGTH_DIGITS);
    lines.push(bytes.toString('utf8').replace(/\n$/, ''));
  }
}

/** The number of lines, and each line. */
function shown({ lines }: PushVerdict): string {
  return [lines.length, ...lines].map((line) => `${line}\n`).join('');
}

/** One report per ref, and their number. The client shows `reason` beside the ref. */
function report(updates: readonly RefUpdate[], { ok, reason = 'refused' }: PushVerdict): string {
  const lines = updates.map(({ ref }) => pktLine(ok ? `ok ${ref}\n` : `ng ${ref} ${reason}\n`));
  return `${lines.length}\n${lines.join('')}`;
}
