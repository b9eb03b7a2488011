/**
 * Chooses the bases of deltas between versions of trees, as a skip list: version 8 of a tree is a delta
 * against version 0, and so is version 64, so that a reader applies few deltas and a delta covers few
 * edits. Versions are only added: no older one changes with a newer one.
 */
import { composeDeltas } from './delta.ts';

/** A reader of a version applies at most `(RADIX - 1) * LEVELS` = 35 deltas; git itself makes chains of 50. */
const RADIX = 8;
const LEVELS = 5;
const MAX_VERSIONS = RADIX ** LEVELS;

interface Version {
  /** Number of versions since the one that is stored whole. */
  readonly index: number;
  /** Undefined: it is stored whole. */
  readonly stored: StoredDelta | undefined;
}

export interface StoredDelta {
  readonly base: string;
  readonly delta: Buffer;
}

export class DeltaChains {
  readonly #versions = new Map<string, Version>();

  has(id: string): boolean {
    return this.#versions.has(id);
  }

  addWhole(id: string): void {
    this.#versions.set(id, { index: 0, stored: undefined });
  }

  /**
   * Adds a version that is `step` on top of `previous`, and returns the delta to store. Undefined if
   * `previous` is unknown or its chain is full: the version has to be stored whole.
   */
  extend(id: string, previous: string, step: Buffer): StoredDelta | undefined {
    const before = this.#versions.get(previous);
    if (before === undefined || before.index + 1 >= MAX_VERSIONS) return undefined;
    const index = before.index + 1;
    let span = 1;
    while (index % (span * RADIX) === 0) span *= RADIX;
    let base = previous;
    let delta = step;
    let at: Version | undefined = before;
    while (at?.stored !== undefined && at.index > index - span) {
      delta = composeDeltas(at.stored.delta, delta);
      base = at.stored.base;
      at = this.#versions.get(base);
    }
    const stored = { base, delta };
    this.#versions.set(id, { index, stored });
    return stored;
  }
}
