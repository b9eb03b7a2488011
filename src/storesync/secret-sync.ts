/**
 * Keeps secrets and the secret store in step: a cycle over all of them each interval, a small one
 * soon after somebody changed some, one more whenever somebody asks. There is one cycle at a time.
 * Level-triggered: a cycle looks at what is there, so a missed one costs only time.
 */
import type { EventRing } from '../apimachinery/object-events.ts';
import type { Branch } from '../registry/branch.ts';
import type { Store } from '../state/store.ts';
import type { SecretSyncMetrics } from '../telemetry/secret-sync-metrics.ts';
import type { Finding } from './conditions.ts';
import { ConnectedStore, type ConnectedStoreOptions } from './connected-store.ts';
import type { StoreConnection } from './connection.ts';
import { CycleRunner, type Surroundings } from './cycle-runner.ts';
import { DueTimes } from './due-times.ts';
import { Findings } from './findings.ts';
import type { GitParts } from './git-side.ts';
import { type LinkedSecret, LinkedSecrets } from './linked-secrets.ts';
import { SyncPublisher } from './publisher.ts';
import type { CycleSummary, SecretSyncReport } from './report.ts';

export interface SecretSyncOptions extends ConnectedStoreOptions {
  /** As readers of the state have it, and the notes beside. */
  readonly store: Store;
  readonly branch: Pick<Branch, 'submit' | 'state'>;
  readonly registry: GitParts['registry'];
  readonly history: GitParts['history'];
  readonly isReviewed: boolean;
  /** 32 bytes that live as long as the state. */
  readonly secret: Uint8Array;
  readonly metrics: SecretSyncMetrics;
  readonly events: EventRing;
}

interface Waiter {
  readonly allowDeletions: boolean;
  resolve(): void;
}

/** What a change in git waits for others that come along with it. */
const SOON_MS = 200;
/** A store that does not answer keeps nobody from stopping. */
const LONGEST_GOODBYE_MS = 3_000;
/** What should not have happened must not happen all the time. */
const AFTER_A_DEFECT_MS = 60_000;

export class SecretSync {
  readonly #options: SecretSyncOptions;
  readonly #linked: LinkedSecrets;
  readonly #cycles: CycleRunner;
  readonly #publisher: SyncPublisher;
  readonly #connected: ConnectedStore;
  readonly #changed = new Set<string>();
  readonly #dueTimes = new DueTimes();
  readonly #stops: (() => void)[] = [];
  #asked: Waiter[] = [];
  #due = 0;
  /** Counts changes of the configuration: one that comes during a cycle asks for another one. */
  #news = 0;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #lastCycle: CycleSummary | undefined;
  #lastSuccess: number | undefined;
  #isFollowing = false;
  #isClosed = false;

  constructor(options: SecretSyncOptions) {
    this.#options = options;
    this.#linked = new LinkedSecrets(options);
    this.#cycles = new CycleRunner(options);
    this.#publisher = new SyncPublisher(options);
    this.#connected = new ConnectedStore(options, () => this.configurationChanged());
    options.metrics.follow(() => ({
      objects: this.#publisher.counts(),
      isAvailable: this.#connected.connection && this.#connected.outage === undefined,
      isInForce: this.#isOff ? undefined : this.#connected.notInForce === undefined,
      pace: this.#connected.connection?.pace.perSecond,
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
    const secrets = this.#connected.secrets;
    this.#stops.push(
      store.observe(secrets, ({ current }) => {
        if (this.#connected.refersTo(current.key)) this.configurationChanged();
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
    return {
      ...this.#connected.report(),
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
    const impatient = setTimeout(() => void this.#connected.close(), LONGEST_GOODBYE_MS);
    await this.#working;
    clearTimeout(impatient);
    await this.#connected.close();
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
        this.#dueTimes.clear();
      })
      .finally(() => {
        this.#working = undefined;
        this.#wake(this.#untilNext());
      });
  }

  #untilNext(): number {
    if (this.#asked.length > 0) return 0;
    const next = Math.min(this.#due, this.#nextEarly);
    const due = Math.max(0, next - this.#options.clock.now());
    return this.#changed.size > 0 ? Math.min(SOON_MS, due) : due;
  }

  /** When a secret is read between cycles; a store that does not answer is left to the cycles. */
  get #nextEarly(): number {
    const { connection, outage, intervalMs } = this.#connected;
    const isUp = connection !== undefined && outage === undefined;
    return isUp ? this.#dueTimes.nextEarly(intervalMs) : Number.POSITIVE_INFINITY;
  }

  async #work(): Promise<void> {
    if (this.#connected.reconnect()) {
      this.#cycles.readAll();
      this.#dueTimes.clear();
      this.#due = 0;
    }
    const asked = this.#asked.splice(0);
    const now = this.#options.clock.now();
    const isFull = asked.length > 0 || now >= this.#due;
    const { connection } = this.#connected;
    try {
      if (connection === undefined) await this.#stayOff();
      else if (isFull) await this.#fullCycle(connection, asked);
      else await this.#smallCycle(connection);
    } finally {
      for (const { resolve } of asked) resolve();
    }
  }

  get #isOff(): boolean {
    return this.#connected.connection === undefined && this.#connected.problem === undefined;
  }

  /** Nobody should read conditions of a sync that does not run. */
  async #stayOff(): Promise<void> {
    this.#due = Number.POSITIVE_INFINITY;
    this.#changed.clear();
    const { problem } = this.#connected;
    const off: Finding = problem ? { is: 'unavailable', ...problem } : { is: 'disabled' };
    const secrets = this.#linked.all();
    await this.#publisher.publish(secrets, new Map(secrets.map(({ id }) => [id, off])), false);
  }

  async #fullCycle(connection: StoreConnection, asked: readonly Waiter[]): Promise<void> {
    const { clock, metrics } = this.#options;
    // Whoever asks may have mended the store.
    if (asked.length > 0) connection.client.tryAgain();
    const started = clock.now();
    const began = performance.now();
    const requests = this.#connected.requests;
    const news = this.#news;
    this.#changed.clear();
    const secrets = this.#linked.all();
    const allowDeletions = asked.some((waiter) => waiter.allowDeletions);
    const found = new Findings(this.#linked, this.#publisher);
    const { findings, outage } = await this.#cycles.run(secrets, {
      ...this.#surroundings(connection, found),
      allowDeletions,
      isFull: true,
      isDue: (secret) =>
        asked.length > 0 ||
        this.#dueTimes.isDue(secret, started, this.#connected.intervalMs) ||
        this.#cycles.isNews(secret),
    });
    this.#noteVisits(secrets, findings);
    this.#connected.noteOutage(outage);
    await this.#publishRest(secrets, findings);
    await found.published();
    const milliseconds = performance.now() - began;
    if (outage === undefined) this.#lastSuccess = clock.now() / 1000;
    metrics.cycles.inc({ result: outage === undefined ? 'complete' : 'unavailable' });
    metrics.duration.observe(milliseconds / 1000);
    this.#lastCycle = {
      started,
      milliseconds,
      requests: this.#connected.requests - requests,
      secrets: secrets.length,
      pulled: found.pulled,
      pushed: found.pushed,
    };
    this.#due = this.#news === news ? clock.now() + this.#connected.pauseMs : 0;
  }

  /** What changed in git and what has a short interval; deletions wait for the next cycle over all. */
  async #smallCycle(connection: StoreConnection): Promise<void> {
    const ids = [...this.#changed];
    this.#changed.clear();
    const early = this.#dueTimes.early(this.#options.clock.now(), this.#connected.intervalMs);
    // A store that does not answer is asked by the cycle that is due for it.
    if (this.#connected.outage !== undefined) return;
    const isEarly = new Set(early);
    const secrets = [...new Set([...ids, ...early])]
      .flatMap((id) => this.#linked.get(id) ?? [])
      .filter((one) => isEarly.has(one.id) || this.#cycles.isNews(one));
    if (secrets.length === 0) return;
    const found = new Findings(this.#linked, this.#publisher);
    const { findings, outage } = await this.#cycles.run(secrets, {
      ...this.#surroundings(connection, found),
      allowDeletions: false,
      isFull: false,
      isDue: () => true,
    });
    this.#noteVisits(secrets, findings);
    await this.#publishRest(secrets, findings);
    await found.published();
    if (outage === undefined) return;
    this.#connected.noteOutage(outage);
    this.#due = Math.min(this.#due, this.#options.clock.now() + this.#connected.pauseMs);
  }

  #noteVisits(secrets: readonly LinkedSecret[], findings: ReadonlyMap<string, Finding>): void {
    const now = this.#options.clock.now();
    for (const secret of secrets) {
      const finding = findings.get(secret.id);
      if (finding !== undefined && finding.is !== 'unavailable')
        this.#dueTimes.visited(secret, now);
    }
  }

  /** Findings of an outage, which is known once the cycle has ended. */
  async #publishRest(
    secrets: readonly LinkedSecret[],
    findings: ReadonlyMap<string, Finding>,
  ): Promise<void> {
    const met = secrets.filter(({ id }) => findings.get(id)?.is === 'unavailable');
    await this.#publisher.publish(met, findings, this.#connected.notInForce === undefined);
  }

  /** The next secret that git changed, of those that are not in work. */
  #nextChange(isInWork: (id: string) => boolean): LinkedSecret | undefined {
    for (const id of this.#changed) {
      if (isInWork(id)) continue;
      this.#changed.delete(id);
      const secret = this.#linked.get(id);
      if (secret !== undefined && this.#cycles.isNews(secret)) return secret;
    }
    return undefined;
  }

  #surroundings(connection: StoreConnection, found: Findings): Surroundings {
    return {
      nextChange: (isInWork) => this.#nextChange(isInWork),
      found: (secret, finding) => found.add(secret, finding),
      connection,
      tracked: () => this.#linked.all().length,
      knownOutage: this.#connected.outage,
      isStopping: () => this.#isClosed,
    };
  }

  #untie(key: Parameters<SyncPublisher['untie']>[0], id: string): void {
    const { store, logger } = this.#options;
    this.#publisher.forget(id);
    this.#cycles.untie(id);
    this.#dueTimes.forget(id);
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
