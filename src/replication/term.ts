/** The right of one replica to lead, for a while. Whatever leads carries it. */
import { StatusError } from '../apimachinery/index.ts';
import type { Compare } from '../etcd/index.ts';

export interface Term {
  /** Grows with every term: the create_revision of the leader's key. */
  readonly number: bigint;
  /** What every transaction of the leader compares, so that one of an older term changes nothing. */
  readonly fence: readonly Compare[];
  /** By our own clock, without asking: look at it before acting on anything outside of etcd. */
  isHeld(): boolean;
  /** Aborted when the term is over. */
  readonly signal: AbortSignal;
  /** Ends the term for this replica at once. */
  end(): void;
}

/** To be called right before acting on anything outside of etcd. Throws TermEndedError. */
export function assertHeld(term: Term | undefined): void {
  if (term?.isHeld() === false) throw new TermEndedError();
}

/** The term is over: somebody else leads, or nobody does yet. Clients are told to try again. */
export class TermEndedError extends StatusError {
  constructor() {
    const message = 'This replica does not lead any more; please try again';
    super(503, 'ServiceUnavailable', message, { retryAfterSeconds: 1 });
    this.name = 'TermEndedError';
  }
}
