/**
 * Pulls of whole paths: for each secret below the path without a linked object, a linked object is
 * created with the values of the store. From then on it is synced like any other. A listing only
 * creates objects and never changes or deletes one, so an empty, truncated or refused listing is
 * harmless.
 */

import { parseGoDuration } from '../apimachinery/index.ts';
import type { StoreConnection } from './connection.ts';
import { type PathPullsOptions, type PullConfig, type PullReport, PullRun } from './pull-run.ts';

interface Known {
  readonly config: string;
  readonly at: number;
  readonly report: PullReport;
}

interface Options extends PathPullsOptions {
  /** As it is now: it may change while a run waits for the one before. */
  readonly configuration: () => { readonly pulls?: readonly PullConfig[] } | undefined;
  /** Reports the reason why pulls left secrets out; undefined: none did. */
  readonly pullsIncomplete?: ((why: string | undefined) => void) | undefined;
}

/** Runs beside the cycles of the store and does not delay them. One run at a time. */
export class PathPulls {
  readonly #options: Options;
  readonly #known = new Map<string, Known>();
  #running: Promise<void> = Promise.resolve();
  #isRunning = false;

  constructor(options: Options) {
    this.#options = options;
  }

  get reports(): PullReport[] {
    return [...this.#known.values()].map(({ report }) => report);
  }

  /** Resolves after the newest run. Never rejects. */
  get settled(): Promise<void> {
    return this.#running;
  }

  /** Drops the reports after the newest run: the store was removed from the configuration. */
  async clear(): Promise<void> {
    await this.#running;
    this.#known.clear();
    this.#options.pullsIncomplete?.(undefined);
  }

  /**
   * Resolves after the run. `isAsked`: a user requested it, so it ignores the intervals; another run
   * is skipped while one is active. Never rejects.
   */
  run(connection: StoreConnection, isAsked: boolean): Promise<void> {
    if (this.#isRunning && !isAsked) return this.#running;
    const { configuration, logger } = this.#options;
    this.#isRunning = true;
    const run: Promise<void> = this.#running
      .then(() => this.#runAll(connection, configuration()?.pulls ?? [], isAsked))
      .catch((err: unknown) => logger.error({ err }, 'The pulls of paths failed'))
      .finally(() => {
        if (this.#running === run) this.#isRunning = false;
        const why = this.reports.flatMap((report) => whyIncomplete(report) ?? []);
        this.#options.pullsIncomplete?.(why.length === 0 ? undefined : why.join('; '));
      });
    this.#running = run;
    return run;
  }

  async #runAll(
    connection: StoreConnection,
    pulls: readonly PullConfig[],
    isAsked: boolean,
  ): Promise<void> {
    const names = new Set(pulls.map(({ name }) => name));
    for (const name of [...this.#known.keys()]) if (!names.has(name)) this.#known.delete(name);
    for (const pull of pulls) {
      if (this.#options.isStopping()) return;
      if (isAsked || this.#isDue(pull)) await this.#runOne(connection, pull);
    }
  }

  #isDue(pull: PullConfig): boolean {
    const known = this.#known.get(pull.name);
    if (known === undefined || known.config !== JSON.stringify(pull)) return true;
    const interval = parseGoDuration(pull.interval ?? '0s') ?? 0;
    return this.#options.clock.now() >= known.at + interval;
  }

  async #runOne(connection: StoreConnection, pull: PullConfig): Promise<void> {
    const { name, clock, logger } = this.#options;
    const before = this.#known.get(pull.name)?.report;
    const run = new PullRun(this.#options, { connection, pull, before });
    const report = await run.report();
    if (this.#options.isStopping()) return;
    this.#known.set(pull.name, { config: JSON.stringify(pull), at: clock.now(), report });
    const why = whyIncomplete(report);
    if (why === undefined || (before && why === whyIncomplete(before))) return;
    logger.warn(
      { store: name, pull: pull.name, why },
      'A path of the secret store is not pulled completely',
    );
  }
}

/** Undefined: every secret has an object. */
function whyIncomplete({ name, place, problem, refused }: PullReport): string | undefined {
  if (problem !== undefined)
    return `pull ${name} of ${place}: ${problem.reason}: ${problem.message}`;
  const [first] = refused;
  if (first === undefined) return undefined;
  const others = refused.length > 1 ? `, and ${refused.length - 1} others` : '';
  return `pull ${name} of ${place}: ${first.reason}: ${first.message}${others}`;
}
