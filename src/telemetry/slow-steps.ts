/** Warnings in the log while a step, such as a start, takes long. */
import type { Logger } from './logger.ts';

const SLOW_AFTER_MS = 5_000;

export class SlowSteps {
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
  begin(step: string): void {
    this.end();
    const begun = performance.now();
    const tell = (): void => {
      const seconds = Math.round((performance.now() - begun) / 1000);
      this.#logger.warn({ step, seconds }, `${this.#what} takes long`);
    };
    this.#timer = setInterval(tell, this.#afterMs).unref();
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
