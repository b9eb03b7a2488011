/**
 * Turns for requests that cost more than looking something up, shared fairly between those who make
 * them (as the priority and fairness of Kubernetes does it, with one flow a user).
 *
 * - A flow may hold as much of the room as is still free: one that floods fills half of it, two fill
 *   two thirds. Whoever comes new always finds some, and only who has too much is refused (429).
 * - A seat is a request at work. Whoever finds none waits, and flows get seats in turn: who has one
 *   request waits for one of each other flow, however many of these there are.
 */
import { tooManyRequests } from '../apimachinery/status-error.ts';

const RETRY_SECONDS = 1;

export interface FairQueueLimits {
  /** Requests that are at work at once. */
  readonly seats: number;
  /** Requests, at work and waiting. */
  readonly requests: number;
  /** Of all their bodies together. */
  readonly bytes: number;
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
  requests: number;
  bytes: number;
  readonly waiting: Waiter[];
}

interface Waiter {
  /** False: nobody waits for it any more. */
  isWanted(): boolean;
  begin(): void;
  drop(): void;
}

export class FairQueue {
  readonly #limits: FairQueueLimits;
  readonly #flows = new Map<string, Flow>();
  /** Flows with somebody who waits, the next one first. */
  readonly #turns = new Set<Flow>();
  #requests = 0;
  #bytes = 0;
  #atWork = 0;
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

  /** Makes room for a request until the function that it returns is called, once. Throws 429. */
  enter(name: string, bytes: number): () => void {
    const flow = this.#flows.get(name) ?? { requests: 0, bytes: 0, waiting: [] };
    const { requests, bytes: most } = this.#limits;
    const hasRoom =
      flow.requests < requests - this.#requests && flow.bytes + bytes <= most - this.#bytes;
    if (!hasRoom) {
      this.#refused++;
      throw tooManyRequests('Too many requests, please try again later.', RETRY_SECONDS);
    }
    this.#flows.set(name, flow);
    this.#hold(flow, 1, bytes);
    return () => {
      this.#hold(flow, -1, -bytes);
      if (flow.requests === 0) this.#flows.delete(name);
    };
  }

  /**
   * Does work of a flow that has entered, at once where a seat is free. Rejects with `late` where
   * nobody wants it by the time it has one: nothing was done then.
   */
  run<T>(name: string, work: () => Promise<T>, of: Wanted): Promise<T> {
    if (this.#atWork < this.#limits.seats) return this.#seated(work);
    const flow = this.#flows.get(name);
    // It has left already.
    if (flow === undefined) return Promise.reject(of.late());
    return new Promise((resolve, reject) => {
      const begin = (): void => resolve(this.#seated(work));
      flow.waiting.push({ isWanted: of.isWanted, begin, drop: () => reject(of.late()) });
      this.#waiting++;
      this.#turns.add(flow);
    });
  }

  async #seated<T>(work: () => Promise<T>): Promise<T> {
    this.#atWork++;
    try {
      return await work();
    } finally {
      this.#atWork--;
      this.#next();
    }
  }

  #next(): void {
    for (const flow of this.#turns) {
      if (this.#atWork >= this.#limits.seats) return;
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
}
