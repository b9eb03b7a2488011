/** Reasons why the ends of a sync cannot be read, by end. */
import type { ApiFailure } from '../kubernetes-client/index.ts';
import type { SyncSummary } from './object-states.ts';

export class ClusterProblems {
  readonly #problems = new Map<string, ApiFailure>();

  get any(): boolean {
    return this.#problems.size > 0;
  }

  /** True if it was a problem until now. */
  recovered(end: string): boolean {
    return this.#problems.delete(end);
  }

  /** True if the message is new. */
  add(end: string, failure: ApiFailure): boolean {
    const before = this.#problems.get(end);
    this.#problems.set(end, failure);
    return before?.message !== failure.message;
  }

  /** Adds the problems to a summary; a failed object takes precedence. */
  onto(summary: SyncSummary, isRead: boolean): SyncSummary {
    const [problem] = this.#problems;
    if (problem !== undefined && summary.state !== 'Failed') {
      const [end, failure] = problem;
      const message = `the ${end} cannot be read: ${failure.message}`;
      return { ...summary, state: 'Stale', reason: failure.reason, message };
    }
    if (isRead || problem !== undefined) return summary;
    const message = 'the clusters are being read';
    return { ...summary, state: 'Stale', reason: 'Starting', message };
  }
}
