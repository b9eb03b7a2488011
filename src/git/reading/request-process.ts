/**
 * A git process that answers requests in order (`cat-file --batch`, `diff-tree --stdin`). It is started
 * at first use, pipelined, and replaced when it dies. Requests in the pipe of a dead process are sent
 * again; the one that was being answered is retried once.
 */

import { Sequence } from '../../concurrency/index.ts';
import { GitError } from '../git-error.ts';
import type { GitContext } from '../process/git-environment.ts';
import { GitProcess } from '../process/git-process.ts';
import { GitLimitError, type ProcessLimits } from '../process/process-limits.ts';

export interface ReplyParser<Reply> {
  /** Takes the next chunk and emits each complete reply, in order. */
  push(chunk: Buffer, emit: (reply: Reply) => void): void;
}

export interface Protocol<Reply> {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  makeParser(): ReplyParser<Reply>;
  /**
   * True if a reply may be wrong only because the process is old (it listed the packs before a repack
   * moved the object). Such a request is retried once with a new process.
   */
  isDoubtful(reply: Reply): boolean;
  /** True if the rest of this reply is not worth reading: the process is replaced. */
  isLast?(reply: Reply): boolean;
  /** Requests after which a process is replaced: the memory of some git commands grows with each. */
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
  /** Killed on purpose: its requests are sent again, and its remaining output is ignored. */
  isAbandoned: boolean;
  readonly waiting: Sequence<Request<Reply>>;
  readonly ended: Promise<void>;
  /** Lines that are not written yet. The lines of one tick share a write. */
  outbox: string[];
  requests: number;
  answers: number;
}

export class RequestProcess<Reply> {
  readonly #context: GitContext;
  readonly #protocol: Protocol<Reply>;
  #current: Worker<Reply> | undefined;
  /** All processes that have not ended, including retired ones. */
  readonly #workers = new Set<Worker<Reply>>();
  #closed = false;

  constructor(context: GitContext, protocol: Protocol<Reply>) {
    this.#context = { ...context, env: { ...context.env, ...protocol.env } };
    this.#protocol = protocol;
  }

  /** Number of requests without a reply. */
  get pending(): number {
    let sum = 0;
    for (const worker of this.#workers) sum += worker.waiting.length;
    return sum;
  }

  /** Sends one request: a line without its newline. `settle` is called exactly once. */
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

  /** Lets the process finish its requests; the next request starts a new process. */
  retire(): void {
    const worker = this.#current;
    this.#current = undefined;
    if (worker === undefined) return;
    flush(worker);
    worker.git.stdin.end();
  }

  /** Kills the process and rejects pending requests. */
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
    const waiting = new Sequence<Request<Reply>>();
    const worker: Worker<Reply> = {
      git,
      isAbandoned: false,
      waiting,
      outbox: [],
      requests: 0,
      answers: 0,
      ended: git.ended.then((how) => {
        this.#workers.delete(worker);
        if (this.#current === worker) this.#current = undefined;
        if (worker.isAbandoned) this.#resend(waiting);
        else if (waiting.length > 0) this.#recover(worker, git.error(how));
      }),
    };
    git.stdout.on('data', (chunk: Buffer) => {
      // The rest of a reply above the limit is ignored.
      if (git.met === undefined && !worker.isAbandoned)
        parser.push(chunk, (reply) => this.#settle(worker, reply));
    });
    this.#workers.add(worker);
    return worker;
  }

  #settle(worker: Worker<Reply>, reply: Reply): void {
    const request = worker.waiting.shift();
    if (request === undefined) return;
    worker.answers += 1;
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

  /** The first waiting request is the one that the process died on. The others are sent again. */
  #recover({ waiting, answers }: Worker<Reply>, error: GitError): void {
    const first = waiting.shift();
    if (first !== undefined) {
      // Its memory may be of the requests before: a new process has none of them.
      const isFull = error instanceof GitLimitError && error.limit === 'memory' && answers > 0;
      if (!isFull) first.deaths += 1;
      // A retry would meet the same limit.
      const meetsAgain = error instanceof GitLimitError && !isFull;
      const isFinal = this.#closed || first.deaths > 1 || meetsAgain;
      if (isFinal) first.settle(error);
      else this.#send(first);
    }
    this.#resend(waiting);
  }

  #resend(waiting: Sequence<Request<Reply>>): void {
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
