/**
 * Read index: a follower asks the leader for the newest revision over a persistent connection to
 * the peer listener. A question is four bytes (its number), an answer twelve (the number, then the
 * revision, or -1 if the leader does not know it). Without an answer, the follower asks elsewhere.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

export const NEWEST_PROTOCOL = 'gitplane-newest';
const QUESTION_BYTES = 4;
const ANSWER_BYTES = 12;
const UNKNOWN = -1n;

const SILENT_MS = 25;
/** Time in ms after which an unanswered connection counts as dead. */
const DEAD_MS = 2000;
const RECONNECT_AFTER_MS = 250;

type Answer = bigint | undefined;

/** Headers that request the connection from a peer. */
export const NEWEST_HEADERS = { connection: 'Upgrade', upgrade: NEWEST_PROTOCOL };

/** Answers questions on a connection that was requested with `NEWEST_HEADERS`. */
export function answerReadIndex(socket: Duplex, newest: () => Promise<Answer>): void {
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
    chunksOf(QUESTION_BYTES, (piece) => void answer(piece.readUInt32BE(0))),
  );
  socket.on('end', () => socket.end());
}

export interface ReadIndexOptions {
  /** A request to the peer with `NEWEST_HEADERS`, not yet ended. */
  readonly connect: (peer: string) => ClientRequest;
  /**
   * After so many milliseconds without an answer, a peer gets no more questions until it answers.
   */
  readonly silentMs?: number;
}

/** One peer at a time: the leader. */
export class ReadIndex {
  readonly #options: ReadIndexOptions;
  #connection: Connection | undefined;
  #isClosed = false;

  constructor(options: ReadIndexOptions) {
    this.#options = options;
  }

  /** Undefined: unknown, or no answer. Never rejects. */
  async ask(peer: string): Promise<Answer> {
    if (this.#isClosed) return undefined;
    if (this.#connection?.peer !== peer || this.#connection.isOver(RECONNECT_AFTER_MS)) {
      this.#connection?.end();
      const { connect, silentMs = SILENT_MS } = this.#options;
      this.#connection = new Connection(peer, connect(peer), silentMs);
    }
    return await this.#connection.ask();
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.end();
  }
}

interface Question {
  readonly asked: number;
  readonly bytes: Buffer;
  resolve(answer: Answer): void;
}

class Connection {
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
    // A response means that the peer does not know this protocol.
    request.on('response', end).on('error', end);
    request.end();
  }

  isOver(forMs: number): boolean {
    return this.#ended !== undefined && performance.now() - this.#ended > forMs;
  }

  ask(): Promise<Answer> {
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
    const read = chunksOf(ANSWER_BYTES, (piece) => this.#take(piece));
    const end = (): void => this.end();
    socket.on('data', read).on('end', end).on('error', end).on('close', end);
    read(first);
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

/** Splits the input into chunks of a fixed size. */
function chunksOf(size: number, take: (piece: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    for (; at + size <= all.length; at += size) take(all.subarray(at, at + size));
    rest = all.subarray(at);
  };
}
