/**
 * Which requests take turns, and whose they are: writes, and lists. What is read from memory by its
 * name, watches, health and discovery never wait, and neither do our own loops.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type User, Yielding } from '../../apimachinery/index.ts';
import type { RequestInfo } from '../input/request-info.ts';
import { type Answer, lengthOf } from '../output/answer.ts';
import { type Admission, FairQueue, type FairQueueFigures } from './fair-queue.ts';
import { bodyBytes, timedOut, WRITES } from './overload-limits.ts';

/** Nothing that is answered to a write is large. */
const ANY = Number.MAX_SAFE_INTEGER;
/** Two groups of commits at once keep git busy; what waits is some seconds' worth of them. */
const OF_WRITES = { seats: 256, requests: 8192, bytes: 256 * 1024 * 1024, answers: ANY };
/** A large list stops everything else for some milliseconds. */
const OF_LISTS = { seats: 4, requests: 2048, bytes: ANY, answers: 128 * 1024 * 1024 };
/** Lists that come close after each other are answered together, which is quicker for all of them. */
const LISTS_HOLD_MS = 4;
/** Names that no user can have. */
const OURS = 'system:gitplane:';

type Answered = Answer | undefined;

/** What is known of a request when it has passed. */
interface Passed {
  readonly info: RequestInfo;
  readonly user: User | undefined;
}

export class FlowClassifier {
  readonly #writes: FairQueue;
  readonly #lists: FairQueue;
  /** By response. */
  readonly #admissions = new WeakMap<object, Admission>();
  /** Between lists, whoever sent them: others have a turn. */
  readonly #pauses = new Yielding(LISTS_HOLD_MS);

  constructor({ writes = OF_WRITES, lists = OF_LISTS } = {}) {
    this.#writes = new FairQueue(writes);
    this.#lists = new FairQueue(lists);
  }

  get figures(): Readonly<Record<'writes' | 'lists', FairQueueFigures>> {
    return { writes: this.#writes.figures, lists: this.#lists.figures };
  }

  /** Takes a request on until its answer is out, or nobody waits for it. Throws 429. */
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

  /** Counts bytes of a body without an announced length. Throws 429 where there is no room for them. */
  arrived(response: object, bytes: number): void {
    this.#admissions.get(response)?.body(bytes);
  }

  /** Does the work of a request that was admitted, when its turn has come. */
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

  /** The list itself goes out at once. */
  readonly #rest = (): Promise<void> | undefined =>
    this.#pauses.due ? this.#pauses.pause() : undefined;

  #queueOf({ info, user }: Passed, method = ''): FairQueue | undefined {
    if (user?.name.startsWith(OURS) === true) return undefined;
    if (WRITES.includes(method)) return this.#writes;
    return info.isResource && info.verb === 'list' ? this.#lists : undefined;
  }
}

/** Keys of one user share a flow: more keys are not more turns. */
function flowOf({ user }: Passed): string {
  return user?.name ?? '';
}
