/**
 * A queue of deliveries that survives the process. A delivery leaves it when its destination has
 * accepted it, so that each is delivered at least once. A step of the state and the deliveries that
 * follow from it are stored together.
 */
import { randomUUID } from 'node:crypto';
import type { Clock, JsonObject } from '../apimachinery/index.ts';
import { backoffAfter, WorkQueue } from '../concurrency/index.ts';
import type { Store } from '../state/index.ts';
import { type Delivery, DeliveryError, type NewDelivery } from './delivery.ts';
import { documentOf, readDelivery } from './delivery-document.ts';

export type DeliveryResult = 'delivered' | 'replaced' | 'obsolete' | 'expired' | 'overflowed';

export interface OutboxObserver {
  /** A delivery left the queue. */
  ended(destination: string, result: DeliveryResult): void;
  failed(destination: string): void;
}

interface OutboxLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface OutboxOptions {
  readonly store: Pick<Store, 'apply' | 'documents' | 'flush'>;
  /** Rejects with DeliveryError; another error counts as `unavailable`. Obeys the signal. */
  readonly deliver: (delivery: Delivery, signal: AbortSignal) => Promise<void>;
  /** Throws if this process must not act any more. */
  readonly assertMayAct?: (() => void) | undefined;
  readonly clock: Clock;
  readonly logger: OutboxLogger;
  readonly observer: OutboxObserver;
  readonly limits?: Partial<OutboxLimits>;
}

export interface OutboxLimits {
  /** Deliveries that wait for one destination. The oldest ones make room. */
  readonly perDestination: number;
  /** Age at which a delivery is given up. */
  readonly keepMs: number;
  /** The same for a delivery that its destination refuses. */
  readonly keepRefusedMs: number;
  readonly firstRetryMs: number;
  readonly lastRetryMs: number;
}

const DAY_MS = 86_400_000;
const LIMITS: OutboxLimits = {
  perDestination: 1000,
  keepMs: 7 * DAY_MS,
  keepRefusedMs: DAY_MS,
  firstRetryMs: 1000,
  lastRetryMs: 5 * 60_000,
};
const REFUSED_BACKOFF = { firstMs: 5000, lastMs: 3_600_000 };
const WORKERS = 4;

interface Waiting {
  readonly name: string;
  readonly delivery: Delivery;
  refusals: number;
  /** Time of the next attempt after a refusal. */
  notBefore: number;
}

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #limits: OutboxLimits;
  readonly #waiting = new Map<string, Map<string, Waiting>>();
  readonly #problems = new Map<string, string>();
  readonly #queue: WorkQueue;
  readonly #ended = new AbortController();
  #sequence = 0;

  /** Continues with the deliveries in the store. `start` begins to deliver. */
  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    const { firstRetryMs: firstMs, lastRetryMs: lastMs } = this.#limits;
    this.#queue = new WorkQueue({
      reconcile: (destination) => this.#work(destination),
      delayFor: (error) => (error instanceof DeliveryError ? error.retryAfterMs : undefined),
      workers: WORKERS,
      backoff: { firstMs, lastMs },
    });
    const found = [...options.store.documents(PREFIX)].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [name, document] of found) {
      const delivery = readDelivery(document);
      if (delivery === undefined) continue;
      this.#sequence = Math.max(this.#sequence, Number(name.slice(PREFIX.length)));
      this.#add({ name, delivery, refusals: 0, notBefore: 0 });
    }
  }

  start(): void {
    for (const destination of this.#waiting.keys()) this.#queue.add(destination);
  }

  /**
   * Stores new deliveries, and other documents in the same durable step. Resolves when they are on
   * stable storage.
   */
  async enqueue(
    deliveries: readonly NewDelivery[],
    documents: Readonly<Record<string, JsonObject | undefined>> = {},
  ): Promise<void> {
    const { store, clock } = this.#options;
    const step: Record<string, JsonObject | undefined> = { ...documents };
    const destinations = new Set<string>();
    for (const one of deliveries) {
      this.#sequence += 1;
      const name = `${PREFIX}${String(this.#sequence).padStart(16, '0')}`;
      const delivery: Delivery = { ...one, id: randomUUID(), created: clock.now() };
      destinations.add(delivery.destination);
      for (const gone of this.#displacedBy(delivery)) step[gone.name] = undefined;
      step[name] = documentOf(delivery);
      this.#add({ name, delivery, refusals: 0, notBefore: 0 });
    }
    store.apply([], step);
    await store.flush();
    // A destination that fails keeps its backoff.
    for (const destination of destinations) {
      if (!this.#problems.has(destination)) this.#queue.add(destination);
    }
  }

  /** Number of deliveries that wait, by destination. */
  counts(): ReadonlyMap<string, number> {
    return new Map([...this.#waiting].map(([destination, waiting]) => [destination, waiting.size]));
  }

  /** Time at which the oldest waiting delivery was made; undefined: none waits. */
  get oldest(): number | undefined {
    const times = [...this.#waiting.values()].flatMap((waiting) => {
      const [first] = waiting.values();
      return first === undefined ? [] : [first.delivery.created];
    });
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Destinations that take nothing now, each with its problem. */
  get problems(): ReadonlyMap<string, string> {
    return this.#problems;
  }

  /** Ends the attempts in flight. What was not delivered stays in the store. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.#queue.stop();
  }

  #add(one: Waiting): void {
    const { destination } = one.delivery;
    const waiting = this.#waiting.get(destination) ?? new Map<string, Waiting>();
    waiting.set(one.name, one);
    this.#waiting.set(destination, waiting);
  }

  /** Removes what the new delivery replaces, and the oldest ones of a full queue. */
  #displacedBy({ destination, topic }: Delivery): readonly Waiting[] {
    const waiting = [...(this.#waiting.get(destination)?.values() ?? [])];
    const replaced = waiting.filter((one) => topic !== undefined && one.delivery.topic === topic);
    const others = waiting.filter((one) => !replaced.includes(one));
    const excess = others.slice(0, Math.max(0, others.length + 1 - this.#limits.perDestination));
    for (const one of replaced) this.#forget(one, 'replaced');
    for (const one of excess) this.#forget(one, 'overflowed');
    if (excess.length > 0) {
      this.#options.logger.warn(
        { destination, limit: this.#limits.perDestination, lost: excess.length },
        'Too many deliveries wait: the oldest are lost',
      );
    }
    return [...replaced, ...excess];
  }

  /** False: it was forgotten before. */
  #forget({ name, delivery: { destination } }: Waiting, result: DeliveryResult): boolean {
    const waiting = this.#waiting.get(destination);
    if (waiting?.delete(name) !== true) return false;
    if (waiting.size === 0) this.#waiting.delete(destination);
    this.#options.observer.ended(destination, result);
    return true;
  }

  /** Not flushed: after a crash the delivery is repeated. */
  #remove(one: Waiting, result: DeliveryResult): void {
    if (this.#forget(one, result)) this.#options.store.apply([], { [one.name]: undefined });
  }

  /** Delivers until nothing is due. Returns the milliseconds until the next attempt. */
  async #work(destination: string): Promise<number | undefined> {
    for (;;) {
      if (this.#ended.signal.aborted) return undefined;
      const now = this.#options.clock.now();
      const waiting = [...(this.#waiting.get(destination)?.values() ?? [])];
      const next = waiting.find(({ notBefore }) => notBefore <= now);
      if (next === undefined) {
        const times = waiting.map(({ notBefore }) => notBefore);
        return times.length === 0 ? undefined : Math.max(Math.min(...times) - now, 1);
      }
      await this.#attempt(next);
    }
  }

  /** Throws if the destination takes nothing now. */
  async #attempt(one: Waiting): Promise<void> {
    const { clock, deliver, assertMayAct, observer } = this.#options;
    const { delivery } = one;
    const { destination } = delivery;
    assertMayAct?.();
    try {
      await deliver(delivery, this.#ended.signal);
      this.#remove(one, 'delivered');
      this.#works(destination);
    } catch (error) {
      if (this.#ended.signal.aborted) return;
      const { problem, message } = asDeliveryError(error);
      if (problem === 'obsolete') {
        this.#options.logger.info({ destination, reason: message }, 'A delivery is obsolete');
        return this.#remove(one, 'obsolete');
      }
      observer.failed(destination);
      const age = clock.now() - delivery.created;
      const { keepMs, keepRefusedMs } = this.#limits;
      if (age >= (problem === 'refused' ? keepRefusedMs : keepMs)) {
        const fields = { destination, id: delivery.id, problem: message };
        this.#options.logger.warn(fields, 'A delivery is given up');
        return this.#remove(one, 'expired');
      }
      if (problem === 'unavailable') {
        this.#fails(destination, message);
        throw error;
      }
      one.refusals += 1;
      if (one.refusals === 1) {
        const fields = { destination, id: delivery.id, problem: message };
        this.#options.logger.warn(fields, 'A delivery is refused, and will be tried again');
      }
      one.notBefore = clock.now() + backoffAfter(one.refusals, REFUSED_BACKOFF);
      this.#works(destination);
    }
  }

  /** Logs each problem once, not each attempt. */
  #fails(destination: string, problem: string): void {
    if (this.#problems.get(destination) === problem) return;
    this.#problems.set(destination, problem);
    this.#options.logger.warn({ destination, problem }, 'Deliveries wait for their destination');
  }

  #works(destination: string): void {
    if (!this.#problems.delete(destination)) return;
    this.#options.logger.info({ destination }, 'The destination takes deliveries again');
  }
}

const PREFIX = 'outbox:';

function asDeliveryError(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new DeliveryError(message, { problem: 'unavailable', cause: error });
}
