/**
 * Turns for requests that cost more than looking something up, shared fairly between those who make
 * them (as the priority and fairness of Kubernetes does it, with one flow a user).
 *
 * - A flow may hold as much of the room as is still free: one that floods fills half of it, two fill
 *   two thirds. Whoever comes new always finds some, and only who has too much is refused (429).
 * - A seat is a request at work. Whoever finds none waits, and flows get seats in turn: who has one
 *   request waits for one of each other flow, however many of these there are.
 * - A flow that holds too much of the room for answers, as who does not read what was asked for, gets
 *   no seat until it has read some. One answer at a time may always be held.
 */
import { tooManyRequests } from '../../apimachinery/index.ts';

const RETRY_SECONDS = 1;

export interface FairQueueLimits {
  /** Requests that are at work at once. */
  readonly seats: number;
  /** Requests, at work and waiting. */
  readonly requests: number;
  /** Of all their bodies together. */
  readonly bytes: number;
  /** The same of answers that are not sent yet. */
  readonly answers: number;
}

/** What metrics tell. */
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
  /** False: nobody waits for it any more. */
  isWanted(): boolean;
  begin(): void;
  drop(): void;
}

/** A request that was taken on. */
export interface Admission {
  /** Counts bytes of a body whose length was not announced. Throws 429, and holds none of them. */
  body(bytes: number): void;
  /** Bytes that are held for it until it leaves. */
  answer(bytes: number): void;
  /** To be called once. */
  leave(): void;
}

export class FairQueue {
  readonly #limits: FairQueueLimits;
  readonly #flows = new Map<string, Flow>();
  /** Flows with somebody who waits, the next one first. */
  readonly #turns = new Set<Flow>();
  #requests = 0;
  #bytes = 0;
  #answers = 0;
  #atWork = 0;
  /** Seats that nobody has before something else had a turn. */
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

  /** Makes room for a request until it leaves. Throws 429. */
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
   * Does work of a flow that has entered, at once where a seat is free. Rejects with `late` where
   * nobody wants it by the time it has one: nothing was done then.
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
      // It keeps its turn.
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
  /** Asked when the work is done: nobody is given a seat until it resolves. Must not reject. */
  rest?(): Promise<void> | undefined;
}
