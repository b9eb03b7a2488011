/**
 * Transactions that happen once and in order, although it is not always known whether one happened.
 * Each of them moves one key, the head, on from where the last one left it. One that was delayed on
 * its way finds the head elsewhere and changes nothing, so asking again is safe: where the head names
 * the step already, it has happened.
 */
import { randomUUID } from 'node:crypto';
import { type Compare, type Etcd, EtcdError, type Operation } from '../../../etcd/index.ts';
import { type Deferred, deferred } from '../../deferred.ts';
import { StateError } from '../../state-error.ts';
import type { Layout } from './layout.ts';

/** Operations of one transaction; to be given again as it is until it has happened. */
export interface Step {
  readonly operations: readonly Operation[];
  /** Given to it with the first attempt. */
  marker?: string;
}

export interface ChainOptions {
  readonly etcd: Etcd;
  readonly layout: Layout;
  /** What must hold for whoever writes here. */
  readonly fence: readonly Compare[];
  /** Says that it does not hold any more. */
  ended(): Error;
}

export class Chain {
  readonly #options: ChainOptions;
  readonly #session = randomUUID();
  #count = 0;
  /** Of the head, as we left it. */
  #revision = 0n;
  /** Of a step that may have happened, as far as is known. */
  #underWay: Deferred<bigint> | undefined;

  /** Takes the head over: whatever is still on its way from others changes nothing from now on. */
  static async claim(options: ChainOptions): Promise<Chain> {
    const chain = new Chain(options);
    const step: Step = { operations: [] };
    for (;;) {
      const { kvs } = await options.etcd.range({ key: options.layout.head });
      chain.#revision = kvs[0]?.modRevision ?? 0n;
      try {
        if (await chain.#happened(step)) return chain;
      } catch (error) {
        if (!(error instanceof EtcdError && error.unknown)) throw error;
      }
    }
  }

  private constructor(options: ChainOptions) {
    this.#options = options;
  }

  /**
   * Whatever anybody may have seen of this chain before the call is in this revision. Waits for the
   * step that is under way, for as long as that takes.
   */
  seen(): bigint | Promise<bigint> {
    return this.#underWay?.promise ?? this.#revision;
  }

  /** A name that no other run has for anything. */
  newId(): string {
    return `${this.#session}-${++this.#count}`;
  }

  /**
   * Rejects with EtcdError when it is not known to have happened; with what `ended` says, or
   * StateError, when nothing will happen here any more.
   */
  async commit(step: Step): Promise<void> {
    this.#underWay ??= deferred();
    if (await this.#happened(step)) {
      this.#underWay.resolve(this.#revision);
      this.#underWay = undefined;
      return;
    }
    const { layout, etcd } = this.#options;
    throw new StateError(
      `the state in ${etcd.place} below ${layout.prefix} is written by another gitplane, too; give each a prefix of its own (--etcd-prefix)`,
    );
  }

  /** False: somebody else has moved the head. */
  async #happened(step: Step): Promise<boolean> {
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
