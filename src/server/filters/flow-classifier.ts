/**
 * Sorts requests into fair queues: one for writes, one for lists, with a flow per user. Reads of one
 * object, watches, health, discovery and the controllers of the daemon never wait.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type User, Yielding } from '../../apimachinery/index.ts';
import type { RequestInfo } from '../input/request-info.ts';
import { type Answer, lengthOf } from '../output/answer.ts';
import { type Admission, FairQueue, type FairQueueFigures } from './fair-queue.ts';
import { bodyBytes, timedOut, WRITES } from './overload-limits.ts';

/** No limit: answers to writes are small. */
const ANY = Number.MAX_SAFE_INTEGER;
/** Seats for two commit groups keep git busy. The queue holds some seconds of commits. */
const OF_WRITES = { seats: 256, requests: 8192, bytes: 256 * 1024 * 1024, answers: ANY };
/** A large list blocks the event loop for some milliseconds. */
const OF_LISTS = { seats: 4, requests: 2048, bytes: ANY, answers: 128 * 1024 * 1024 };
/** Lists run together for this time before the event loop yields, which is faster for all of them. */
const LISTS_HOLD_MS = 4;
/** Prefix of the users of our controllers; no other user can have it. */
const OURS = 'system:gitplane:';

type Answered = Answer | undefined;

/** A request that passed access control. */
interface Passed {
  readonly info: RequestInfo;
  readonly user: User | undefined;
}

export class FlowClassifier {
  readonly #writes: FairQueue;
  readonly #lists: FairQueue;
  /** By response. */
  readonly #admissions = new WeakMap<object, Admission>();
  /** Yields to other work between lists of all users. */
  readonly #pauses = new Yielding(LISTS_HOLD_MS);

  constructor({ writes = OF_WRITES, lists = OF_LISTS } = {}) {
    this.#writes = new FairQueue(writes);
    this.#lists = new FairQueue(lists);
  }

  get figures(): Readonly<Record<'writes' | 'lists', FairQueueFigures>> {
    return { writes: this.#writes.figures, lists: this.#lists.figures };
  }

  /** Counts a request until its answer is sent or its connection closed. Throws 429. */
  admit(
    passed: Passed,
    request: Pick<IncomingMessage, 'method' | 'headers'>,
    response: Pick<ServerResponse, 'once'>,
  ): void {
    const queue = this.#queueOf(passed, request.method);
    if (queue === undefined) return;
    const admission = queue.enter(flowOf(passed), bodyBytes(request.headers));
    this.#admissions.set(response, admission);
    response.once('close', admission.leave);
  }

  /** Counts bytes of a body without Content-Length. Throws 429 if they exceed the limit. */
  arrived(response: object, bytes: number): void {
    this.#admissions.get(response)?.body(bytes);
  }

  /** Does the work of an admitted request when it gets a seat. */
  run(
    passed: Passed,
    of: {
      readonly request: Pick<IncomingMessage, 'method'>;
      readonly response: Pick<ServerResponse, 'destroyed' | 'writableEnded'>;
    },
    work: () => Answered | Promise<Answered>,
  ): Answered | Promise<Answered> {
    const { request, response } = of;
    const queue = this.#queueOf(passed, request.method);
    if (queue === undefined) return work();
    const isWanted = (): boolean => !response.destroyed && !response.writableEnded;
    const wanted = { isWanted, late: timedOut };
    if (queue === this.#writes) return queue.run(flowOf(passed), async () => await work(), wanted);
    return queue.run(flowOf(passed), () => this.#listed(response, work), {
      ...wanted,
      rest: this.#rest,
    });
  }

  async #listed(response: object, work: () => Answered | Promise<Answered>): Promise<Answered> {
    const answer = await work();
    if (answer !== undefined) this.#admissions.get(response)?.answer(lengthOf(answer));
    return answer;
  }

  /** Runs after the list is answered. */
  readonly #rest = (): Promise<void> | undefined =>
    this.#pauses.due ? this.#pauses.pause() : undefined;

  #queueOf({ info, user }: Passed, method = ''): FairQueue | undefined {
    if (user?.name.startsWith(OURS) === true) return undefined;
    if (WRITES.includes(method)) return this.#writes;
    return info.isResource && info.verb === 'list' ? this.#lists : undefined;
  }
}

/** Keys of one user share a flow: more keys do not give more seats. */
function flowOf({ user }: Passed): string {
  return user?.name ?? '';
}
