/**
 * The connection in use and how it stands: why it is not the one that is configured, whether the
 * store answers, and how long it is to be left alone.
 */
import type { Clock } from '../apimachinery/clock.ts';
import type { ObjectKey } from '../apimachinery/key.ts';
import type { Transport } from '../secretsync/store/transport.ts';
import type { Collection } from '../state/store.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { SecretSyncMetrics } from '../telemetry/secret-sync-metrics.ts';
import { ConfiguredStore, type ConfiguredStoreOptions } from './configured-store.ts';
import { StoreConnection } from './connection.ts';
import type { Outage } from './outage.ts';
import type { StoreReport } from './report.ts';
import type { StoreSettings } from './settings.ts';

export interface ConnectedStoreOptions extends ConfiguredStoreOptions {
  readonly metrics: Pick<SecretSyncMetrics, 'requests'>;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random?: () => number;
  /** Absent: HTTP. */
  readonly transport?: (address: string) => Transport;
  /** Called before every request; throws where this process must not act any more. */
  readonly assertMayAct?: (() => void) | undefined;
}

const SHORTEST_PAUSE_MS = 1_000;
/** So that many daemons do not ask as one. */
const JITTER = 0.1;

export class ConnectedStore {
  readonly #options: ConnectedStoreOptions;
  readonly #configured: ConfiguredStore;
  #connection: StoreConnection | undefined;
  #problem: string | undefined;
  #outage: Outage | undefined;
  #requests = 0;

  constructor(options: ConnectedStoreOptions) {
    this.#options = options;
    this.#configured = new ConfiguredStore(options);
  }

  /** Undefined: none is configured. */
  get connection(): StoreConnection | undefined {
    return this.#connection;
  }

  /** Undefined: the store answers, as far as is known. */
  get outage(): Outage | undefined {
    return this.#outage;
  }

  /** Requests so far. */
  get requests(): number {
    return this.#requests;
  }

  /** Where secrets that hold tokens are. */
  get secrets(): Collection {
    return this.#configured.secrets;
  }

  /** The object that holds the token, where one does. */
  tokenKey(): ObjectKey | undefined {
    return this.#configured.tokenKey();
  }

  report(): StoreReport {
    const { current } = this.#configured;
    const connection = this.#connection;
    const isUp = this.#outage === undefined;
    return {
      state: connection === undefined ? 'disabled' : isUp ? 'available' : 'unavailable',
      problem: this.#problem ?? this.#outage?.message,
      warnings: connection?.warnings ?? [],
      address: connection && current?.address,
      namespace: connection && current?.namespace,
      intervalMs: connection && current?.intervalMs,
    };
  }

  /**
   * Uses what is configured now, or goes on with what was, and says why. Returns whether it is
   * another connection than before.
   */
  async reconnect(): Promise<boolean> {
    const { logger } = this.#options;
    const before = this.#problem;
    const { problem, connection } = await this.#configured.follow(this.#connection, (settings) =>
      this.#connect(settings),
    );
    this.#problem = problem;
    if (problem !== undefined && problem !== before) {
      logger.warn({ why: problem }, 'The secret store is not used as configured');
    }
    if (connection === this.#connection) return false;
    this.#connection?.close();
    this.#connection = connection;
    this.#outage = undefined;
    const address = this.#configured.current?.address;
    if (connection !== undefined) logger.info({ address }, 'Secrets are synced with the store');
    else logger.info('Secrets are not synced with a store any more');
    return true;
  }

  #connect(settings: StoreSettings): StoreConnection {
    const { logger, clock, metrics, transport, random } = this.#options;
    return new StoreConnection({
      settings,
      token: () => this.#configured.token(),
      clock,
      random,
      sent: () => {
        this.#options.assertMayAct?.();
        this.#requests += 1;
        metrics.requests.inc();
      },
      warn: (why) => logger.warn({ why }, 'The secret store needs attention'),
      ...(transport && { transport: transport(settings.address) }),
    });
  }

  /** What the newest cycle met. */
  noteOutage(outage: Outage | undefined): void {
    const { logger } = this.#options;
    if (outage !== undefined && this.#outage === undefined) {
      const why = outage.message;
      logger.warn({ why }, 'The secret store does not answer; the last good values stay');
    } else if (outage === undefined && this.#outage !== undefined) {
      logger.info('The secret store answers again');
    }
    this.#outage = outage;
  }

  /**
   * Milliseconds until the next cycle: after a failure as long as the store wants to be left alone,
   * else the interval.
   */
  get pauseMs(): number {
    const { random = Math.random } = this.#options;
    const pauseMs = this.#connection?.client.pauseMs ?? 0;
    const interval = this.#configured.current?.intervalMs ?? 60_000;
    if (this.#outage !== undefined) {
      const wait = pauseMs > 0 ? pauseMs : interval;
      return Math.max(SHORTEST_PAUSE_MS, wait);
    }
    return interval * (1 + JITTER * (2 * random() - 1));
  }

  close(): void {
    this.#connection?.close();
  }
}
