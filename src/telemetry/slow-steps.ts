/** Log lines while a step, such as a part of a start, takes long: its progress. */
import { Progress, type ProgressState } from '../concurrency/index.ts';
import type { Logger } from './logger.ts';

const SLOW_AFTER_MS = 5_000;

export interface SlowStepsOptions {
  readonly afterMs?: number;
  /** Time without progress: no further step began, and the count of the step did not advance. */
  readonly stallMs?: number;
  readonly onStall?: (state: ProgressState) => void;
}

export class SlowSteps {
  readonly progress = new Progress();
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #what: string;
  readonly #options: SlowStepsOptions;
  #advanced = { done: 0, seconds: 0 };
  #timer: NodeJS.Timeout | undefined;

  /** `what`: a gerund, as in "Taking over". */
  constructor(logger: Pick<Logger, 'warn'>, what: string, options: SlowStepsOptions = {}) {
    this.#logger = logger;
    this.#what = what;
    this.#options = options;
  }

  /** Ends the step before. */
  begin(...step: Parameters<Progress['begin']>): void {
    clearInterval(this.#timer);
    this.progress.begin(...step);
    this.#advanced = { done: step[1]?.counter.done ?? 0, seconds: 0 };
    this.#timer = setInterval(() => this.#log(), this.#options.afterMs ?? SLOW_AFTER_MS).unref();
  }

  end(): void {
    clearInterval(this.#timer);
    this.progress.end();
  }

  #log(): void {
    const { state } = this.progress;
    if (state === undefined) return;
    const { step, seconds, counted } = state;
    const fields = { step, seconds: Math.round(seconds), ...(counted && countsOf(counted)) };
    this.#logger.warn(fields, `${this.#what} takes long`);
    const { stallMs = Number.POSITIVE_INFINITY, onStall } = this.#options;
    const done = counted?.counter.done ?? 0;
    if (done !== this.#advanced.done) this.#advanced = { done, seconds };
    else if ((seconds - this.#advanced.seconds) * 1000 >= stallMs) onStall?.(state);
  }
}

function countsOf({ unit, counter }: NonNullable<ProgressState['counted']>): object {
  const { done, total, perSecond } = counter;
  const rate = perSecond === undefined ? {} : { perSecond: Math.round(perSecond) };
  return { unit, done, ...(total === undefined ? {} : { total }), ...rate };
}
