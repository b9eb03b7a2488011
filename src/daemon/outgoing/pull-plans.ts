/**
 * Plans of the open pull requests to the followed branch, each as one comment, a status of the head, and
 * annotations. What was reported is a record in the state, so that no restart reports it twice. Plans are
 * made again after a restart, when the head moved, and some time after the followed branch moved.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock, JsonObject } from '../../apimachinery/index.ts';
import { pause, WorkQueue } from '../../concurrency/index.ts';
import type { Forge, Pull } from '../../forges/index.ts';
import type { Plan } from '../../history/index.ts';
import type { NewDelivery, Outbox } from '../../outbox/index.ts';
import type { Store } from '../../state/index.ts';
import type { PullOutcome } from './pull-planner.ts';
import {
  type PullReport,
  type PullReportContext,
  type ReportedOutcome,
  reportOn,
} from './pull-report.ts';

export interface PullPlansParts {
  readonly outbox: Pick<Outbox, 'enqueue'>;
  readonly store: Pick<Store, 'document' | 'documents'>;
  readonly forge: Pick<Forge, 'openPulls'>;
  /** Rejects if the plan cannot be made now. */
  readonly plan: (pull: Pull, base: string) => Promise<PullOutcome>;
  /** Tip of the followed branch; undefined: nothing can be planned now. */
  readonly base: () => Promise<string | undefined>;
  /** An operator has stopped following. */
  readonly isSuspended: () => boolean;
  readonly includesForks: boolean;
  readonly branch: string;
  /** Name of the comment and the status. */
  readonly context: string;
  /** Identity of the repository on its forge. */
  readonly place: string;
  /** Page of the console; undefined: people have no address of it. */
  readonly url: (number: number) => string | undefined;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
  /** Rest between two plans. Default: 250 ms. */
  readonly restMs?: number;
}

/** Separate from that of statuses: its token may have no right to comment. */
export const PLANS = 'forge plans';
const RECORD = 'forge:pull:';
/** Time between two looks at the forge, and after a webhook. */
const INTERVAL_MS = 60_000;
const SHORTEST_GAP_MS = 2_000;
const RETRY = { firstMs: 5_000, lastMs: 10 * 60_000 };
/** Time until a plan is made again because the followed branch moved, or because it failed. */
const AGE_MS = 5 * 60_000;
/** Pull requests that are planned: the last updated ones. */
const MOST_PULLS = 50;
const REST_MS = 250;
/** Sum of the changes of plans in memory. */
const MOST_CHANGES = 20_000;

interface Made {
  readonly head: string;
  /** Empty: it failed. */
  readonly base: string;
  readonly at: number;
}

export class PullPlans {
  readonly #parts: PullPlansParts;
  readonly #queue: WorkQueue;
  readonly #ended = new AbortController();
  readonly #made = new Map<number, Made>();
  readonly #plans = new LRUCache<number, Plan>({
    maxSize: MOST_CHANGES,
    sizeCalculation: ({ changes, problems, warnings }) =>
      1 + changes.length + problems.length + warnings.length,
  });
  #looked = Number.NEGATIVE_INFINITY;

  constructor(parts: PullPlansParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue({
      reconcile: async () => {
        const isDone = await this.check().catch((error: unknown) => {
          if (!this.#ended.signal.aborted) parts.onError(error);
          throw error;
        });
        return isDone ? INTERVAL_MS : SHORTEST_GAP_MS;
      },
      workers: 1,
      backoff: RETRY,
    });
  }

  start(): void {
    this.#queue.add(RECORD);
  }

  /** Looks at the forge soon. Cheap when called often. */
  trigger(): void {
    const wait = this.#looked + SHORTEST_GAP_MS - performance.now();
    if (wait <= 0) this.#queue.add(RECORD);
    else this.#queue.addLater(RECORD, wait);
  }

  /** The newest plan of an open pull request; undefined: none is in memory. */
  planOf(number: number): Plan | undefined {
    return this.#plans.get(number);
  }

  /** Plans what is new, and enqueues what is not reported yet. False: nothing can be planned now. */
  async check(): Promise<boolean> {
    const { forge, isSuspended, includesForks } = this.#parts;
    if (isSuspended()) return true;
    if ((await this.#parts.base()) === undefined) return false;
    this.#looked = performance.now();
    const open = await forge.openPulls();
    const pulls = open.filter(({ isFork }) => includesForks || !isFork).slice(0, MOST_PULLS);
    await this.#forgetClosed(pulls);
    for (const pull of pulls) {
      if (this.#ended.signal.aborted || isSuspended()) break;
      if (!(await this.#planIfNew(pull))) return false;
    }
    return true;
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#queue.stop();
  }

  async #forgetClosed(pulls: readonly Pull[]): Promise<void> {
    const { store, outbox } = this.#parts;
    const open = new Set(pulls.map(({ number }) => number));
    for (const number of this.#made.keys()) {
      if (open.has(number)) continue;
      this.#made.delete(number);
      this.#plans.delete(number);
    }
    const closed = [...store.documents(RECORD)].flatMap(([name]) =>
      open.has(Number(name.slice(RECORD.length))) ? [] : [[name, undefined] as const],
    );
    if (closed.length > 0) await outbox.enqueue([], Object.fromEntries(closed));
  }

  /** False: the followed branch moves. */
  async #planIfNew(pull: Pull): Promise<boolean> {
    const { plan, clock, onError, restMs = REST_MS } = this.#parts;
    const base = await this.#parts.base();
    if (base === undefined) return false;
    if (!this.#isDue(pull, base)) return true;
    try {
      const outcome = await plan(pull, base);
      if (outcome.is === 'outdated') return false;
      this.#made.set(pull.number, { head: pull.commit, base, at: clock.now() });
      if (outcome.is === 'planned') this.#plans.set(pull.number, outcome.plan);
      else this.#plans.delete(pull.number);
      if (outcome.is !== 'merged') await this.#report(pull, base, outcome);
    } catch (error) {
      // The others are planned all the same, and this one is tried again after a while.
      this.#made.set(pull.number, { head: pull.commit, base: '', at: clock.now() });
      this.#plans.delete(pull.number);
      if (!this.#ended.signal.aborted) onError(error);
    }
    await pause(restMs, this.#ended.signal);
    return true;
  }

  #isDue({ number, commit }: Pull, base: string): boolean {
    const made = this.#made.get(number);
    if (made === undefined || made.head !== commit) return true;
    return made.base !== base && this.#parts.clock.now() - made.at >= AGE_MS;
  }

  async #report(pull: Pull, base: string, outcome: ReportedOutcome): Promise<void> {
    const { outbox, store, place, branch, url } = this.#parts;
    const { number, commit: head } = pull;
    const context: PullReportContext = { head, base, branch, url: url(number) };
    const report = reportOn(outcome, context);
    // The tip of the followed branch alone is no news.
    const { body: same } = reportOn(outcome, { ...context, base: '' });
    const digest = digestOf(same, report);
    const record = store.document(`${RECORD}${number}`);
    const isReported = record?.['place'] === place && record['digest'] === digest;
    if (isReported) return;
    const documents: Record<string, JsonObject> = { [`${RECORD}${number}`]: { place, digest } };
    await outbox.enqueue(this.#deliveries(pull, report, context.url), documents);
  }

  #deliveries(
    { number, commit }: Pull,
    { state, description, body, annotations }: PullReport,
    url: string | undefined,
  ): NewDelivery[] {
    const context = `${this.#parts.context}/plan`;
    const marker = `<!-- gitplane plan ${this.#parts.context} -->`;
    const status = { commit, context, state, description, ...(url && { url }) };
    const deliveries: NewDelivery[] = [
      { destination: PLANS, topic: `plan status ${commit}`, payload: { status } },
      {
        destination: PLANS,
        topic: `plan ${number}`,
        payload: { comment: { number, marker, body } },
      },
    ];
    if (annotations.length === 0) return deliveries;
    const lines = annotations.map((one): JsonObject => ({ ...one }));
    const payload = { annotations: { number, commit, lines } };
    return [...deliveries, { destination: PLANS, topic: `annotations ${number}`, payload }];
  }
}

function digestOf(body: string, { state, description, annotations }: PullReport): string {
  const text = JSON.stringify([body, state, description, annotations]);
  return createHash('sha256').update(text).digest('hex');
}
