/**
 * The loop of one tenant for one kind: translates and patches its objects of the tenant cluster,
 * and writes them to the control-plane cluster. Level-triggered: each pass compares actual with
 * wanted, so an extra pass changes nothing.
 */

import { type KubeObject, rfc3339 } from '../apimachinery/index.ts';
import type { Backoff } from '../concurrency/index.ts';
import { backoffBound, WorkQueue } from '../concurrency/index.ts';
import {
  compilePatches,
  type KnownObject,
  type PatchedTenant,
  type PatchProgram,
} from '../endpoint-patches/index.ts';
import { ApiFailure, type KubeClient, objectId } from '../kubernetes-client/index.ts';
import type { Observed } from './effects.ts';
import { sourceOf } from './managed-annotations.ts';
import {
  type ObjectState,
  ObjectStates,
  type SyncState,
  type SyncSummary,
} from './object-states.ts';
import { decide, type PatchRunner } from './reconcile-object.ts';
import { idOf, nameFrom, SourceKeys, strayIn } from './source-keys.ts';
import { SyncEnds } from './sync-ends.ts';
import { eventOf } from './sync-events.ts';
import type { SyncedKind } from './synced-kinds.ts';
import { ForeignObject, TargetWriter, type WriteVerb } from './target-writer.ts';
import { targetOf } from './translate.ts';

const REPAIR_BACKOFF: Backoff = { firstMs: 1000, lastMs: 60_000 };

const CALM_MS = 60_000;

const FREE_REPAIRS = 3;

interface Repair {
  readonly basis: string;
  readonly count: number;
  readonly at: number;
}

export interface TenantSyncOptions {
  readonly kind: SyncedKind;
  readonly source: KubeClient;
  readonly target: KubeClient;
  readonly patched: PatchedTenant;
  readonly runner: PatchRunner;
  readonly clock: { now(): number };
  /** Called when the summary or the state of an object changes. */
  changed(): void;
  /** Objects of the other kinds that reverse references may name. */
  others?(): readonly KnownObject[];
  wrote?(verb: WriteVerb): void;
  failed?(reason: string): void;
  readonly backoff?: Backoff | undefined;
  readonly watchSeconds?: number;
}

/** Concurrent objects: each mostly waits for the network. */
const WORKERS = 16;
/**
 * Retry interval for foreign objects: the watch covers only objects of the sync, and does not
 * report their removal.
 */
const FOREIGN_MS = 30_000;

export class TenantSync {
  readonly #options: TenantSyncOptions;
  readonly #states = new ObjectStates();
  readonly #queue: WorkQueue;
  readonly #writer: TargetWriter;
  readonly #ends: SyncEnds;
  readonly #sources = new SourceKeys();
  readonly #repairs = new Repairs();
  readonly #returns = new Repairs();
  #program: PatchProgram;
  /** Increases with each change of the patches. */
  #edition = 0;
  #lastSync: string | undefined;

  constructor(options: TenantSyncOptions) {
    this.#options = options;
    this.#program = compilePatches(options.patched);
    const { kind, backoff, watchSeconds, source, target } = options;
    const { tenant } = options.patched;
    this.#queue = new WorkQueue({
      reconcile: (key) => this.#reconcile(key),
      delayFor: waitAskedFor,
      workers: WORKERS,
      idle: () => this.#settled(),
      backoff: backoff,
    });
    this.#ends = new SyncEnds({
      kind,
      source,
      target,
      tenant,
      backoff,
      watchSeconds,
      sourceKey: (key, object) => this.#sources.of(key, object, this.#program.tenant),
      due: (key) => this.#queue.add(key),
      complete: () => this.#enqueueAll(),
      recovered: () => this.#retryStale(),
      changed: () => options.changed(),
    });
    this.#writer = new TargetWriter({
      kind,
      client: target,
      tenant: tenant.name,
      written: (object) => this.#ends.targets.record(object),
      wrote: (verb) => options.wrote?.(verb),
    });
  }

  start(): void {
    this.#ends.start();
  }

  async stop(): Promise<void> {
    await this.#ends.stop();
    await this.#queue.stop();
  }

  /** New patches or another configuration: every object of the tenant is processed again. */
  update(patched: PatchedTenant): void {
    this.#program = compilePatches(patched);
    this.#edition += 1;
    this.#enqueueAll();
  }

  get states(): ObjectState[] {
    return this.#states.list();
  }

  get summary(): SyncSummary {
    const waiting = this.#ends.objects.size - this.#states.size;
    const summary = this.#states.summary(this.#lastSync, {
      unknown: Math.max(0, waiting),
      again: this.#queue.busy,
    });
    return this.#ends.onto(summary);
  }

  /** True if every known object is processed, and none waits for a retry. */
  get isSettled(): boolean {
    return (
      this.#ends.isSynced &&
      !this.#queue.busy &&
      this.#states.count('Stale') === 0 &&
      !this.#ends.hasProblems
    );
  }

  /** Number of full lists so far. */
  get lists(): number {
    return this.#ends.lists;
  }

  /** The objects of the tenant, in order; undefined before both ends were read. */
  get observed(): Observed[] | undefined {
    return this.#ends.observed(this.#program.tenant);
  }

  /** Objects of the tenant that reverse references may name. */
  get known(): KnownObject[] {
    return this.#ends.known();
  }

  /** Objects that failed during an outage are retried at once. */
  #retryStale(): void {
    for (const key of this.#states.keysIn('Stale')) this.#queue.add(key);
  }

  /** Keys of both sides: targets without a source must be removed, too. */
  #enqueueAll(): void {
    if (!this.#ends.isSynced) return;
    for (const key of this.#ends.objects.keys()) this.#queue.add(key);
    for (const object of this.#ends.targets.values()) {
      const key = this.#sources.of(objectId(object), object, this.#program.tenant);
      if (key !== undefined) this.#queue.add(key);
    }
    this.#options.changed();
  }

  async #reconcile(key: string): Promise<void> {
    const stray = strayIn(key);
    if (stray !== undefined) return await this.#removeStray(stray);
    const edition = this.#edition;
    try {
      await this.#sync(key);
      if (edition !== this.#edition) this.#queue.add(key);
    } catch (error) {
      const failure = asFailure(error);
      this.#note(key, failure.isTransient ? 'Stale' : 'Failed', failure);
      throw error;
    }
  }

  async #removeStray(target: string): Promise<void> {
    const actual = this.#ends.targets.get(target);
    const { tenant } = this.#program;
    const key = this.#sources.of(target, actual, tenant);
    if (actual === undefined || key === undefined || strayIn(key) === undefined) return;
    const source = sourceOf(actual, tenant.name);
    if (source === undefined) return;
    await this.#writer.remove(actual, source);
  }

  async #sync(key: string): Promise<void> {
    const source = nameFrom(key);
    const program = this.#program;
    const object = this.#ends.objects.get(key);
    const target = idOf(targetOf(source, program.tenant));
    const actual = this.#ends.targets.get(target);
    if (object === undefined) {
      if (actual !== undefined) await this.#writer.remove(actual, source);
      this.#forget(key, target);
      return;
    }
    this.#sources.set(target, key);
    const service = this.#ends.serviceOf(key);
    const isOurs = actual !== undefined && this.#writer.isOurs(actual, source);
    const { kind, runner, others } = this.#options;
    const known = (): KnownObject[] => [...this.#ends.known(), ...(others?.() ?? [])];
    const ends = { source, object, service, actual, isOurs, known };
    const decision = await decide(ends, { kind, program, runner });
    if (decision.do === 'skip') {
      if (actual !== undefined) await this.#writer.remove(actual, source);
      this.#note(key, 'Skipped', decision);
    } else if (decision.do === 'fail') this.#note(key, 'Failed', decision);
    else if (decision.do === 'return') await this.#writeBack(key, decision.wanted);
    else await this.#put(key, decision.wanted, { object, actual });
  }

  #forget(key: string, target: string): void {
    this.#states.remove(key);
    this.#repairs.forget(key);
    this.#returns.forget(key);
    this.#sources.forget(target);
    this.#options.changed();
  }

  async #put(
    key: string,
    wanted: KubeObject,
    { object, actual }: { object: KubeObject; actual: KubeObject | undefined },
  ): Promise<void> {
    const basis = `${this.#edition} ${object.metadata.resourceVersion}`;
    const wait = this.#repairs.wait(key, basis);
    if (wait > 0) return this.#waitFor(key, wait);
    try {
      const wrote = await this.#writer.put(wanted, actual, nameFrom(key));
      if (wrote) this.#repairs.count(key, basis);
    } catch (error) {
      if (!(error instanceof ForeignObject)) throw error;
      this.#note(key, 'Failed', { reason: 'ForeignObject', message: error.message });
      if (this.#program.tenant.mode === 'multi') this.#queue.addLater(key, FOREIGN_MS);
      return;
    }
    this.#note(key, 'Synced', {});
  }

  #waitFor(key: string, ms: number): void {
    const message =
      'another client changes it again and again; it is repaired at ever longer intervals';
    this.#note(key, 'Stale', { reason: 'Disputed', message });
    this.#queue.addLater(key, ms);
  }

  /**
   * Writes the change from the control-plane cluster to the tenant; then the object is processed
   * again.
   */
  async #writeBack(key: string, wanted: KubeObject): Promise<void> {
    const basis = String(this.#edition);
    const wait = this.#returns.wait(key, basis);
    if (wait > 0) return this.#waitFor(key, wait);
    const { kind, source, wrote } = this.#options;
    this.#ends.objects.record(
      await source.update({ plural: kind.plural, ...nameFrom(key) }, wanted),
    );
    this.#returns.count(key, basis);
    wrote?.('return');
    this.#queue.add(key);
  }

  #note(key: string, state: SyncState, why: { reason?: string; message?: string }): void {
    const source = nameFrom(key);
    const { clock } = this.#options;
    const { reason, message } = why;
    const target = targetOf(source, this.#program.tenant);
    const next = {
      kind: this.#options.kind.name,
      source,
      target,
      state,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
    };
    const { changed, before } = this.#states.set(key, next, clock.now());
    if (!changed) return;
    if (state === 'Failed') this.#options.failed?.(reason ?? 'Unknown');
    const event = eventOf(next, before);
    if (event !== undefined) this.#ends.record(key, target, { ...event, time: clock.now() });
    this.#options.changed();
  }

  #settled(): void {
    if (this.#states.count('Stale') + this.#states.count('Failed') > 0) return;
    this.#lastSync = rfc3339(this.#options.clock.now());
    this.#options.changed();
  }
}

function asFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  return new ApiFailure({ code: 0, reason: 'Unexpected', message: String(error) });
}

function waitAskedFor(error: unknown): number | undefined {
  const seconds = error instanceof ApiFailure ? error.retryAfterSeconds : undefined;
  return seconds === undefined ? undefined : seconds * 1000;
}

/** Backoff of repeated repairs, for the case that another program keeps undoing them. */
class Repairs {
  readonly #last = new Map<string, Repair>();

  /** Milliseconds until the key may be repaired again on the same basis. */
  wait(key: string, basis: string): number {
    const last = this.#last.get(key);
    if (last === undefined || last.basis !== basis || last.count <= FREE_REPAIRS) return 0;
    return Math.max(
      0,
      last.at + backoffBound(last.count - FREE_REPAIRS, REPAIR_BACKOFF) - performance.now(),
    );
  }

  count(key: string, basis: string): void {
    const last = this.#last.get(key);
    const now = performance.now();
    const goesOn = last !== undefined && last.basis === basis && now - last.at < CALM_MS;
    this.#last.set(key, { basis, count: goesOn ? last.count + 1 : 0, at: now });
  }

  forget(key: string): void {
    this.#last.delete(key);
  }
}
