/** Next visits of secrets with their own interval. */
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
   * True if a full cycle, which runs every `cycleMs`, includes the secret: its own interval is not
   * longer, or has passed.
   */
  isDue({ id, link }: LinkedSecret, now: number, cycleMs: number): boolean {
    const due = this.#due.get(id);
    if (due === undefined || due.intervalMs !== link.intervalMs) return true;
    return due.intervalMs <= cycleMs || due.at <= now;
  }

  /** Secrets whose interval is shorter than `cycleMs` and has passed. */
  early(now: number, cycleMs: number): string[] {
    const found = [...this.#due].filter(([, due]) => due.intervalMs < cycleMs && due.at <= now);
    return found.map(([id]) => id);
  }

  /** Time of the next visit between cycles; Infinity: none. */
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
