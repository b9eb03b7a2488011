/**
 * Answer to a request of a git service: what the service writes, or the reason why it wrote nothing.
 */
import { PassThrough, type Writable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { StatusError } from '../../apimachinery/index.ts';
import { textAnswer } from '../output/answer.ts';
import { writeAnswer } from '../output/send.ts';

export class ServiceAnswer {
  /** The service writes to it. Destroyed before the service has written: the failure is the answer. */
  readonly stream: PassThrough;
  readonly #request: Pick<FastifyRequest, 'id'>;
  readonly #raw: FastifyReply['raw'];
  readonly #gone = new AbortController();
  #failure = new StatusError(500, 'InternalError', 'git failed: see the log of the server');

  /** `beforeEnd` delays the end of the answer. */
  constructor(
    { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
    beforeEnd: () => Promise<unknown> = () => Promise.resolve(),
  ) {
    this.#request = request;
    this.#raw = reply.raw;
    this.#raw.once('close', () => this.#gone.abort());
    this.stream = holdBack(this.#raw, beforeEnd);
    this.stream.once('close', () => this.#fail());
  }

  /** Aborted when nothing that the service writes counts any more. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  get code(): number {
    return this.#raw.headersSent ? this.#raw.statusCode : this.#failure.code;
  }

  /** True if the client went away before the end. */
  get isBrokenOff(): boolean {
    return this.#gone.signal.aborted && !this.#raw.writableFinished;
  }

  /** Answers with the failure, before git answers to what it has. */
  refuse(failure: StatusError): void {
    this.#failure = failure;
    this.stream.destroy();
    this.#gone.abort();
  }

  #fail(): void {
    if (this.stream.readableEnded) return;
    if (this.#raw.headersSent || this.#raw.destroyed) {
      this.#raw.destroy();
      return;
    }
    const { message, code } = this.#failure;
    const answer = textAnswer(`${message}\n`, code);
    writeAnswer(this.#raw, answer, { id: this.#request.id, last: true });
  }
}

function holdBack(response: Writable, beforeEnd: () => Promise<unknown>): PassThrough {
  const gate = new PassThrough({
    flush: (done) => {
      beforeEnd().then(
        () => done(),
        () => done(),
      );
    },
  });
  response.once('close', () => gate.destroy());
  gate.pipe(response);
  return gate;
}
