/**
 * The loop of one tenant: Endpoints of the tenant cluster, translated and patched, on the
 * control-plane cluster. Level-triggered: each pass over an object compares what is with what
 * should be, whatever happened in between, so a pass too many changes nothing.
 */
import { rfc3339 } from '../apimachinery/clock.ts';
import type { JsonObject, KubeObject } from '../apimachinery/object.ts';
import { compilePatches, type PatchProgram } from '../endpointsync/program.ts';
import { describeFailure, type PatchOutcome } from '../endpointsync/report.ts';
import type { ApplyRequest } from '../endpointsync/run.ts';
import type { PatchedTenant } from '../endpointsync/tenant.ts';
import { ApiFailure } from '../kubeclient/api-failure.ts';
import type { Patience } from '../kubeclient/backoff.ts';
import type { KubeClient } from '../kubeclient/kube-client.ts';
import { objectId, Reflector } from '../kubeclient/reflector.ts';
import { WorkQueue } from '../kubeclient/work-queue.ts';
import { type SourceName, sourceOf } from './marks.ts';
import {
  type ObjectState,
  ObjectStates,
  type SyncState,
  type SyncSummary,
} from './object-states.ts';
import { recordEvent } from './sync-events.ts';
import { ForeignObject, TargetWriter, type WriteVerb } from './target-writer.ts';
import { notSynced, targetOf, translateEndpoints, withMarks } from './translate.ts';

/** Runs the patches of a tenant on an object, somewhere where they cannot hurt. */
export interface PatchRunner {
  apply(program: PatchProgram, request: ApplyRequest): Promise<PatchOutcome>;
}

export interface TenantSyncOptions {
  readonly source: KubeClient;
  readonly target: KubeClient;
  readonly patched: PatchedTenant;
  readonly runner: PatchRunner;
  readonly clock: { now(): number };
  /** The summary or the state of an object is another than before. */
  changed(): void;
  wrote?(verb: WriteVerb): void;
  failed?(reason: string): void;
  readonly patience?: Patience;
  readonly watchSeconds?: number;
}

/** Objects that are worked on at once: each waits for the network most of the time. */
const WORKERS = 16;
/** What is repaired again and again is repaired ever more rarely: two loops may disagree. */
const REPAIR: Patience = { firstMs: 1000, lastMs: 60_000 };
const CALM_MS = 60_000;
const FREE_REPAIRS = 3;

interface Repair {
  readonly basis: string;
  readonly count: number;
  readonly at: number;
}

export class TenantSync {
  readonly #options: TenantSyncOptions;
  readonly #states = new ObjectStates();
  readonly #queue: WorkQueue;
  readonly #writer: TargetWriter;
  readonly #endpoints: Reflector;
  readonly #services: Reflector;
  readonly #targets: Reflector;
  readonly #problems = new Map<string, ApiFailure>();
  /** By key of the target, the object of the tenant that it is about. */
  readonly #bySource = new Map<string, string>();
  readonly #repairs = new Map<string, Repair>();
  #program: PatchProgram;
  /** Grows with each change of the patches. */
  #edition = 0;
  #lastSync: string | undefined;

  constructor(options: TenantSyncOptions) {
    this.#options = options;
    this.#program = compilePatches(options.patched);
    const { patience, source, target } = options;
    const { name: tenant, namespace, mode } = options.patched.tenant;
    this.#queue = new WorkQueue({
      work: (key) => this.#work(key),
      delayFor: waitAskedFor,
      workers: WORKERS,
      idle: () => this.#settled(),
      ...(patience === undefined ? {} : { patience }),
    });
    this.#endpoints = this.#reflect('source', source, { plural: 'endpoints' }, (key) => key);
    this.#services = this.#reflect('source', source, { plural: 'services' }, (key) =>
      this.#endpoints.get(key) === undefined ? undefined : key,
    );
    const at = mode === 'single' ? { namespace } : {};
    this.#targets = this.#reflect('target', target, { plural: 'endpoints', ...at }, (key, object) =>
      this.#sourceKey(key, object),
    );
    this.#writer = new TargetWriter({
      client: target,
      tenant,
      noted: (object) => this.#targets.note(object),
      wrote: (verb) => options.wrote?.(verb),
    });
  }

  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
    await this.#queue.stop();
  }

  /** New patches or another configuration: every object of the tenant is done again. */
  update(patched: PatchedTenant): void {
    this.#program = compilePatches(patched);
    this.#edition += 1;
    this.#enqueueAll();
  }

  get states(): ObjectState[] {
    return this.#states.list();
  }

  get summary(): SyncSummary {
    const waiting = this.#endpoints.size - this.#states.size;
    const summary = this.#states.summary(this.#lastSync, {
      unknown: Math.max(0, waiting),
      again: this.#queue.busy,
    });
    const [problem] = this.#problems;
    if (problem === undefined || summary.state === 'Failed') {
      return this.#isSynced || problem !== undefined
        ? summary
        : {
            ...summary,
            state: 'Stale',
            reason: 'Starting',
            message: 'the clusters are being read',
          };
    }
    const [end, failure] = problem;
    const message = `the ${end} cannot be read: ${failure.message}`;
    return { ...summary, state: 'Stale', reason: failure.reason, message };
  }

  /** Everything that is known is done, and nothing waits to be tried again. */
  get isSettled(): boolean {
    return (
      this.#isSynced &&
      !this.#queue.busy &&
      this.#states.count('Stale') === 0 &&
      this.#problems.size === 0
    );
  }

  /** How often a collection was listed as a whole. */
  get lists(): number {
    return this.#reflectors.reduce((sum, { lists }) => sum + lists, 0);
  }

  get #reflectors(): readonly Reflector[] {
    return [this.#endpoints, this.#services, this.#targets];
  }

  get #isSynced(): boolean {
    return this.#reflectors.every(({ isSynced }) => isSynced);
  }

  #reflect(
    end: 'source' | 'target',
    client: KubeClient,
    of: { plural: string; namespace?: string },
    keyOf: (key: string, object: KubeObject | undefined) => string | undefined,
  ): Reflector {
    const { patience, watchSeconds } = this.#options;
    const name = end === 'source' ? 'tenant cluster' : 'control-plane cluster';
    const id = `${name} (${of.plural})`;
    return new Reflector({
      client,
      of,
      changed: (key, object) => {
        const due = keyOf(key, object);
        if (due !== undefined && this.#isSynced) this.#queue.add(due);
      },
      synced: () => this.#enqueueAll(),
      problem: (failure) => {
        const isNews = failure === undefined ? this.#recovered(id) : this.#isNew(id, failure);
        if (isNews) this.#options.changed();
      },
      ...(patience === undefined ? {} : { patience }),
      ...(watchSeconds === undefined ? {} : { watchSeconds }),
    });
  }

  /** What failed while an end was away need not wait for its patience to end. */
  #recovered(id: string): boolean {
    if (!this.#problems.delete(id)) return false;
    for (const key of this.#states.keysIn('Stale')) this.#queue.add(key);
    return true;
  }

  #isNew(id: string, failure: ApiFailure): boolean {
    const before = this.#problems.get(id);
    this.#problems.set(id, failure);
    return before?.message !== failure.message;
  }

  /** The object of the tenant that an object of the target is about. */
  #sourceKey(key: string, object: KubeObject | undefined): string | undefined {
    if (object === undefined) return this.#bySource.get(key);
    const from = sourceOf(object, this.#program.tenant.name);
    // A foreign object may stand where one of ours should: whoever waits for it is in this map.
    if (from === undefined) return this.#bySource.get(key);
    const source = `${from.namespace}/${from.name}`;
    // A copy under another name is not ours, whatever its marks say.
    if (idOf(targetOf(from, this.#program.tenant)) !== key) return this.#bySource.get(key);
    this.#bySource.set(key, source);
    return source;
  }

  /** What is there on either side: objects of the target whose source is gone have to go, too. */
  #enqueueAll(): void {
    if (!this.#isSynced) return;
    for (const key of this.#endpoints.keys()) this.#queue.add(key);
    for (const object of this.#targets.values()) {
      const key = this.#sourceKey(objectId(object), object);
      if (key !== undefined) this.#queue.add(key);
    }
    this.#options.changed();
  }

  async #work(key: string): Promise<void> {
    const edition = this.#edition;
    try {
      await this.#sync(key);
      if (edition !== this.#edition) this.#queue.add(key);
    } catch (error) {
      const failure = asFailure(error);
      this.#note(key, failure.isPassing ? 'Stale' : 'Failed', failure);
      throw error;
    }
  }

  async #sync(key: string): Promise<void> {
    const source = nameFrom(key);
    const { tenant } = this.#program;
    const endpoints = this.#endpoints.get(key);
    const target = idOf(targetOf(source, tenant));
    const actual = this.#targets.get(target);
    if (endpoints === undefined) {
      if (actual !== undefined) await this.#writer.remove(actual, source);
      this.#states.remove(key);
      this.#repairs.delete(key);
      this.#bySource.delete(target);
      this.#options.changed();
      return;
    }
    this.#bySource.set(target, key);
    const skip = notSynced(source, { endpoints, service: this.#services.get(key) });
    if (skip !== undefined) {
      if (actual !== undefined) await this.#writer.remove(actual, source);
      this.#note(key, 'Skipped', skip);
      return;
    }
    const wanted = await this.#wanted(endpoints, actual);
    if (wanted instanceof Failure) {
      this.#note(key, 'Failed', wanted);
      return;
    }
    const basis = `${this.#edition} ${endpoints.metadata.resourceVersion}`;
    const wait = this.#repairWait(key, basis);
    if (wait > 0) {
      this.#queue.addLater(key, wait);
      return;
    }
    try {
      if (await this.#writer.put(wanted, actual, source)) this.#countRepair(key, basis);
    } catch (error) {
      if (!(error instanceof ForeignObject)) throw error;
      this.#note(key, 'Failed', { reason: 'ForeignObject', message: error.message });
      return;
    }
    this.#note(key, 'Synced', {});
  }

  async #wanted(
    endpoints: KubeObject,
    actual: KubeObject | undefined,
  ): Promise<KubeObject | Failure> {
    const program = this.#program;
    const translated = translateEndpoints(endpoints, program.tenant);
    if (program.patches.length === 0) return translated;
    const { object, report } = await this.#options.runner.apply(program, {
      object: translated as unknown as JsonObject,
      direction: 'forward',
      virtualObject: endpoints as unknown as JsonObject,
      hostObject: (actual ?? null) as unknown as JsonObject | null,
      values: false,
    });
    if (object !== undefined) return withMarks(object, endpoints, program.tenant);
    const { failure } = report;
    // Not what the patches do, but what happened to them.
    if (failure?.reason === 'crash') throw passing('Sandbox', describeFailure(failure));
    const message = failure === undefined ? 'the patches failed' : describeFailure(failure);
    return new Failure('PatchFailed', message);
  }

  /** Milliseconds until the target may be written again without a change of the source. */
  #repairWait(key: string, basis: string): number {
    const last = this.#repairs.get(key);
    if (last === undefined || last.basis !== basis || last.count <= FREE_REPAIRS) return 0;
    const bound = REPAIR.firstMs * 2 ** Math.min(last.count - FREE_REPAIRS - 1, 10);
    return Math.max(0, last.at + Math.min(bound, REPAIR.lastMs) - performance.now());
  }

  #countRepair(key: string, basis: string): void {
    const last = this.#repairs.get(key);
    const now = performance.now();
    const goesOn = last !== undefined && last.basis === basis && now - last.at < CALM_MS;
    this.#repairs.set(key, { basis, count: goesOn ? last.count + 1 : 0, at: now });
  }

  #note(key: string, state: SyncState, why: { reason?: string; message?: string }): void {
    const source = nameFrom(key);
    const { clock } = this.#options;
    const { reason, message } = why;
    const target = targetOf(source, this.#program.tenant);
    const next = {
      source,
      target,
      state,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
    };
    const { changed, before } = this.#states.set(key, next, clock.now());
    if (!changed) return;
    if (state === 'Failed') this.#options.failed?.(reason ?? 'Unknown');
    this.#record(key, next, before);
    this.#options.changed();
  }

  #settled(): void {
    if (this.#states.count('Stale') + this.#states.count('Failed') > 0) return;
    this.#lastSync = rfc3339(this.#options.clock.now());
    this.#options.changed();
  }

  /** Only what somebody may want to know: that it fails, and that it works again. */
  #record(key: string, now: Omit<ObjectState, 'since'>, before: ObjectState | undefined): void {
    const { clock, source, target } = this.#options;
    const fails = now.state === 'Failed';
    if (!fails && !(before?.state === 'Failed' && now.state === 'Synced')) return;
    const message = now.message ?? 'synced to the control-plane cluster again';
    const event = {
      type: fails ? ('Warning' as const) : ('Normal' as const),
      reason: fails ? 'SyncError' : 'Synced',
      message: fails ? `Error syncing: ${message}` : message,
      time: clock.now(),
    };
    const [ours, theirs] = [this.#endpoints.get(key), this.#targets.get(idOf(now.target))];
    if (ours !== undefined) void recordEvent(source, ours, event);
    if (theirs !== undefined) void recordEvent(target, theirs, event);
  }
}

/** Something that trying again does not help. */
class Failure {
  readonly reason: string;
  readonly message: string;

  constructor(reason: string, message: string) {
    this.reason = reason;
    this.message = message;
  }
}

function asFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  return new ApiFailure({ code: 0, reason: 'Unexpected', message: String(error) });
}

function passing(reason: string, message: string): ApiFailure {
  return new ApiFailure({ code: 0, reason, message });
}

function waitAskedFor(error: unknown): number | undefined {
  const seconds = error instanceof ApiFailure ? error.retryAfterSeconds : undefined;
  return seconds === undefined ? undefined : seconds * 1000;
}

function nameFrom(key: string): SourceName {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

function idOf({ namespace, name }: SourceName): string {
  return `${namespace}/${name}`;
}
