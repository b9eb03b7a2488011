/** Order of the items of a merged list. */
import type { PathElement } from './field-set.ts';

/**
 * The items that both lists have come in the order of `applied`; those that only `live` has keep
 * their places between them, and those that are new follow the one before them.
 */
export function mergedOrder(
  live: readonly PathElement[],
  applied: readonly PathElement[],
): PathElement[] {
  const merge = new OrderedMerge(live, applied);
  while (merge.step());
  return merge.order;
}

class OrderedMerge {
  readonly order: PathElement[] = [];
  readonly #live: readonly PathElement[];
  readonly #applied: readonly PathElement[];
  readonly #isApplied: ReadonlySet<PathElement>;
  readonly #taken = new Set<PathElement>();
  /**
   * Items of both lists that the merge has not taken yet; the first is the next one in the order of
   * `live`.
   */
  readonly #shared: PathElement[];
  #nextLive = 0;
  #nextApplied = 0;

  constructor(live: readonly PathElement[], applied: readonly PathElement[]) {
    this.#live = live;
    this.#applied = applied;
    this.#isApplied = new Set(applied);
    const isLive = new Set(live);
    this.#shared = applied.filter((element) => isLive.has(element));
  }

  /** False: nothing is left. */
  step(): boolean {
    const live = this.#live[this.#nextLive];
    const applied = this.#applied[this.#nextApplied];
    if (live === undefined && applied === undefined) return false;
    if (live !== undefined && applied !== undefined && this.#stepBoth(live, applied)) return true;
    if (live !== undefined && !this.#isApplied.has(live)) {
      this.#take(live);
      this.#nextLive++;
      return true;
    }
    if (live !== undefined && this.#taken.has(live)) this.#nextLive++;
    if (applied !== undefined) {
      this.#take(applied);
      this.#nextApplied++;
      if (this.#shared[0] === applied) this.#shared.shift();
    }
    return true;
  }

  #stepBoth(live: PathElement, applied: PathElement): boolean {
    if (live === applied) {
      this.#take(live);
      this.#nextLive++;
      this.#nextApplied++;
      this.#shared.shift();
      return true;
    }
    const [next] = this.#shared;
    if (!this.#isApplied.has(live) || next === undefined || next === live) return false;
    // It is placed at its position in `applied`.
    this.#nextLive++;
    return true;
  }

  #take(element: PathElement): void {
    this.order.push(element);
    this.#taken.add(element);
  }
}
