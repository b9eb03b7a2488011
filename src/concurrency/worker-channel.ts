/** Requests to one worker thread, and its answers. `answerRequests` is the side of the thread. */
import type { Transferable, Worker } from 'node:worker_threads';

export interface WorkerChannelOptions {
  /** In errors: "The thread of NAME ended". */
  readonly name: string;
  start(): Worker;
  /** True: the process does not exit while a request is pending. */
  readonly keepsProcess?: boolean;
  /** Called before the pending requests are rejected, unless `terminate` ended the thread. */
  lost?(cause: WorkerLostError): void;
  /** Called with each message of `notify`. */
  notified?(message: unknown): void;
}

/** The thread ended before it answered. The work may be done, in part or not at all. */
export class WorkerLostError extends Error {
  override readonly name = 'WorkerLostError';
  readonly isLate: boolean;

  constructor(
    message: string,
    { isLate = false, cause }: { isLate?: boolean; cause?: Error | undefined } = {},
  ) {
    super(message, { cause });
    this.isLate = isLate;
  }
}

export interface RequestMessage<Request> {
  readonly id: number;
  readonly request: Request;
}

export type ThreadMessage<Answer> =
  | { readonly id: number; readonly answer: Answer }
  | { readonly notice: unknown };

interface Pending<Answer> {
  readonly timer: NodeJS.Timeout | undefined;
  resolve(answer: Answer): void;
  reject(error: WorkerLostError): void;
}

/** Starts the thread with the first request, and another one with the first request after a loss. */
export class WorkerChannel<Request, Answer> {
  readonly #options: WorkerChannelOptions;
  readonly #pending = new Map<number, Pending<Answer>>();
  #worker: Worker | undefined;
  #lastId = 0;

  constructor(options: WorkerChannelOptions) {
    this.#options = options;
  }

  get isStarted(): boolean {
    return this.#worker !== undefined;
  }

  get pending(): number {
    return this.#pending.size;
  }

  /** Starts the thread before the first request needs it. */
  start(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const { name, start, notified } = this.#options;
    const worker = start();
    worker.unref();
    worker.on('message', (message: ThreadMessage<Answer>) => {
      if ('notice' in message) notified?.(message.notice);
      else this.#accept(message.id, message.answer);
    });
    const lost = (cause?: Error): void =>
      this.#lose(worker, new WorkerLostError(`The thread of ${name} ended`, { cause }));
    worker.on('error', lost);
    worker.on('exit', () => lost());
    this.#worker = worker;
    return worker;
  }

  /** Rejects with WorkerLostError. A thread that misses the deadline is ended with all its requests. */
  ask(
    request: Request,
    { transfer = [], deadlineMs }: { transfer?: Transferable[]; deadlineMs?: number } = {},
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const worker = this.start();
      const id = ++this.#lastId;
      worker.postMessage({ id, request } satisfies RequestMessage<Request>, transfer);
      const message = `The thread of ${this.#options.name} did not answer in time`;
      const late = (): void => this.#lose(worker, new WorkerLostError(message, { isLate: true }));
      const timer = deadlineMs === undefined ? undefined : setTimeout(late, deadlineMs).unref();
      this.#pending.set(id, { timer, resolve, reject });
      if (this.#options.keepsProcess === true) worker.ref();
    });
  }

  /** Ends the thread and rejects the pending requests. */
  async terminate(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#rejectAll(new WorkerLostError(`The thread of ${this.#options.name} was ended`));
    await worker?.terminate();
  }

  #accept(id: number, answer: Answer): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#worker?.unref();
    clearTimeout(pending?.timer);
    pending?.resolve(answer);
  }

  #lose(worker: Worker, cause: WorkerLostError): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    worker.terminate().catch(() => undefined);
    this.#options.lost?.(cause);
    this.#rejectAll(cause);
  }

  #rejectAll(cause: WorkerLostError): void {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { timer, reject } of pending) {
      clearTimeout(timer);
      reject(cause);
    }
  }
}
