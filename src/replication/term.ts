/** The right of one replica to lead for a limited time. */
import { StatusError } from '../apimachinery/index.ts';
import type { Compare } from '../etcd/index.ts';

export interface Term {
  /** Grows with every term: the create_revision of the leader key. */
  readonly number: bigint;
  /** Compared by every transaction of the leader, so that an older term changes nothing. */
  readonly fence: readonly Compare[];
  /** By the local clock, without a request: check it before acting on anything outside etcd. */
  isHeld(): boolean;
  /** Aborted when the term is over. */
  readonly signal: AbortSignal;
  /** Ends the term for this replica at once. */
  end(): void;
}

/** Called right before acting on anything outside etcd. Throws TermEndedError. */
export function assertHeld(term: Term | undefined): void {
  if (term?.isHeld() === false) throw new TermEndedError();
}

/** The term is over: another replica leads, or none yet. Clients are asked to retry. */
export class TermEndedError extends StatusError {
  constructor() {
    const message = 'This replica is no longer the leader; try again';
    super(503, 'ServiceUnavailable', message, { retryAfterSeconds: 1 });
    this.name = 'TermEndedError';
  }
}
