/**
 * Tips of the branch to offer to pushers: each of the newest ones, and fewer the older they are. A
 * client whose base is n commits old finds an offered commit at most a tenth of n further back, so its
 * pack stays small.
 */
import { gitLines } from '../process/git-process.ts';

/** Each of this many newest commits is offered. */
const EVERY = 64;
/** Beyond these, the distance between two offered commits grows by this factor. */
const GROWTH = 1.1;
/** Commits that are read at most at a time. */
const MAX_READ = 50_000;

interface Tip {
  readonly id: string;
  /** Number in the order of the branch, from an arbitrary start. */
  readonly at: number;
}

export class NewestTips {
  readonly #gitDir: string;
  /** Newest first. */
  #tips: readonly Tip[] = [];
  #reading: Promise<void> = Promise.resolve();

  constructor(gitDir: string) {
    this.#gitDir = gitDir;
  }

  /** Tips of the branch whose head is `head`, newest first. */
  async at(head: string | undefined): Promise<readonly string[]> {
    if (head === undefined) return [];
    this.#reading = this.#reading.then(() => this.#extend(head)).catch(() => undefined);
    await this.#reading;
    return this.#tips.map(({ id }) => id);
  }

  async #extend(head: string): Promise<void> {
    const [newest] = this.#tips;
    if (newest?.id === head) return;
    const limit = ['--first-parent', `--max-count=${MAX_READ}`];
    const args = ['rev-list', ...limit, head, ...(newest === undefined ? [] : [`^${newest.id}`])];
    const added: string[] = [];
    for await (const line of gitLines({ gitDir: this.#gitDir }, args)) added.push(line.trimEnd());
    const top = (newest?.at ?? 0) + added.length;
    const tips = added.map((id, i): Tip => ({ id, at: top - i }));
    this.#tips = thinned([...tips, ...this.#tips]);
  }
}

/** Keeps every recent tip, and of the older ones those that are far enough from the one before. */
function thinned(tips: readonly Tip[]): Tip[] {
  const top = tips[0]?.at ?? 0;
  let next = 0;
  return tips.filter(({ at }) => {
    const distance = top - at;
    if (distance < next) return false;
    next = distance < EVERY ? distance + 1 : distance * GROWTH;
    return true;
  });
}
