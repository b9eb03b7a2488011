/** The right of one replica to lead, for a while. Whatever leads carries it. */
import type { Compare } from '../etcd/etcd.ts';

export interface Term {
  /** Grows with every term: the create_revision of the leader's key. */
  readonly number: bigint;
  /** What every transaction of the leader compares, so that one of an older term changes nothing. */
  readonly fence: readonly Compare[];
  /** By our own clock, without asking: look at it before acting on anything outside of etcd. */
  isHeld(): boolean;
  /** Aborted when the term is over. */
  readonly signal: AbortSignal;
}

/** The term is over: somebody else leads, or nobody does yet. */
export class TermEndedError extends Error {
  constructor() {
    super('This replica does not lead any more');
    this.name = 'TermEndedError';
  }
}
