/**
 * Checks that the objects of the repository are readable: the newest ones at the start and whenever
 * a pack file disappeared or changed; the whole history slowly, once a day. A commit on top of
 * unreadable objects would hide the damage, so writes are refused until the tip is readable again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BareRepository,
  damageRemedy,
  historyDamage,
  type PackFiles,
  packDamage,
  packFileChanges,
  packFiles,
  tipDamage,
} from '../git/index.ts';
import type { Branch } from '../registry/index.ts';
import type { Logger } from '../telemetry/index.ts';

/**
 * `tip`: the newest commits and all objects of the newest one; `packs`: git ignores a whole pack.
 */
export const REPOSITORY_PARTS = ['tip', 'packs', 'history'] as const;
export type RepositoryPart = (typeof REPOSITORY_PARTS)[number];

/** Without paths and ids: the message is public. */
const WORDS: Readonly<Record<RepositoryPart, string>> = {
  tip: 'objects of the newest commits cannot be read',
  packs: 'a pack cannot be read',
  history: 'objects of the history cannot be read',
};

export interface ObjectIntegrity {
  /** Resolves when the first check is done, or takes longer than a start should. */
  readonly begun: Promise<void>;
  /** Aborts the check in progress. */
  close(): Promise<void>;
}

export interface ObjectIntegrityOptions {
  readonly repository: Pick<BareRepository, 'context' | 'gitDir' | 'head'>;
  readonly branch: Pick<Branch, 'refuseWrites'>;
  readonly observation: {
    report(check: 'repository-objects', problem: string | undefined): void;
    damaged(part: RepositoryPart, isDamaged: boolean): void;
  };
  readonly logger: Logger;
  /** Delay of the first check of the whole history. */
  readonly historyAfterMs?: number;
}

const LOOK_MS = 2_000;
const FIRST_CHECK_MS = 250;
const TIP_MS = 60_000;
const HISTORY_AFTER_MS = 120_000;
const HISTORY_EVERY_MS = 24 * 60 * 60 * 1000;
const HISTORY_MS = 6 * 60 * 60 * 1000;
/** Packs are replaced while git reads them: only a problem found twice is damage. */
const CONFIRM_MS = 300;

export function watchObjects(options: ObjectIntegrityOptions): ObjectIntegrity {
  const watch = new Watch(options);
  return { begun: watch.begun, close: () => watch.close() };
}

class Watch {
  readonly #options: ObjectIntegrityOptions;
  readonly #calledOff = new AbortController();
  readonly #damage = new Map<RepositoryPart, string>();
  readonly begun: Promise<void>;
  #known: PackFiles | undefined;
  #looking: Promise<void>;
  #reading: Promise<void> | undefined;
  #lookTimer: NodeJS.Timeout | undefined;
  #historyTimer: NodeJS.Timeout | undefined;

  constructor(options: ObjectIntegrityOptions) {
    this.#options = options;
    this.#looking = this.#look();
    this.begun = Promise.race([this.#looking, sleep(FIRST_CHECK_MS, undefined, { ref: false })]);
    this.#readHistoryIn(options.historyAfterMs ?? HISTORY_AFTER_MS);
  }

  async close(): Promise<void> {
    this.#calledOff.abort();
    clearTimeout(this.#lookTimer);
    clearTimeout(this.#historyTimer);
    await Promise.all([this.#looking, this.#reading]);
  }

  async #look(): Promise<void> {
    const { repository, logger } = this.#options;
    try {
      const files = await packFiles(repository.gitDir);
      const before = this.#known ?? files;
      const isFirst = this.#known === undefined;
      this.#known = files;
      const { gone, inPlace, added } = packFileChanges(before, files);
      if (isFirst || gone || inPlace || this.#damage.size > 0) await this.#checkNewest();
      const isNews = gone || inPlace || added;
      if (inPlace || (isNews && this.#damage.has('history'))) this.#readHistoryIn(0);
    } catch (err) {
      logger.warn({ err }, 'The objects of the repository were not checked');
    }
    if (this.#calledOff.signal.aborted) return;
    const again = (): void => {
      this.#looking = this.#look();
    };
    this.#lookTimer = setTimeout(again, LOOK_MS).unref();
  }

  async #checkNewest(): Promise<void> {
    const { gitDir } = this.#options.repository;
    await this.#check('tip', () => this.#tipDamage());
    await this.#check('packs', async () => packDamage(gitDir, await packFiles(gitDir)));
  }

  async #tipDamage(): Promise<string | undefined> {
    const { repository } = this.#options;
    const tip = await repository.head();
    const { signal } = this.#calledOff;
    return tip && (await tipDamage(repository.context, tip, { deadlineMs: TIP_MS, signal }));
  }

  async #historyDamage(): Promise<string | undefined> {
    const { repository } = this.#options;
    const tip = await repository.head();
    const { signal } = this.#calledOff;
    return (
      tip && (await historyDamage(repository.context, tip, { deadlineMs: HISTORY_MS, signal }))
    );
  }

  #readHistoryIn(milliseconds: number): void {
    clearTimeout(this.#historyTimer);
    if (this.#calledOff.signal.aborted) return;
    const read = (): void => {
      this.#reading ??= this.#readHistory().finally(() => {
        this.#reading = undefined;
        this.#readHistoryIn(HISTORY_EVERY_MS);
      });
    };
    this.#historyTimer = setTimeout(read, milliseconds).unref();
  }

  async #readHistory(): Promise<void> {
    const { logger } = this.#options;
    const started = performance.now();
    try {
      await this.#check('history', () => this.#historyDamage());
      const milliseconds = Math.round(performance.now() - started);
      logger.debug({ milliseconds }, 'All of history was read');
    } catch (err) {
      logger.warn({ err }, 'The history of the repository was not checked');
    }
  }

  async #check(part: RepositoryPart, run: () => Promise<string | undefined>): Promise<void> {
    const { signal } = this.#calledOff;
    let found = await run();
    if (found !== undefined && !this.#damage.has(part)) {
      await sleep(CONFIRM_MS, undefined, { signal }).catch(() => undefined);
      found = await run();
    }
    if (!signal.aborted) this.#report(part, found);
  }

  #report(part: RepositoryPart, found: string | undefined): void {
    const { repository, branch, observation, logger } = this.#options;
    const wasKnown = this.#damage.has(part);
    if (found === undefined) this.#damage.delete(part);
    else this.#damage.set(part, found);
    observation.damaged(part, found !== undefined);
    const remedy = damageRemedy(repository.gitDir);
    const said = [...this.#damage.keys()].map((name) => WORDS[name]).join('; ');
    observation.report('repository-objects', said === '' ? undefined : said);
    const refusal = `${WORDS.tip}; writes are refused: ${remedy}`;
    branch.refuseWrites(this.#damage.has('tip') ? refusal : undefined);
    if (found !== undefined && !wasKnown) {
      logger.error({ part, reason: found, remedy }, 'The repository is damaged');
    }
    if (found === undefined && wasKnown) logger.info({ part }, 'The repository can be read again');
  }
}
