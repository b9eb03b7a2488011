/**
 * Order in which a cycle visits secrets. A store with a quota may need more time than one cycle for
 * all of them. The next cycle continues with the oldest visits, and a restart with the secrets
 * after the last one that the previous process visited.
 */
import type { LinkedSecret } from './linked-secrets.ts';

interface Visit {
  readonly number: number;
  readonly generation: number;
  readonly link: string;
}

/** Id of a recently visited secret, which survives a restart; not necessarily the last one. */
export interface VisitCursor {
  load(): string | undefined;
  save(id: string): void;
}

/** Interval between saves: a killed process repeats the visits after the last one. */
const SAVED_EACH_MS = 1_000;

export class VisitOrder {
  readonly #visits = new Map<string, Visit>();
  readonly #cursor: VisitCursor;
  #count = 0;
  /** The last regular visit that is not saved. */
  #last: string | undefined;
  #savedAt = Number.NEGATIVE_INFINITY;

  constructor(cursor: VisitCursor) {
    this.#cursor = cursor;
  }

  /**
   * Called after the store was read for the secret; `isRegular`: false if a change in git moved the
   * visit forward.
   */
  visited({ id, generation, link }: LinkedSecret, isInTurn: boolean): void {
    this.#count += 1;
    this.#visits.set(id, { number: this.#count, generation, link: JSON.stringify(link) });
    if (!isInTurn) return;
    this.#last = id;
    if (performance.now() - this.#savedAt >= SAVED_EACH_MS) this.save();
  }

  /** Also called at the end of a cycle. */
  save(): void {
    this.#savedAt = performance.now();
    if (this.#last !== undefined) this.#cursor.save(this.#last);
    this.#last = undefined;
  }

  /** True if git changed the secret since its last visit, or there was none. */
  isChanged(secret: LinkedSecret): boolean {
    return this.isRelinked(secret) || this.#visits.get(secret.id)?.generation !== secret.generation;
  }

  /** True if the last visit was for another place or policy, or there was none. */
  isRelinked({ id, link }: LinkedSecret): boolean {
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
