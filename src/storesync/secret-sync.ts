/**
 * Keeps secrets and the secret store in step: a cycle over all of them each interval, a small one
 * soon after somebody changed some, one more whenever somebody asks. There is one cycle at a time.
 * Level-triggered: a cycle looks at what is there, so a missed one costs only time.
 */
import type { Clock } from '../apimachinery/clock.ts';
import { sameKey } from '../apimachinery/key.ts';
import type { EventRing } from '../apimachinery/object-events.ts';
import type { SecretStoreConfig } from '../config/sections/secret-store.ts';
import type { KindTable } from '../kinds/table.ts';
import type { Branch } from '../registry/branch.ts';
import type { Transport } from '../secretsync/store/transport.ts';
import type { Store } from '../state/store.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { SecretSyncMetrics } from '../telemetry/secret-sync-metrics.ts';
import type { Finding } from './conditions.ts';
import { ConfiguredStore } from './configured-store.ts';
import { StoreConnection } from './connection.ts';
import { CycleRunner, type Surroundings } from './cycle-runner.ts';
import type { GitParts } from './git-side.ts';
import { LinkedSecrets } from './linked-secrets.ts';
import type { Outage } from './outage.ts';
import { SyncPublisher } from './publisher.ts';
import { type CycleSummary, type SecretSyncReport, sums } from './report.ts';
import type { Environment } from './settings.ts';

export interface SecretSyncOptions {
  readonly kinds: KindTable;
  /** As readers of the state have it, and the notes beside. */
  readonly store: Store;
  readonly branch: Pick<Branch, 'submit' | 'state'>;
  readonly registry: GitParts['registry'];
  readonly history: GitParts['history'];
  readonly isReviewed: boolean;
  /** 32 bytes that live as long as the state. */
  readonly secret: Uint8Array;
  /** What is in force; asked at each cycle. */
  readonly configuration: () => SecretStoreConfig | undefined;
  readonly environment: Environment;
  readonly metrics: SecretSyncMetrics;
  readonly events: EventRing;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random?: () => number;
  /** Absent: HTTP. */
  readonly transport?: (address: string) => Transport;
  /** Called before every request; throws where this process must not act any more. */
  readonly assertMayAct?: (() => void) | undefined;
}

interface Waiter {
  readonly allowDeletions: boolean;
  resolve(): void;
}

/** What a change in git waits for others that come along with it. */
const SOON_MS = 200;
const SHORTEST_PAUSE_MS = 1_000;
/** A store that does not answer keeps nobody from stopping. */
const LONGEST_GOODBYE_MS = 3_000;
/** What should not have happened must not happen all the time. */
const AFTER_A_DEFECT_MS = 60_000;
/** So that many daemons do not ask as one. */
const JITTER = 0.1;

export class SecretSync {
  readonly #options: SecretSyncOptions;
  readonly #linked: LinkedSecrets;
  readonly #cycles: CycleRunner;
  readonly #publisher: SyncPublisher;
  readonly #configured: ConfiguredStore;
  readonly #changed = new Set<string>();
  readonly #stops: (() => void)[] = [];
  #connection: StoreConnection | undefined;
  #asked: Waiter[] = [];
  #due = 0;
  /** Counts changes of the configuration: one that comes during a cycle asks for another one. */
  #news = 0;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #problem: string | undefined;
  #outage: Outage | undefined;
  #requests = 0;
  #lastCycle: CycleSummary | undefined;
  #lastSuccess: number | undefined;
  #isFollowing = false;
  #isClosed = false;

  constructor(options: SecretSyncOptions) {
    this.#options = options;
    this.#linked = new LinkedSecrets(options);
    this.#cycles = new CycleRunner(options);
    this.#publisher = new SyncPublisher(options);
    this.#configured = new ConfiguredStore(options);
    options.metrics.follow(() => ({
      objects: this.#publisher.counts(),
      isAvailable: this.#connection && this.#outage === undefined,
      lastSuccess: this.#lastSuccess,
    }));
  }

  /**
   * Begins once the state is filled: who is tied to the store is told by the objects themselves, and
   * after a cold start those are made in the background, while everybody is served.
   */
  start(): void {
    void this.#options.store.filled().then(() => this.#follow());
  }

  #follow(): void {
    if (this.#isClosed) return;
    this.#isFollowing = true;
    const { store } = this.#options;
    this.#linked.follow((key, id) => {
      this.#changed.add(id);
      if (this.#linked.get(id) === undefined) this.#untie(key, id);
      this.#wake(SOON_MS);
    });
    const secrets = this.#configured.secrets;
    this.#stops.push(
      store.observe(secrets, ({ current }) => {
        const token = this.#configured.tokenKey();
        if (token !== undefined && sameKey(current.key, token)) this.configurationChanged();
      }),
    );
    this.#wake(0);
  }

  /** The configuration, or what it refers to, is another one. */
  configurationChanged(): void {
    this.#news += 1;
    this.#due = 0;
    this.#wake(0);
  }

  /** Resolves after a cycle over all secrets that began after this call. Never rejects. */
  async syncNow({ allowDeletions }: { allowDeletions: boolean }): Promise<void> {
    if (this.#isClosed) return;
    await new Promise<void>((resolve) => {
      this.#asked.push({ allowDeletions, resolve });
      this.#wake(0);
    });
  }

  report(): SecretSyncReport {
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
      counts: this.#publisher.counts(),
      attention: this.#publisher.attention(this.#linked.all()),
      lastCycle: this.#lastCycle,
    };
  }

  /** Finishes the secrets in hand; what was begun with the store is remembered. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const stop of this.#stops) stop();
    this.#linked.close();
    const impatient = setTimeout(() => this.#connection?.close(), LONGEST_GOODBYE_MS);
    await this.#working;
    clearTimeout(impatient);
    this.#connection?.close();
    for (const { resolve } of this.#asked.splice(0)) resolve();
  }

  #wake(delay: number): void {
    if (this.#isClosed || !this.#isFollowing || this.#working !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#begin(), Math.min(delay, 2 ** 31 - 1)).unref();
  }

  #begin(): void {
    if (this.#isClosed || this.#working !== undefined) return;
    this.#working = this.#work()
      .catch((err: unknown) => {
        this.#options.logger.error({ err }, 'The secret sync failed');
        this.#due = this.#options.clock.now() + AFTER_A_DEFECT_MS;
      })
      .finally(() => {
        this.#working = undefined;
        this.#wake(this.#untilNext());
      });
  }

  #untilNext(): number {
    if (this.#asked.length > 0) return 0;
    const due = Math.max(0, this.#due - this.#options.clock.now());
    return this.#changed.size > 0 ? Math.min(SOON_MS, due) : due;
  }

  async #work(): Promise<void> {
    await this.#reconnect();
    const asked = this.#asked.splice(0);
    const now = this.#options.clock.now();
    const isFull = asked.length > 0 || now >= this.#due;
    try {
      if (this.#connection === undefined) await this.#stayOff();
      else if (isFull) await this.#fullCycle(this.#connection, asked);
      else await this.#smallCycle(this.#connection);
    } finally {
      for (const { resolve } of asked) resolve();
    }
  }

  /** Uses what is configured now, or goes on with what was, and says why. */
  async #reconnect(): Promise<void> {
    const { logger, clock, metrics, transport, random } = this.#options;
    const before = this.#problem;
    const { problem, connection } = await this.#configured.follow(this.#connection, (settings) => {
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
    });
    this.#problem = problem;
    if (problem !== undefined && problem !== before) {
      logger.warn({ why: problem }, 'The secret store is not used as configured');
    }
    if (connection === this.#connection) return;
    this.#connection?.close();
    this.#connection = connection;
    this.#cycles.readAll();
    this.#due = 0;
    this.#outage = undefined;
    const address = this.#configured.current?.address;
    if (connection !== undefined) logger.info({ address }, 'Secrets are synced with the store');
    else logger.info('Secrets are not synced with a store any more');
  }

  /** Nobody should read conditions of a sync that does not run. */
  async #stayOff(): Promise<void> {
    this.#due = Number.POSITIVE_INFINITY;
    this.#changed.clear();
    const off: Finding = { is: 'disabled' };
    const secrets = this.#linked.all();
    await this.#publisher.publish(secrets, new Map(secrets.map(({ id }) => [id, off])));
  }

  async #fullCycle(connection: StoreConnection, asked: readonly Waiter[]): Promise<void> {
    const { clock, metrics } = this.#options;
    // Whoever asks may have mended the store.
    if (asked.length > 0) connection.client.tryAgain();
    const started = clock.now();
    const began = performance.now();
    const requests = this.#requests;
    const news = this.#news;
    this.#changed.clear();
    const secrets = this.#linked.all();
    const allowDeletions = asked.some((waiter) => waiter.allowDeletions);
    const { findings, outage } = await this.#cycles.run(secrets, {
      ...this.#surroundings(connection),
      allowDeletions,
      isFull: true,
    });
    await this.#publisher.publish(secrets, findings);
    const milliseconds = performance.now() - began;
    this.#noteOutage(outage);
    if (this.#outage === undefined) this.#lastSuccess = clock.now() / 1000;
    metrics.cycles.inc({ result: this.#outage === undefined ? 'complete' : 'unavailable' });
    metrics.duration.observe(milliseconds / 1000);
    this.#lastCycle = {
      started,
      milliseconds,
      requests: this.#requests - requests,
      secrets: secrets.length,
      ...sums(findings),
    };
    this.#due = this.#news === news ? clock.now() + this.#pause(connection) : 0;
  }

  /** Only what changed in git; deletions wait for the next cycle over all. */
  async #smallCycle(connection: StoreConnection): Promise<void> {
    const ids = [...this.#changed];
    this.#changed.clear();
    // A store that does not answer is asked by the cycle that is due for it.
    if (this.#outage !== undefined) return;
    const secrets = ids
      .flatMap((id) => this.#linked.get(id) ?? [])
      .filter((one) => this.#cycles.isNews(one));
    if (secrets.length === 0) return;
    const { findings, outage } = await this.#cycles.run(secrets, {
      ...this.#surroundings(connection),
      allowDeletions: false,
      isFull: false,
    });
    await this.#publisher.publish(secrets, findings);
    if (outage === undefined) return;
    this.#noteOutage(outage);
    this.#due = Math.min(this.#due, this.#options.clock.now() + this.#pause(connection));
  }

  #surroundings(connection: StoreConnection): Surroundings {
    return {
      connection,
      tracked: () => this.#linked.all().length,
      knownOutage: this.#outage,
      isStopping: () => this.#isClosed,
    };
  }

  #noteOutage(outage: Outage | undefined): void {
    const { logger } = this.#options;
    if (outage !== undefined && this.#outage === undefined) {
      const why = outage.message;
      logger.warn({ why }, 'The secret store does not answer; the last good values stay');
    } else if (outage === undefined && this.#outage !== undefined) {
      logger.info('The secret store answers again');
    }
    this.#outage = outage;
  }

  /** After a failure as long as the store wants to be left alone, else the interval. */
  #pause(connection: StoreConnection): number {
    const { random = Math.random } = this.#options;
    const { pauseMs } = connection.client;
    const interval = this.#configured.current?.intervalMs ?? 60_000;
    if (this.#outage !== undefined) {
      const wait = pauseMs > 0 ? pauseMs : interval;
      return Math.max(SHORTEST_PAUSE_MS, wait);
    }
    return interval * (1 + JITTER * (2 * random() - 1));
  }

  #untie(key: Parameters<SyncPublisher['untie']>[0], id: string): void {
    const { store, logger } = this.#options;
    this.#publisher.forget(id);
    this.#cycles.untie(id);
    const found = store.get(key);
    // What is gone may have something to say to the store; what was untied has not.
    if (found === undefined || found.terminating) return;
    const untie = async (): Promise<void> => {
      await this.#cycles.forget(id);
      await this.#publisher.untie(key);
    };
    untie().catch((err: unknown) => logger.warn({ err }, 'A secret could not be untied'));
  }
}
