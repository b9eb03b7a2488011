/**
 * A fair queue for expensive requests, after API Priority and Fairness of Kubernetes. One flow per user.
 *
 * - A flow may use as much of a limit as is still free: one flooding flow fills half of it, two fill two
 *   thirds. A new flow always finds room, and only flows above their share are refused (429).
 * - A seat is one request at work. Without a free seat requests wait, and flows get seats round-robin: a
 *   flow with one request waits for at most one request of each other flow.
 * - A flow with too many unsent bytes of answers gets no seat until its client has read some. One answer
 *   per flow is always allowed.
 */
import { tooManyRequests } from '../../apimachinery/index.ts';

const RETRY_SECONDS = 1;

export interface FairQueueLimits {
  /** Requests at work at the same time. */
  readonly seats: number;
  /** Requests, at work and waiting. */
  readonly requests: number;
  /** Bytes of all request bodies together. */
  readonly bytes: number;
  /** Bytes of all answers that are not sent yet. */
  readonly answers: number;
}

/** Values for metrics. */
export interface FairQueueFigures {
  readonly held: number;
  readonly atWork: number;
  readonly waiting: number;
  /** Since the start. */
  readonly refused: number;
}

interface Flow {
  readonly name: string;
  requests: number;
  bytes: number;
  answers: number;
  readonly waiting: Waiter[];
}

interface Waiter {
  /** False: the client is gone. */
  isWanted(): boolean;
  begin(): void;
  drop(): void;
}

/** A request in the queue or at work. */
export interface Admission {
  /** Counts bytes of a body without Content-Length. Throws 429 and counts none of them. */
  body(bytes: number): void;
  /** Counts bytes of the answer until the request leaves. */
  answer(bytes: number): void;
  /** Call once. */
  leave(): void;
}

export class FairQueue {
  readonly #limits: FairQueueLimits;
  readonly #flows = new Map<string, Flow>();
  /** Flows with waiting requests, the next one first. */
  readonly #turns = new Set<Flow>();
  #requests = 0;
  #bytes = 0;
  #answers = 0;
  #atWork = 0;
  /** Seats that stay empty until `rest` resolves. */
  #resting = 0;
  #waiting = 0;
  #refused = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
  }

  get figures(): FairQueueFigures {
    return {
      held: this.#requests,
      atWork: this.#atWork,
      waiting: this.#waiting,
      refused: this.#refused,
    };
  }

  /** Counts a request until it leaves. Throws 429. */
  enter(name: string, bytes: number): Admission {
    const flow = this.#flows.get(name) ?? { name, requests: 0, bytes: 0, answers: 0, waiting: [] };
    const hasRoom = flow.requests < this.#limits.requests - this.#requests;
    if (!hasRoom || !this.#hasRoomFor(flow, bytes)) throw this.#refusal();
    this.#flows.set(name, flow);
    this.#hold(flow, 1, bytes);
    return this.#admission(flow, bytes);
  }

  #hasRoomFor(flow: Flow, bytes: number): boolean {
    return flow.bytes + bytes <= this.#limits.bytes - this.#bytes;
  }

  #refusal(): Error {
    this.#refused++;
    return tooManyRequests('Too many requests, please try again later.', RETRY_SECONDS);
  }

  #admission(flow: Flow, announced: number): Admission {
    let bytes = announced;
    let answers = 0;
    let hasLeft = false;
    return {
      body: (more) => {
        if (hasLeft) return;
        if (!this.#hasRoomFor(flow, more)) throw this.#refusal();
        bytes += more;
        this.#hold(flow, 0, more);
      },
      answer: (more) => {
        if (hasLeft) return;
        answers += more;
        this.#holdAnswer(flow, more);
      },
      leave: () => {
        hasLeft = true;
        this.#hold(flow, -1, -bytes);
        this.#holdAnswer(flow, -answers);
        if (flow.requests === 0) this.#flows.delete(flow.name);
        if (answers > 0) this.#next();
      },
    };
  }

  /**
   * Does the work of a flow that has entered, at once if a seat is free. Rejects with `late` if the
   * client is gone before a seat is free; the work is not done then.
   */
  run<T>(name: string, work: () => Promise<T>, of: Wanted): Promise<T> {
    const flow = this.#flows.get(name);
    if (this.#hasSeat && (flow === undefined || this.#mayAnswer(flow)))
      return this.#seated(work, of);
    // It has left already.
    if (flow === undefined) return Promise.reject(of.late());
    return new Promise((resolve, reject) => {
      const begin = (): void => resolve(this.#seated(work, of));
      flow.waiting.push({ isWanted: of.isWanted, begin, drop: () => reject(of.late()) });
      this.#waiting++;
      this.#turns.add(flow);
    });
  }

  async #seated<T>(work: () => Promise<T>, { rest }: Wanted): Promise<T> {
    this.#atWork++;
    try {
      return await work();
    } finally {
      this.#atWork--;
      const pause = rest?.();
      if (pause === undefined) this.#next();
      else void this.#nextAfter(pause);
    }
  }

  async #nextAfter(pause: Promise<void>): Promise<void> {
    this.#resting++;
    await pause;
    this.#resting--;
    this.#next();
  }

  get #hasSeat(): boolean {
    return this.#resting === 0 && this.#atWork < this.#limits.seats;
  }

  #next(): void {
    for (const flow of this.#turns) {
      if (!this.#hasSeat) return;
      // It keeps its place.
      if (!this.#mayAnswer(flow)) continue;
      this.#turns.delete(flow);
      const waiter = flow.waiting.shift();
      if (waiter === undefined) continue;
      this.#waiting--;
      // Behind all others.
      if (flow.waiting.length > 0) this.#turns.add(flow);
      if (waiter.isWanted()) waiter.begin();
      else waiter.drop();
    }
  }

  #mayAnswer({ answers }: Flow): boolean {
    return answers === 0 || answers <= this.#limits.answers - this.#answers;
  }

  #holdAnswer(flow: Flow, bytes: number): void {
    flow.answers += bytes;
    this.#answers += bytes;
  }

  #hold(flow: Flow, requests: number, bytes: number): void {
    flow.requests += requests;
    flow.bytes += bytes;
    this.#requests += requests;
    this.#bytes += bytes;
  }
}

export interface Wanted {
  isWanted(): boolean;
  late(): Error;
  /** Called after the work: the seat stays empty until it resolves. Must not reject. */
  rest?(): Promise<void> | undefined;
}
