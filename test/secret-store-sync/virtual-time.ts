/** Time that passes only while the pace of requests waits, so that a minute of requests takes no minute. */
import type { Timing } from '../../src/secret-store-sync/paced-transport.ts';

export class VirtualTime implements Timing {
  /** Milliseconds. */
  passed = 0;

  now(): number {
    return this.passed;
  }

  /** Answers that are there already are handled first, as they are in a real pause. */
  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    this.passed += ms;
  }
}
