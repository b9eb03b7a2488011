/** Moments at which secrets with an interval of their own are to be visited again. */
import type { LinkedSecret } from './linked-secrets.ts';

interface Due {
  readonly at: number;
  readonly intervalMs: number;
}

export class DueTimes {
  readonly #due = new Map<string, Due>();

  /** Called after the store answered for the secret; `now` in milliseconds since the epoch. */
  visited({ id, link: { intervalMs } }: LinkedSecret, now: number): void {
    if (intervalMs === undefined) this.#due.delete(id);
    else this.#due.set(id, { at: now + intervalMs, intervalMs });
  }

  /**
   * True if a cycle over all secrets, one each `cycleMs`, is about the secret as well: it has no longer
   * interval, or its own has passed.
   */
  isDue({ id, link }: LinkedSecret, now: number, cycleMs: number): boolean {
    const due = this.#due.get(id);
    if (due === undefined || due.intervalMs !== link.intervalMs) return true;
    return due.intervalMs <= cycleMs || due.at <= now;
  }

  /** Secrets whose interval is shorter than `cycleMs`, and has passed. */
  early(now: number, cycleMs: number): string[] {
    const found = [...this.#due].filter(([, due]) => due.intervalMs < cycleMs && due.at <= now);
    return found.map(([id]) => id);
  }

  /** When the next secret is early; Infinity: none will be. */
  nextEarly(cycleMs: number): number {
    const times = [...this.#due.values()].filter(({ intervalMs }) => intervalMs < cycleMs);
    return Math.min(Number.POSITIVE_INFINITY, ...times.map(({ at }) => at));
  }

  forget(id: string): void {
    this.#due.delete(id);
  }

  clear(): void {
    this.#due.clear();
  }
}
