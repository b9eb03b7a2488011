/**
 * Findings of one cycle, published as soon as they are final: a cycle may take long under a low
 * quota.
 */
import type { Finding } from './conditions.ts';
import type { LinkedSecret, StoreSecrets } from './linked-secrets.ts';
import type { SyncPublisher } from './publisher.ts';

export class Findings {
  readonly #linked: StoreSecrets;
  readonly #publisher: SyncPublisher;
  readonly #writes = new Set<Promise<void>>();
  /** Keys that the cycle wrote. */
  pulled = 0;
  pushed = 0;

  constructor(linked: StoreSecrets, publisher: SyncPublisher) {
    this.#linked = linked;
    this.#publisher = publisher;
  }

  add(secret: LinkedSecret, finding: Finding): void {
    if (finding.is === 'outcome') {
      this.pulled += finding.outcome.pulled;
      this.pushed += finding.outcome.pushed;
    }
    // A deleted secret has no status.
    if (this.#linked.get(secret.id) === undefined) return;
    const write = this.#publisher
      .publish([secret], new Map([[secret.id, finding]]))
      .finally(() => this.#writes.delete(write));
    this.#writes.add(write);
  }

  /** Resolves when every added finding is published. */
  async published(): Promise<void> {
    await Promise.all(this.#writes);
  }
}
