/** Log lines while a step, such as a part of a start, takes long: its progress. */
import { Progress, type ProgressState } from '../concurrency/index.ts';
import type { Logger } from './logger.ts';

const SLOW_AFTER_MS = 5_000;

export class SlowSteps {
  readonly progress = new Progress();
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #what: string;
  readonly #afterMs: number;
  #timer: NodeJS.Timeout | undefined;

  /** `what`: a gerund, as in "Taking over". */
  constructor(logger: Pick<Logger, 'warn'>, what: string, afterMs = SLOW_AFTER_MS) {
    this.#logger = logger;
    this.#what = what;
    this.#afterMs = afterMs;
  }

  /** Ends the step before. */
  begin(...step: Parameters<Progress['begin']>): void {
    clearInterval(this.#timer);
    this.progress.begin(...step);
    this.#timer = setInterval(() => this.#log(), this.#afterMs).unref();
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
  }
}

function countsOf({ unit, counter }: NonNullable<ProgressState['counted']>): object {
  const { done, total, perSecond } = counter;
  const rate = perSecond === undefined ? {} : { perSecond: Math.round(perSecond) };
  return { unit, done, ...(total === undefined ? {} : { total }), ...rate };
}
