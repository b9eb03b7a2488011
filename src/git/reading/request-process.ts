/**
 * A git process that answers requests in order (`cat-file --batch`, `diff-tree --stdin`): started
 * when it is first needed, pipelined, and replaced when it dies. A request that was in the pipe of
 * a dead process is asked again; the one that the process died on, once.
 */

import { GitError } from '../git-error.ts';
import type { GitContext } from '../process/git-environment.ts';
import { GitProcess } from '../process/git-process.ts';
import { GitLimitError, type ProcessLimits } from '../process/process-limits.ts';

export interface ReplyParser<Reply> {
  /** Takes what came next and emits each reply that is complete, in order. */
  push(chunk: Buffer, emit: (reply: Reply) => void): void;
}

export interface Protocol<Reply> {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  makeParser(): ReplyParser<Reply>;
  /**
   * Whether a reply may be wrong only because the process is old (it looked before a repack moved
   * the object). Such a request is asked once more, of a new process.
   */
  isDoubtful(reply: Reply): boolean;
  /** True if the process is not worth waiting for after this reply: it is replaced. */
  isLast?(reply: Reply): boolean;
  /** After so many requests a process is replaced: some of git's grow with each one. */
  readonly maxRequests: number;
  readonly limits: ProcessLimits;
}

interface Request<Reply> {
  readonly line: string;
  readonly settle: (outcome: Reply | GitError) => void;
  deaths: number;
  doubted: boolean;
}

interface Worker<Reply> {
  readonly git: GitProcess;
  /** Ended by us: nobody is to blame, and what it still says is not read. */
  isAbandoned: boolean;
  readonly waiting: Queue<Request<Reply>>;
  readonly ended: Promise<void>;
  /** Lines not yet written: those of one turn of the event loop share a write. */
  outbox: string[];
  requests: number;
}

export class RequestProcess<Reply> {
  readonly #context: GitContext;
  readonly #protocol: Protocol<Reply>;
  #current: Worker<Reply> | undefined;
  /** Every process that has not ended, the retired ones too. */
  readonly #workers = new Set<Worker<Reply>>();
  #closed = false;

  constructor(context: GitContext, protocol: Protocol<Reply>) {
    this.#context = { ...context, env: { ...context.env, ...protocol.env } };
    this.#protocol = protocol;
  }

  /** Requests without a reply yet. */
  get pending(): number {
    let sum = 0;
    for (const worker of this.#workers) sum += worker.waiting.length;
    return sum;
  }

  /** Asks one question: a line without its newline. `settle` is called exactly once. */
  send(line: string, settle: (outcome: Reply | GitError) => void): void {
    this.#send({ line, settle, deaths: 0, doubted: false });
  }

  ask(line: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.send(line, (outcome) => {
        if (outcome instanceof GitError) reject(outcome);
        else resolve(outcome);
      });
    });
  }

  /** Lets the process finish what it was asked; the next request starts a new one. */
  retire(): void {
    const worker = this.#current;
    this.#current = undefined;
    if (worker === undefined) return;
    flush(worker);
    worker.git.stdin.end();
  }

  /** Kills the process; what is pending is rejected. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#current = undefined;
    const workers = [...this.#workers];
    for (const worker of workers) worker.git.kill();
    await Promise.all(workers.map((worker) => worker.ended));
  }

  #send(request: Request<Reply>): void {
    if (this.#closed) {
      request.settle(new GitError('The repository is closed'));
      return;
    }
    this.#current ??= this.#start();
    const worker = this.#current;
    worker.waiting.push(request);
    if (worker.waiting.length === 1) worker.git.expectReply(true);
    if (worker.outbox.push(request.line) === 1) queueMicrotask(() => flush(worker));
    worker.requests += 1;
    if (worker.requests >= this.#protocol.maxRequests) this.retire();
  }

  #start(): Worker<Reply> {
    const git = new GitProcess(this.#context, this.#protocol.args, this.#protocol.limits);
    const parser = this.#protocol.makeParser();
    const waiting = new Queue<Request<Reply>>();
    const worker: Worker<Reply> = {
      git,
      isAbandoned: false,
      waiting,
      outbox: [],
      requests: 0,
      ended: git.ended.then((how) => {
        this.#workers.delete(worker);
        if (this.#current === worker) this.#current = undefined;
        if (worker.isAbandoned) this.#resend(waiting);
        else if (waiting.length > 0) this.#recover(waiting, git.error(how));
      }),
    };
    git.stdout.on('data', (chunk: Buffer) => {
      // The rest of a reply that is too long is not read.
      if (git.met === undefined && !worker.isAbandoned)
        parser.push(chunk, (reply) => this.#settle(worker, reply));
    });
    this.#workers.add(worker);
    return worker;
  }

  #settle(worker: Worker<Reply>, reply: Reply): void {
    const request = worker.waiting.shift();
    if (request === undefined) return;
    worker.git.expectReply(worker.waiting.length > 0);
    if (this.#protocol.isLast?.(reply) === true) this.#abandon(worker);
    if (request.doubted || this.#closed || !this.#protocol.isDoubtful(reply)) {
      request.settle(reply);
      return;
    }
    request.doubted = true;
    if (this.#current === worker) this.retire();
    this.#send(request);
  }

  /** The first request of a dead process is the one it died on; the others are innocent. */
  #recover(waiting: Queue<Request<Reply>>, error: GitError): void {
    const first = waiting.shift();
    if (first !== undefined) {
      first.deaths += 1;
      // Asked again it would meet the same limit.
      const isFinal = this.#closed || first.deaths > 1 || error instanceof GitLimitError;
      if (isFinal) first.settle(error);
      else this.#send(first);
    }
    this.#resend(waiting);
  }

  #resend(waiting: Queue<Request<Reply>>): void {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) this.#send(next);
  }

  #abandon(worker: Worker<Reply>): void {
    worker.isAbandoned = true;
    if (this.#current === worker) this.#current = undefined;
    worker.git.kill();
  }
}

function flush<Reply>(worker: Worker<Reply>): void {
  if (worker.outbox.length === 0) return;
  const lines = `${worker.outbox.join('\n')}\n`;
  worker.outbox = [];
  if (worker.git.stdin.writable) worker.git.stdin.write(lines);
}

/** First in, first out, without moving what stays. */
class Queue<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.#head >= this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head > 10_000 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
