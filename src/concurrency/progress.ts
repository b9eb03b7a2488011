/** Count and rate of long work, for logs, terminals and health checks. */

/** Counts things that are done. The work itself updates it. */
export class Counter {
  #done = 0;
  #total: number | undefined;
  #begun: number | undefined;

  get done(): number {
    return this.#done;
  }

  /** Undefined: not known. */
  get total(): number | undefined {
    return this.#total === undefined ? undefined : Math.max(this.#total, this.#done);
  }

  /** Things per second since the first one; undefined: not known yet. */
  get perSecond(): number | undefined {
    if (this.#begun === undefined) return undefined;
    const seconds = (performance.now() - this.#begun) / 1000;
    return seconds < MIN_SECONDS ? undefined : this.#done / seconds;
  }

  /** There are at least so many things in all. */
  expect(total: number): void {
    this.#total = Math.max(this.#total ?? 0, total);
  }

  advance(by = 1): void {
    this.#begun ??= performance.now();
    this.#done += by;
  }
}

/** A rate from less time says nothing. */
const MIN_SECONDS = 0.5;

export interface ProgressState {
  /** Part of the work, as in "reading the branch". */
  readonly step: string;
  /** Since the step began. */
  readonly seconds: number;
  /** Absent: nothing is counted in this step. */
  readonly counted?: {
    /** As in "files". */
    readonly unit: string;
    readonly counter: Counter;
  };
}

/** The step that is in progress. */
export class Progress {
  #current: Omit<ProgressState, 'seconds'> | undefined;
  #begun = 0;

  /** Ends the step before. */
  begin(step: string, counted?: ProgressState['counted']): void {
    this.#begun = performance.now();
    this.#current = { step, ...(counted && { counted }) };
  }

  end(): void {
    this.#current = undefined;
  }

  /** Undefined: no step is in progress. */
  get state(): ProgressState | undefined {
    if (this.#current === undefined) return undefined;
    return { ...this.#current, seconds: (performance.now() - this.#begun) / 1000 };
  }
}

/** As in "reading the branch: 41,000 of 100,000 files, 2,310/s, 26 s left". */
export function describeProgress({ step, seconds, counted }: ProgressState): string {
  if (counted === undefined || (counted.counter.done === 0 && !counted.counter.total)) {
    return `${step}, for ${Math.round(seconds)} s`;
  }
  const { done, total, perSecond } = counted.counter;
  const of = total === undefined ? '' : ` of ${number(total)}`;
  const parts = [`${step}: ${number(done)}${of} ${counted.unit}`];
  if (perSecond !== undefined) parts.push(`${number(perSecond)}/s`);
  if (perSecond && total !== undefined && total > done) {
    parts.push(`${number(Math.ceil((total - done) / perSecond))} s left`);
  }
  return parts.join(', ');
}

function number(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** Standard error, usually. */
export interface ProgressStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** Short work shows nothing. */
const TERMINAL_EVERY_MS = 500;
const LINES_EVERY_MS = 5_000;
const CLEAR_LINE = '\r\u001B[K';

/**
 * Runs the work of a command and shows its progress: one line that is rewritten on a terminal, else a
 * line every five seconds.
 */
export async function showProgress<T>(
  progress: Progress,
  stream: ProgressStream,
  work: () => Promise<T>,
): Promise<T> {
  const isTerminal = stream.isTTY === true;
  const show = (): void => {
    const { state } = progress;
    if (state === undefined) return;
    const line = describeProgress(state);
    stream.write(isTerminal ? `${CLEAR_LINE}${line}` : `${line}\n`);
  };
  const timer = setInterval(show, isTerminal ? TERMINAL_EVERY_MS : LINES_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (isTerminal) stream.write(CLEAR_LINE);
  }
}
