/**
 * Tips of the branch to offer to pushers: each of the newest ones, fewer the older they are, and the
 * oldest one. A client whose base is n commits old finds an offered commit at most a tenth of n further
 * back, so its pack stays small. Commits that the newest merges brought in are offered too: they are the
 * base of a client that pushes again without a pull.
 */
import type { AncestryCache } from '../reading/ancestry-cache.ts';

/** Each of this many newest commits is offered. */
const EVERY = 64;
/** Beyond these, an offered commit is at most this factor further away than the one before. */
const GROWTH = 1.1;
/** Number of the newest merged commits that are offered. */
const MERGED = 64;

interface Tip {
  readonly id: string;
  /** Number in the order of the branch, from an arbitrary start. */
  readonly at: number;
}

export class NewestTips {
  readonly #ancestry: AncestryCache;
  /** Newest first. */
  #tips: readonly Tip[] = [];
  /** Newest first. */
  #merged: readonly string[] = [];
  #reading: Promise<void> = Promise.resolve();

  constructor(ancestry: AncestryCache) {
    this.#ancestry = ancestry;
  }

  /** Tips of the branch whose head is `head`, newest first, and the commits that its merges brought in. */
  async at(head: string | undefined): Promise<readonly string[]> {
    if (head === undefined) return [];
    this.#reading = this.#reading.then(() => this.#extend(head)).catch(() => undefined);
    await this.#reading;
    return [...this.#tips.map(({ id }) => id), ...this.#merged];
  }

  async #extend(head: string): Promise<void> {
    const [newest] = this.#tips;
    if (newest?.id === head) return;
    const added: string[] = [];
    const merged: string[] = [];
    for (const commit of await this.#ancestry.line(head, newest?.id)) {
      added.push(commit.id);
      if (merged.length < MERGED) merged.push(...commit.merged);
    }
    const top = (newest?.at ?? 0) + added.length;
    const tips = added.map((id, i): Tip => ({ id, at: top - i }));
    this.#tips = thinned([...tips, ...this.#tips]);
    this.#merged = [...merged, ...this.#merged].slice(0, MERGED);
  }
}

/** Drops an older tip if those on both sides of it are near each other. The oldest one stays. */
function thinned(tips: readonly Tip[]): Tip[] {
  const top = tips[0]?.at ?? 0;
  let kept = 0;
  return tips.filter(({ at }, i) => {
    const distance = top - at;
    const older = tips[i + 1];
    const isDropped = distance >= EVERY && older !== undefined && top - older.at <= kept * GROWTH;
    if (!isDropped) kept = distance;
    return !isDropped;
  });
}
