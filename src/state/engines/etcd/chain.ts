/**
 * Transactions that are applied exactly once and in order, although the result of one may be
 * unknown. Each of them moves one key, the head. A delayed transaction finds the head changed and
 * does nothing. So retrying is safe: if the head already names the step, it was applied.
 */

import { randomUUID } from 'node:crypto';
import { type Deferred, deferred } from '../../../concurrency/index.ts';
import { type Compare, type Etcd, EtcdError, type Operation } from '../../../etcd/index.ts';
import { StateError } from '../../state-error.ts';
import type { Layout } from './layout.ts';

/** Operations of one transaction; retried unchanged until it is applied. */
export interface Step {
  readonly operations: readonly Operation[];
  /** Assigned with the first attempt. */
  marker?: string;
}

export interface ChainOptions {
  readonly etcd: Etcd;
  readonly layout: Layout;
  /** Conditions that must hold for this writer. */
  readonly fence: readonly Compare[];
  /** The error when they no longer hold. */
  ended(): Error;
}

export class Chain {
  readonly #options: ChainOptions;
  readonly #session = randomUUID();
  #count = 0;
  /** Revision of the head after the last step. */
  #revision = 0n;
  /** The pending result of a step that may have been applied. */
  #pending: Deferred<bigint> | undefined;

  /** Takes over the head: in-flight transactions of other writers have no effect from now on. */
  static async takeOver(options: ChainOptions): Promise<Chain> {
    const chain = new Chain(options);
    const step: Step = { operations: [] };
    for (;;) {
      const { kvs } = await options.etcd.range({ key: options.layout.head });
      chain.#revision = kvs[0]?.modRevision ?? 0n;
      try {
        if (await chain.#isApplied(step)) return chain;
      } catch (error) {
        if (!(error instanceof EtcdError && error.unknown)) throw error;
      }
    }
  }

  private constructor(options: ChainOptions) {
    this.#options = options;
  }

  /**
   * A revision that includes everything a client may have seen of this chain before the call. Waits
   * for the step in flight, however long that takes.
   */
  seenRevision(): bigint | Promise<bigint> {
    return this.#pending?.promise ?? this.#revision;
  }

  /** An id that no other run uses. */
  newId(): string {
    return `${this.#session}-${++this.#count}`;
  }

  /**
   * Rejects with EtcdError if the result is unknown, and with StateError or the error of `ended` if
   * this writer must stop.
   */
  async commit(step: Step): Promise<void> {
    this.#pending ??= deferred();
    if (await this.#isApplied(step)) {
      this.#pending.resolve(this.#revision);
      this.#pending = undefined;
      return;
    }
    const { layout, etcd } = this.#options;
    throw new StateError(
      `the state in ${etcd.place} below ${layout.prefix} is also written by another gitplane; give each its own prefix (--etcd-prefix)`,
    );
  }

  /** False if another process has moved the head. */
  async #isApplied(step: Step): Promise<boolean> {
    const { etcd, layout, fence, ended } = this.#options;
    step.marker ??= this.newId();
    const { succeeded, revision, ranges } = await etcd.txn({
      compare: [...fence, { key: layout.head, modRevision: this.#revision }],
      operations: [...step.operations, { put: layout.head, value: Buffer.from(step.marker) }],
      otherwise: [{ range: { key: layout.head } }],
    });
    if (succeeded) {
      this.#revision = revision;
      return true;
    }
    const head = ranges[0]?.kvs[0];
    if (head?.value.toString() === step.marker) {
      this.#revision = head.modRevision;
      return true;
    }
    const isOurs = (head?.modRevision ?? 0n) === this.#revision;
    if (isOurs || fence.length > 0) throw ended();
    return false;
  }
}
