/**
 * The configured connection and its state: the reason why there is none, whether the store answers,
 * and the delay before the next request.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock, ObjectKey } from '../apimachinery/index.ts';
import type { StoreRequest, Transport } from '../secret-store-client/index.ts';
import { type Preference, StoreError } from '../secrets-merge/index.ts';
import type { Collection } from '../state/index.ts';
import type { Logger, SecretSyncMetrics } from '../telemetry/index.ts';
import {
  ConfiguredStore,
  type ConfiguredStoreOptions,
  type StoreProblem,
} from './configured-store.ts';
import { StoreConnection } from './connection.ts';
import type { Outage } from './outage.ts';
import type { Timing } from './paced-transport.ts';
import type { StoreReport } from './report.ts';
import type { StoreSettings } from './settings.ts';

export interface ConnectedStoreOptions extends ConfiguredStoreOptions {
  readonly metrics: Pick<SecretSyncMetrics, 'requests' | 'refused'>;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random?: () => number;
  /** Absent: HTTP. */
  readonly transport?: (address: string) => Transport;
  /** Clock of the request pace; absent: the system clock. */
  readonly timing?: Timing;
  /** Called before every request; throws if this process must not act any more. */
  readonly assertMayAct?: (() => void) | undefined;
  /**
   * Reports the reason why the configured store is not in use, for the status of the Config;
   * undefined: it is in use.
   */
  readonly notInForce?: ((why: string | undefined) => void) | undefined;
  /** Name of the store, for logs and metrics. */
  readonly name: string;
}

/** Reasons that concern the token, whatever the store answered before. */
const OF_TOKENS = new Set(['TokenMissing', 'TokenInvalid', 'LoginRefused', 'FileUnreadable']);

const DEFAULT_INTERVAL_MS = 60_000;
const SHORTEST_PAUSE_MS = 1_000;
const REFUSAL_LOG_INTERVAL_MS = 60 * 60_000;
const CLOSE_TIMEOUT_MS = 3_000;
/** Spreads the requests of many daemons. */
const JITTER = 0.1;

export class ConnectedStore {
  readonly #options: ConnectedStoreOptions;
  readonly #configured: ConfiguredStore;
  #connection: StoreConnection | undefined;
  #problem: StoreProblem | undefined;
  #outage: Outage | undefined;
  #requests = 0;
  /** The newest token; `#hasAnswered`: the store has answered this connection with it. */
  #token: string | undefined;
  #hasAnswered = false;
  #reportedNotInForce: string | undefined;
  /** Former connections whose tokens are being revoked. */
  readonly #revocations = new Map<StoreConnection, Promise<unknown>>();
  #refusalLoggedAt = Number.NEGATIVE_INFINITY;

  /** `changed` is called when files or secrets behind the same configuration change. */
  constructor(options: ConnectedStoreOptions, changed: () => void) {
    this.#options = options;
    this.#configured = new ConfiguredStore(options, changed);
  }

  /** Undefined: none is configured. */
  get connection(): StoreConnection | undefined {
    return this.#connection;
  }

  /** Undefined: the store answers, as far as is known. */
  get outage(): Outage | undefined {
    return this.#outage;
  }

  /** Reason why there is no connection although one is configured. */
  get problem(): StoreProblem | undefined {
    return this.#problem;
  }

  /** Reason why the configured store is not in use; undefined: it is, or none is configured. */
  get notInForce(): string | undefined {
    if (this.#problem !== undefined) return this.#problem.message;
    const isOfToken = OF_TOKENS.has(this.#outage?.reason ?? '');
    return this.#hasAnswered && !isOfToken ? undefined : this.#outage?.message;
  }

  /** Requests so far. */
  get requests(): number {
    return this.#requests;
  }

  /** Collection of the secrets that hold tokens. */
  get secrets(): Collection {
    return this.#configured.secrets;
  }

  /** True if the configuration reads a credential from this object. */
  refersTo(key: ObjectKey): boolean {
    return this.#configured.refersTo(key);
  }

  report(): StoreReport {
    const { current } = this.#configured;
    const connection = this.#connection;
    const isUp = this.#outage === undefined;
    return {
      state: this.#isOff ? 'disabled' : isUp && connection ? 'available' : 'unavailable',
      problem: this.#problem?.message ?? this.#outage?.message,
      warnings: connection?.warnings ?? [],
      address: connection && current?.address,
      namespace: connection && current?.namespace,
      intervalMs: connection && current?.intervalMs,
    };
  }

  /** Connects to the configured store, if any. Returns true if the connection is a new one. */
  reconnect(): boolean {
    const { name, logger } = this.#options;
    const { problem, connection } = this.#configured.follow(this.#connection, (settings) =>
      this.#connect(settings),
    );
    this.#problem = problem;
    const token = this.#configured.token();
    if (token !== this.#token) this.#hasAnswered = false;
    this.#token = token;
    if (connection === this.#connection) {
      this.#reportNotInForce();
      return false;
    }
    this.#revokeToken(this.#connection);
    this.#connection = connection;
    this.#outage = undefined;
    this.#hasAnswered = false;
    this.#reportNotInForce();
    const address = this.#configured.current?.address;
    if (connection !== undefined)
      logger.info({ store: name, address }, 'Secrets are synced with the store');
    else logger.info({ store: name }, 'Secrets are no longer synced with a store');
    return true;
  }

  /** Revokes the token of a connection in the background. */
  #revokeToken(connection: StoreConnection | undefined): void {
    if (connection === undefined) return;
    const left = connection.close().finally(() => this.#revocations.delete(connection));
    this.#revocations.set(connection, left);
  }

  #connect(settings: StoreSettings): StoreConnection {
    const { name: store, logger, clock, metrics, transport, random, timing } = this.#options;
    return new StoreConnection({
      settings,
      token: () => this.#configured.token(),
      fileText: (field, path) => this.#configured.fileText(field, path),
      clock,
      random,
      sending: (request) => {
        this.#options.assertMayAct?.();
        this.#assertConfigured(settings, request);
        this.#requests += 1;
        metrics.requests.inc({ store });
      },
      timing,
      refused: () => this.#countRefusal(),
      warn: (why) => logger.warn({ store, why }, 'The secret store needs attention'),
      ...(transport && { transport: transport(settings.address) }),
    });
  }

  /** Logged at most once per hour. */
  #countRefusal(): void {
    const { name: store, logger, clock, metrics } = this.#options;
    metrics.refused.inc({ store });
    if (clock.now() < this.#refusalLoggedAt + REFUSAL_LOG_INTERVAL_MS) return;
    this.#refusalLoggedAt = clock.now();
    logger.warn(
      { store },
      'The secret store refuses requests over its quota; the pace follows the quota',
    );
  }

  /** The configuration may have changed since the request began. */
  #assertConfigured(settings: StoreSettings, { headers }: StoreRequest): void {
    const isSame = settings.login || headers['x-vault-token'] === this.#configured.token();
    if (isSame && this.#configured.asksFor(settings)) return;
    const message = 'The configuration of the secret store has changed';
    throw new StoreError(message, { reason: 'Reconfigured' });
  }

  /** Reports each reason once. */
  #reportNotInForce(): void {
    const why = this.notInForce;
    if (why === this.#reportedNotInForce) return;
    this.#reportedNotInForce = why;
    if (why !== undefined) {
      const { name: store, logger } = this.#options;
      logger.warn({ store, why }, 'The configured secret store is not in use');
    }
    this.#options.notInForce?.(why);
  }

  get #isOff(): boolean {
    return this.#connection === undefined && this.#problem === undefined;
  }

  /** Records the outage of the last cycle. */
  setOutage(outage: Outage | undefined): void {
    // The next cycle uses the new configuration.
    if (outage?.reason === 'Reconfigured') return;
    const { name: store, logger } = this.#options;
    if (outage !== undefined && this.#outage === undefined) {
      const why = outage.message;
      logger.warn({ store, why }, 'The secret store does not answer; the last good values stay');
    } else if (outage === undefined && this.#outage !== undefined) {
      logger.info({ store }, 'The secret store answers again');
    }
    this.#outage = outage;
    if (outage === undefined) this.#hasAnswered = true;
    this.#reportNotInForce();
  }

  /** Milliseconds between two cycles over all secrets. */
  get intervalMs(): number {
    return this.#configured.current?.intervalMs ?? DEFAULT_INTERVAL_MS;
  }

  /** Default for secrets without a policy. */
  get onStoreOlder(): Preference {
    return this.#configured.current?.onStoreOlder ?? 'Hold';
  }

  /**
   * Milliseconds until the next cycle: after a failure the delay that the store asks for, otherwise
   * the interval.
   */
  get pauseMs(): number {
    const { random = Math.random } = this.#options;
    const pauseMs = this.#connection?.client.pauseMs ?? 0;
    const interval = this.intervalMs;
    if (this.#outage !== undefined) {
      const wait = pauseMs > 0 ? pauseMs : interval;
      return Math.max(SHORTEST_PAUSE_MS, wait);
    }
    return interval * (1 + JITTER * (2 * random() - 1));
  }

  /** Time-limited, so that an unresponsive store does not delay the shutdown. Never rejects. */
  async close(): Promise<void> {
    this.#configured.close();
    const left = Promise.all(this.#revocations.values());
    const limit = delay(CLOSE_TIMEOUT_MS, undefined, { ref: false });
    await Promise.all([
      this.#connection?.close(CLOSE_TIMEOUT_MS),
      Promise.race([left, this.#revocations.size === 0 ? undefined : limit]),
    ]);
    for (const former of this.#revocations.keys()) former.end();
  }
}
