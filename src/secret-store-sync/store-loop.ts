/**
 * Syncs secrets with one secret store: a cycle over all of them per interval, a small cycle soon
 * after changes, and one on request. One cycle runs at a time. Level-triggered: a cycle reads the
 * current state, so a missed event only costs time.
 */
import type { EventRing, ObjectKey } from '../apimachinery/index.ts';
import type { Branch } from '../registry/index.ts';
import type { Collection, Store } from '../state/index.ts';
import type { SecretSyncFacts, SecretSyncMetrics } from '../telemetry/index.ts';
import type { Finding } from './conditions.ts';
import { ConnectedStore, type ConnectedStoreOptions } from './connected-store.ts';
import type { StoreConnection } from './connection.ts';
import { type CycleContext, CycleRunner } from './cycle-runner.ts';
import { DueTimes } from './due-times.ts';
import { Findings } from './findings.ts';
import type { GitParts } from './git-side.ts';
import type { LinkedSecret, StoreSecrets } from './linked-secrets.ts';
import { PathPulls } from './path-pulls.ts';
import { SyncPublisher } from './publisher.ts';
import type { CycleSummary, StoreSyncReport } from './report.ts';

export interface StoreLoopOptions extends ConnectedStoreOptions {
  /** The secrets that are linked to this store. */
  readonly linked: StoreSecrets;
  /** As readers see it, with the documents. */
  readonly store: Store;
  readonly branch: Pick<Branch, 'submit' | 'state'>;
  readonly registry: GitParts['registry'];
  readonly history: GitParts['history'];
  readonly isReviewed: boolean;
  /** 32 bytes that live as long as the state. */
  readonly secret: Uint8Array;
  readonly metrics: SecretSyncMetrics;
  readonly events: EventRing;
  /** Reason why a user has stopped the sync of a store, by its name; undefined: it runs. */
  readonly suspended?: ((store: string) => string | undefined) | undefined;
  /**
   * Reports the reason why pulls left secrets out, for the status of the Config; undefined: none.
   */
  readonly pullsIncomplete?: ((why: string | undefined) => void) | undefined;
}

interface Waiter {
  readonly allowDeletions: boolean;
  resolve(): void;
}

/** Debounce time of changes in git. */
const SOON_MS = 200;
/** Time limit at shutdown for an unresponsive store. */
const CLOSE_TIMEOUT_MS = 3_000;
/** Delay after an unexpected failure, which might repeat at once. */
const AFTER_FAILURE_MS = 60_000;

export class StoreLoop {
  readonly #options: StoreLoopOptions;
  readonly #linked: StoreSecrets;
  readonly #cycles: CycleRunner;
  readonly #publisher: SyncPublisher;
  readonly #connected: ConnectedStore;
  readonly #changed = new Set<string>();
  readonly #dueTimes = new DueTimes();
  readonly #pulls: PathPulls;
  #waiters: Waiter[] = [];
  #due = 0;
  /** Counts configuration changes: one during a cycle requests another cycle. */
  #configurationChanges = 0;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #lastCycle: CycleSummary | undefined;
  #lastSuccess: number | undefined;
  #isFollowing = false;
  #isClosed = false;

  constructor(options: StoreLoopOptions) {
    this.#options = options;
    this.#linked = options.linked;
    this.#cycles = new CycleRunner(options);
    this.#publisher = new SyncPublisher(options);
    this.#pulls = new PathPulls({
      ...options,
      cycles: this.#cycles,
      isStopping: () => this.#isClosed || this.#suspended !== undefined,
    });
    this.#connected = new ConnectedStore(options, () => this.configurationChanged());
  }

  /** Called once the secrets are known. */
  start(): void {
    this.#isFollowing = true;
    this.#wake(0);
  }

  facts(): SecretSyncFacts {
    const { connection, outage, notInForce } = this.#connected;
    return {
      objects: this.#publisher.counts(),
      isAvailable: connection && outage === undefined,
      isInForce: this.#isOff ? undefined : notInForce === undefined,
      pace: connection?.pace.perSecond,
      lastSuccess: this.#lastSuccess,
      pulls: this.#pulls.reports.map(({ name, tied, untied, refused, problem }) => ({
        name,
        secrets: { tied, untied, refused: refused.length },
        isListed: problem === undefined,
      })),
    };
  }

  /** Collection of the secrets that hold credentials. */
  get secrets(): Collection {
    return this.#connected.secrets;
  }

  /** True if the configuration reads a credential from this object. */
  refersTo(key: ObjectKey): boolean {
    return this.#connected.refersTo(key);
  }

  /** Called when a secret of this store is linked, relinked, or changed in git. */
  changed(id: string): void {
    this.#changed.add(id);
    this.#wake(SOON_MS);
  }

  /** Called after a change of the configuration, or of data it refers to. */
  configurationChanged(): void {
    this.#configurationChanges += 1;
    this.#due = 0;
    this.#wake(0);
  }

  /** Resolves after a full cycle that began after this call. Never rejects. */
  async syncNow({ allowDeletions }: { allowDeletions: boolean }): Promise<void> {
    if (this.#isClosed) return;
    await new Promise<void>((resolve) => {
      this.#waiters.push({ allowDeletions, resolve });
      this.#wake(0);
    });
  }

  report(): StoreSyncReport {
    return {
      name: this.#options.name,
      ...this.#connected.report(),
      ...(this.#suspended === undefined || this.#isOff
        ? {}
        : { state: 'suspended', problem: this.#suspended }),
      counts: this.#publisher.counts(),
      attention: this.#publisher.attention(this.#linked.all()),
      lastCycle: this.#lastCycle,
      pulls: this.#pulls.reports,
    };
  }

  /** Finishes the secrets in progress; unfinished writes are in the sync records. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const impatient = setTimeout(() => void this.#connected.close(), CLOSE_TIMEOUT_MS);
    await this.#working;
    await this.#pulls.settled;
    clearTimeout(impatient);
    await this.#connected.close();
    for (const { resolve } of this.#waiters.splice(0)) resolve();
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
        const { name: store, logger } = this.#options;
        logger.error({ err, store }, 'The secret sync failed');
        this.#due = this.#options.clock.now() + AFTER_FAILURE_MS;
        this.#dueTimes.clear();
      })
      .finally(() => {
        this.#working = undefined;
        this.#wake(this.#untilNext());
      });
  }

  #untilNext(): number {
    if (this.#waiters.length > 0) return 0;
    if (this.#suspended !== undefined) return Number.POSITIVE_INFINITY;
    const next = Math.min(this.#due, this.#nextEarlyVisit);
    const due = Math.max(0, next - this.#options.clock.now());
    return this.#changed.size > 0 ? Math.min(SOON_MS, due) : due;
  }

  /** Next read between cycles; during an outage only full cycles read. */
  get #nextEarlyVisit(): number {
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
    const asked = this.#waiters.splice(0);
    let pulled = Promise.resolve();
    const now = this.#options.clock.now();
    const isFull = asked.length > 0 || now >= this.#due;
    const { connection } = this.#connected;
    try {
      if (connection === undefined) await this.#stayOff();
      else if (this.#suspended !== undefined) await this.#pause(this.#suspended);
      else if (isFull) {
        pulled = this.#pulls.run(connection, asked.length > 0);
        await this.#fullCycle(connection, asked);
      } else await this.#smallCycle(connection);
    } finally {
      void pulled.then(() => {
        for (const { resolve } of asked) resolve();
      });
    }
  }

  get #isOff(): boolean {
    return this.#connected.connection === undefined && this.#connected.problem === undefined;
  }

  /** The sync records stay, so that the cycle after the suspension goes on from them. */
  async #pause(why: string): Promise<void> {
    this.#changed.clear();
    const paused: Finding = {
      is: 'unavailable',
      reason: 'Suspended',
      message: `The sync is ${why}`,
    };
    const secrets = this.#linked.all();
    const findings = new Map(secrets.map(({ id }) => [id, paused]));
    await this.#publishRest(secrets, findings);
  }

  get #suspended(): string | undefined {
    return this.#options.suspended?.(this.#options.name);
  }

  /** Replaces the conditions of a sync that does not run. */
  async #stayOff(): Promise<void> {
    this.#due = Number.POSITIVE_INFINITY;
    this.#changed.clear();
    await this.#pulls.clear();
    const { problem } = this.#connected;
    const off: Finding = problem ? { is: 'unavailable', ...problem } : { is: 'disabled' };
    const secrets = this.#linked.all();
    await this.#publisher.publish(secrets, new Map(secrets.map(({ id }) => [id, off])), false);
  }

  async #fullCycle(connection: StoreConnection, asked: readonly Waiter[]): Promise<void> {
    const { name, clock, metrics } = this.#options;
    // The user may have repaired the store.
    if (asked.length > 0) connection.client.tryAgain();
    const started = clock.now();
    const began = performance.now();
    const requests = this.#connected.requests;
    const news = this.#configurationChanges;
    this.#changed.clear();
    const secrets = this.#linked.all();
    const allowDeletions = asked.some((waiter) => waiter.allowDeletions);
    const found = new Findings(this.#linked, this.#publisher);
    const { findings, outage } = await this.#cycles.run(secrets, {
      ...this.#cycleContext(connection, found),
      allowDeletions,
      isFull: true,
      isDue: (secret) =>
        asked.length > 0 ||
        this.#dueTimes.isDue(secret, started, this.#connected.intervalMs) ||
        this.#cycles.isChanged(secret),
    });
    this.#recordVisits(secrets, findings);
    this.#connected.setOutage(outage);
    await this.#publishRest(secrets, findings);
    await found.published();
    const milliseconds = performance.now() - began;
    if (outage === undefined) this.#lastSuccess = clock.now() / 1000;
    metrics.cycles.inc({ store: name, result: outage === undefined ? 'complete' : 'unavailable' });
    metrics.duration.observe({ store: name }, milliseconds / 1000);
    this.#lastCycle = {
      started,
      milliseconds,
      requests: this.#connected.requests - requests,
      secrets: secrets.length,
      pulled: found.pulled,
      pushed: found.pushed,
    };
    this.#due = this.#configurationChanges === news ? clock.now() + this.#connected.pauseMs : 0;
  }

  /**
   * Syncs secrets that changed in git or have a short interval; deletions wait for the next full
   * cycle.
   */
  async #smallCycle(connection: StoreConnection): Promise<void> {
    const ids = [...this.#changed];
    this.#changed.clear();
    const early = this.#dueTimes.early(this.#options.clock.now(), this.#connected.intervalMs);
    // During an outage, the next full cycle asks the store.
    if (this.#connected.outage !== undefined) return;
    const isEarly = new Set(early);
    const secrets = [...new Set([...ids, ...early])]
      .flatMap((id) => this.#linked.get(id) ?? [])
      .filter((one) => isEarly.has(one.id) || this.#cycles.isChanged(one));
    if (secrets.length === 0) return;
    const found = new Findings(this.#linked, this.#publisher);
    const { findings, outage } = await this.#cycles.run(secrets, {
      ...this.#cycleContext(connection, found),
      allowDeletions: false,
      isFull: false,
      isDue: () => true,
    });
    this.#recordVisits(secrets, findings);
    await this.#publishRest(secrets, findings);
    await found.published();
    if (outage === undefined) return;
    this.#connected.setOutage(outage);
    this.#due = Math.min(this.#due, this.#options.clock.now() + this.#connected.pauseMs);
  }

  #recordVisits(secrets: readonly LinkedSecret[], findings: ReadonlyMap<string, Finding>): void {
    const now = this.#options.clock.now();
    for (const secret of secrets) {
      const finding = findings.get(secret.id);
      if (finding !== undefined && finding.is !== 'unavailable')
        this.#dueTimes.visited(secret, now);
    }
  }

  /** Publishes findings of an outage, whose cause is known at the end of the cycle. */
  async #publishRest(
    secrets: readonly LinkedSecret[],
    findings: ReadonlyMap<string, Finding>,
  ): Promise<void> {
    const met = secrets.filter(({ id }) => findings.get(id)?.is === 'unavailable');
    await this.#publisher.publish(met, findings, this.#connected.notInForce === undefined);
  }

  /** The next secret that git changed and that is not being synced. */
  #nextChange(isInWork: (id: string) => boolean): LinkedSecret | undefined {
    for (const id of this.#changed) {
      if (isInWork(id)) continue;
      this.#changed.delete(id);
      const secret = this.#linked.get(id);
      if (secret !== undefined && this.#cycles.isChanged(secret)) return secret;
    }
    return undefined;
  }

  #cycleContext(connection: StoreConnection, found: Findings): CycleContext {
    return {
      nextChange: (isInWork) => this.#nextChange(isInWork),
      found: (secret, finding) => found.add(secret, finding),
      connection,
      tracked: () => this.#linked.all().length,
      knownOutage: this.#connected.outage,
      isStopping: () => this.#isClosed || this.#suspended !== undefined,
      onStoreOlder: this.#connected.onStoreOlder,
    };
  }

  /** Called when a secret of this store is deleted, unlinked, or linked to another store. */
  left(key: ObjectKey, id: string): void {
    const { store, logger } = this.#options;
    this.#changed.delete(id);
    this.#publisher.forget(id);
    this.#cycles.unlink(id);
    this.#dueTimes.forget(id);
    const found = store.get(key);
    // A deleted secret may have to be deleted in the store; an unlinked one not.
    if (found === undefined || found.terminating) {
      this.#wake(SOON_MS);
      return;
    }
    this.#cycles
      .forget(id)
      .catch((err: unknown) => logger.warn({ err }, 'A secret could not be untied'));
  }
}
