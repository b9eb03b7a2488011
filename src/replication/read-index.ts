/**
 * The line that a follower asks the leader by which revision is the newest: a connection of the peer
 * listener that is kept, four bytes a question (its number) and twelve an answer (the number again, and
 * the revision, or -1 where the leader cannot tell). Who gets no answer asks elsewhere.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

export const NEWEST_PROTOCOL = 'gitplane-newest';
const QUESTION_BYTES = 4;
const ANSWER_BYTES = 12;
const UNKNOWN = -1n;

const SILENT_MS = 25;
/** After so long nothing is expected of the connection any more. */
const DEAD_MS = 2000;
const AGAIN_AFTER_MS = 250;

type Told = bigint | undefined;

/** Headers that ask a peer for the line. */
export const NEWEST_HEADERS = { connection: 'Upgrade', upgrade: NEWEST_PROTOCOL };

/** Answers what comes on a connection that was asked for by `NEWEST_HEADERS`. */
export function answerLine(socket: Duplex, newest: () => Promise<Told>): void {
  const head = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade'];
  socket.on('error', () => socket.destroy());
  socket.write(`${head.join('\r\n')}\r\nUpgrade: ${NEWEST_PROTOCOL}\r\n\r\n`);
  const answer = async (question: number): Promise<void> => {
    const revision = await newest().catch(() => undefined);
    if (socket.destroyed) return;
    const bytes = Buffer.allocUnsafe(ANSWER_BYTES);
    bytes.writeUInt32BE(question, 0);
    bytes.writeBigInt64BE(revision ?? UNKNOWN, QUESTION_BYTES);
    socket.write(bytes);
  };
  socket.on(
    'data',
    pieces(QUESTION_BYTES, (piece) => void answer(piece.readUInt32BE(0))),
  );
  socket.on('end', () => socket.end());
}

export interface ReadIndexOptions {
  /** A request to that peer with `NEWEST_HEADERS`, not yet ended. */
  readonly connect: (peer: string) => ClientRequest;
  /** A peer that has not answered for so many milliseconds is not asked more until it does. */
  readonly silentMs?: number;
}

/** To one peer at a time: whoever leads. */
export class ReadIndex {
  readonly #options: ReadIndexOptions;
  #line: Line | undefined;
  #isClosed = false;

  constructor(options: ReadIndexOptions) {
    this.#options = options;
  }

  /** Undefined: it cannot tell, or does not answer. Never rejects. */
  async ask(peer: string): Promise<Told> {
    if (this.#isClosed) return undefined;
    if (this.#line?.peer !== peer || this.#line.isOver(AGAIN_AFTER_MS)) {
      this.#line?.end();
      const { connect, silentMs = SILENT_MS } = this.#options;
      this.#line = new Line(peer, connect(peer), silentMs);
    }
    return await this.#line.ask();
  }

  close(): void {
    this.#isClosed = true;
    this.#line?.end();
  }
}

interface Question {
  readonly asked: number;
  readonly bytes: Buffer;
  resolve(told: Told): void;
}

class Line {
  readonly peer: string;
  readonly #request: ClientRequest;
  readonly #silentMs: number;
  #socket: Duplex | undefined;
  #questions = new Map<number, Question>();
  #count = 0;
  #ended: number | undefined;

  constructor(peer: string, request: ClientRequest, silentMs: number) {
    this.peer = peer;
    this.#silentMs = silentMs;
    this.#request = request;
    const end = (): void => this.end();
    request.on('upgrade', (_answer: IncomingMessage, socket: Duplex, first: Buffer) =>
      this.#begin(socket, first),
    );
    // Also an answer: somebody who does not know this line.
    request
      .on('response', end)
      .on('error', end)
      .on('close', () => {
        if (this.#socket === undefined) this.end();
      });
    request.end();
  }

  isOver(forMs: number): boolean {
    return this.#ended !== undefined && performance.now() - this.#ended > forMs;
  }

  ask(): Promise<Told> {
    const asked = performance.now();
    const [oldest] = this.#questions.values();
    const silent = oldest === undefined ? 0 : asked - oldest.asked;
    if (silent > DEAD_MS) this.end();
    if (this.#ended !== undefined || silent > this.#silentMs) return Promise.resolve(undefined);
    this.#count = (this.#count + 1) % 2 ** 32;
    const bytes = Buffer.allocUnsafe(QUESTION_BYTES);
    bytes.writeUInt32BE(this.#count, 0);
    this.#socket?.write(bytes);
    return new Promise((resolve) => {
      this.#questions.set(this.#count, { asked, bytes, resolve });
    });
  }

  end(): void {
    if (this.#ended !== undefined) return;
    this.#ended = performance.now();
    this.#request.destroy();
    this.#socket?.destroy();
    const questions = this.#questions;
    this.#questions = new Map();
    for (const { resolve } of questions.values()) resolve(undefined);
  }

  #begin(socket: Duplex, first: Buffer): void {
    if (this.#ended !== undefined) {
      socket.destroy();
      return;
    }
    this.#socket = socket;
    const read = pieces(ANSWER_BYTES, (piece) => this.#take(piece));
    const end = (): void => this.end();
    socket.on('data', read).on('end', end).on('error', end).on('close', end);
    if (first.length > 0) read(first);
    for (const { bytes } of this.#questions.values()) socket.write(bytes);
  }

  #take(piece: Buffer): void {
    const number = piece.readUInt32BE(0);
    const question = this.#questions.get(number);
    this.#questions.delete(number);
    const revision = piece.readBigInt64BE(QUESTION_BYTES);
    question?.resolve(revision === UNKNOWN ? undefined : revision);
  }
}

/** Cuts what comes into pieces of so many bytes. */
function pieces(size: number, take: (piece: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    for (; at + size <= all.length; at += size) take(all.subarray(at, at + size));
    rest = all.subarray(at);
  };
}
