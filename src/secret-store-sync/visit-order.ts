/**
 * Order in which a cycle visits secrets. A store with a quota may take longer than a cycle for all of them: the
 * next cycle goes on with those whose newest visit is the oldest, and a start with those that follow the
 * last one that the process before visited.
 */
import type { LinkedSecret } from './linked-secrets.ts';

interface Visit {
  readonly number: number;
  readonly generation: number;
  readonly link: string;
}

/** Id of a secret that was visited lately, which outlives the process; it need not be the very last one. */
export interface VisitCursor {
  load(): string | undefined;
  save(id: string): void;
}

/** A killed process visits again what came after. */
const SAVED_EACH_MS = 1_000;

export class VisitOrder {
  readonly #visits = new Map<string, Visit>();
  readonly #cursor: VisitCursor;
  #count = 0;
  /** The newest visit in its turn that is not saved. */
  #last: string | undefined;
  #savedAt = Number.NEGATIVE_INFINITY;

  constructor(cursor: VisitCursor) {
    this.#cursor = cursor;
  }

  /** Called after the store was read for the secret; `isInTurn`: not earlier because git changed it. */
  visited({ id, generation, link }: LinkedSecret, isInTurn: boolean): void {
    this.#count += 1;
    this.#visits.set(id, { number: this.#count, generation, link: JSON.stringify(link) });
    if (!isInTurn) return;
    this.#last = id;
    if (performance.now() - this.#savedAt >= SAVED_EACH_MS) this.save();
  }

  /** Called when a cycle ends as well. */
  save(): void {
    this.#savedAt = performance.now();
    if (this.#last !== undefined) this.#cursor.save(this.#last);
    this.#last = undefined;
  }

  /** True if git changed the secret since its newest visit, or there was none. */
  isChanged(secret: LinkedSecret): boolean {
    return this.isTiedAnew(secret) || this.#visits.get(secret.id)?.generation !== secret.generation;
  }

  /** True if the newest visit was to another place or under another policy, or there was none. */
  isTiedAnew({ id, link }: LinkedSecret): boolean {
    return this.#visits.get(id)?.link !== JSON.stringify(link);
  }

  oldestFirst(secrets: readonly LinkedSecret[]): LinkedSecret[] {
    const last = this.#cursor.load() ?? '';
    const atStart = (id: string): number => (id > last ? -1 : 0);
    const number = ({ id }: LinkedSecret): number => this.#visits.get(id)?.number ?? atStart(id);
    return [...secrets].sort((a, b) => number(a) - number(b));
  }

  forget(id: string): void {
    this.#visits.delete(id);
  }
}
