/**
 * Order in which a cycle visits secrets. A store with a quota may take longer than a cycle for all of them: the
 * next cycle goes on with those whose newest visit is the oldest.
 */
import type { LinkedSecret } from './linked-secrets.ts';

interface Visit {
  readonly number: number;
  readonly generation: number;
  readonly link: string;
}

export class VisitOrder {
  readonly #visits = new Map<string, Visit>();
  #count = 0;

  /** Called after the store was read for the secret. */
  visited({ id, generation, link }: LinkedSecret): void {
    this.#count += 1;
    this.#visits.set(id, { number: this.#count, generation, link: JSON.stringify(link) });
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
    const number = ({ id }: LinkedSecret): number => this.#visits.get(id)?.number ?? 0;
    return [...secrets].sort((a, b) => number(a) - number(b));
  }

  forget(id: string): void {
    this.#visits.delete(id);
  }
}
