/** Life of one connector, from the first attempt to build it until its last user has released it. */
import { backoffAfter, deferred } from '../../concurrency/index.ts';
import type { AnyConnector } from '../connector.ts';
import { SignInError } from '../sign-in-error.ts';

/** A connector in use. */
export interface ConnectorUse {
  readonly connector: AnyConnector;
  /** Differs after each change of the block: an attempt must end with the connector that began it. */
  readonly generation: number;
  /** Redirect URI at the provider. */
  readonly redirectUri: string;
  release(): void;
}

export interface SlotOptions {
  readonly id: string;
  readonly type: string;
  /** Serialised configuration of the connector. */
  readonly madeFrom: string;
  readonly generation: number;
  readonly redirectUri: string;
  build(): Promise<AnyConnector>;
  warn(message: string): void;
  readonly retryMs?: (tries: number) => number;
}

export interface ConnectorSlot extends Pick<SlotOptions, 'id' | 'type' | 'madeFrom'> {
  readonly problem: string | undefined;
  use(): Promise<ConnectorUse>;
  /**
   * Resolves when all users have released the connector and it is closed; after an abort it is closed in use,
   * which ends requests to the provider. Never rejects.
   */
  close(cut: AbortSignal): Promise<void>;
}

const BACKOFF = { firstMs: 5_000, lastMs: 5 * 60_000 };
/** Time limit for a sign-in to wait for a connector that is being built. */
const BUILD_TIMEOUT_MS = 8_000;

/** Builds the connector at once. */
export function openSlot(options: SlotOptions): ConnectorSlot {
  return new Slot(options);
}

class Slot implements ConnectorSlot {
  readonly #options: SlotOptions;
  #connector: AnyConnector | undefined;
  #problem: string | undefined;
  #building: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #tries = 0;
  #uses = 0;
  #closed = false;
  #unused: (() => void) | undefined;
  readonly #done = new AbortController();

  constructor(options: SlotOptions) {
    this.#options = options;
    this.#try();
  }

  get id(): string {
    return this.#options.id;
  }

  get type(): string {
    return this.#options.type;
  }

  get madeFrom(): string {
    return this.#options.madeFrom;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  async use(): Promise<ConnectorUse> {
    if (this.#connector === undefined) await this.#wait();
    const connector = this.#connector;
    if (connector === undefined || this.#closed) throw this.#unavailable();
    this.#uses += 1;
    let isOver = false;
    const release = (): void => {
      if (isOver) return;
      isOver = true;
      this.#uses -= 1;
      if (this.#uses === 0) this.#unused?.();
    };
    const { generation, redirectUri } = this.#options;
    return { connector, generation, redirectUri, release };
  }

  async close(cut: AbortSignal): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const { promise: ended, resolve } = deferred<void>();
    cut.addEventListener('abort', () => resolve(), { once: true, signal: this.#done.signal });
    await Promise.race([this.#idle(), ended]);
    this.#done.abort();
    await this.#connector?.close?.().catch(() => undefined);
  }

  async #idle(): Promise<void> {
    await this.#building;
    if (this.#uses === 0) return;
    await new Promise<void>((resolve) => {
      this.#unused = resolve;
    });
  }

  async #wait(): Promise<void> {
    if (this.#building === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, BUILD_TIMEOUT_MS);
    });
    await Promise.race([this.#building, late]);
    clearTimeout(timer);
  }

  #try(): void {
    this.#tries += 1;
    this.#building = this.#build().finally(() => {
      this.#building = undefined;
    });
  }

  /** Never rejects. */
  async #build(): Promise<void> {
    const { build, warn, retryMs = waitAfter } = this.#options;
    try {
      this.#connector = await build();
      if (this.#problem !== undefined) warn('works now');
      this.#problem = undefined;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      // Log each kind of failure once, not each attempt.
      if (problem !== this.#problem) warn(`cannot be used: ${problem}`);
      this.#problem = problem;
      if (this.#closed) return;
      this.#timer = setTimeout(() => this.#try(), retryMs(this.#tries)).unref();
    }
  }

  #unavailable(): SignInError {
    const why = this.#closed ? 'its configuration changed' : (this.#problem ?? 'it is being built');
    return new SignInError(`connector ${this.id} cannot be used: ${why}`, {
      reason: 'connector-unavailable',
      code: 503,
    });
  }
}

function waitAfter(tries: number): number {
  return backoffAfter(tries, BACKOFF);
}
