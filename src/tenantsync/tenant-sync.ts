/**
 * The loop of one tenant: Endpoints of the tenant cluster, translated and patched, on the
 * control-plane cluster. Level-triggered: each pass over an object compares what is with what
 * should be, whatever happened in between, so a pass too many changes nothing.
 */
import { rfc3339 } from '../apimachinery/clock.ts';
import type { KubeObject } from '../apimachinery/object.ts';
import { compilePatches, type PatchProgram } from '../endpointsync/program.ts';
import type { KnownObject } from '../endpointsync/references.ts';
import type { PatchedTenant } from '../endpointsync/tenant.ts';
import { ApiFailure } from '../kubeclient/api-failure.ts';
import type { Patience } from '../kubeclient/backoff.ts';
import type { KubeClient } from '../kubeclient/kube-client.ts';
import { objectId, Reflector } from '../kubeclient/reflector.ts';
import { WorkQueue } from '../kubeclient/work-queue.ts';
import type { Observed } from './effects.ts';
import { EndProblems } from './end-problems.ts';
import { MARKS, sourceOf } from './marks.ts';
import { decide, type PatchRunner } from './object-pass.ts';
import {
  type ObjectState,
  ObjectStates,
  type SyncState,
  type SyncSummary,
} from './object-states.ts';
import { Repairs } from './repairs.ts';
import { idOf, nameFrom, SourceKeys, strayIn } from './source-keys.ts';
import { eventOf, recordEvent } from './sync-events.ts';
import { ForeignObject, TargetWriter, type WriteVerb } from './target-writer.ts';
import { targetOf } from './translate.ts';

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
/** Where only our own objects are watched, nobody tells that a foreign one is gone. */
const FOREIGN_MS = 30_000;

export class TenantSync {
  readonly #options: TenantSyncOptions;
  readonly #states = new ObjectStates();
  readonly #queue: WorkQueue;
  readonly #writer: TargetWriter;
  readonly #endpoints: Reflector;
  readonly #services: Reflector;
  readonly #targets: Reflector;
  readonly #problems = new EndProblems();
  readonly #sources = new SourceKeys();
  readonly #repairs = new Repairs();
  readonly #returns = new Repairs();
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
    const labelSelector = `${MARKS.managedBy}=${tenant}`;
    const at = mode === 'single' ? { namespace } : { labelSelector };
    this.#targets = this.#reflect('target', target, { plural: 'endpoints', ...at }, (key, object) =>
      this.#sources.of(key, object, this.#program.tenant),
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
    return this.#problems.onto(summary, this.#isSynced);
  }

  /** Everything that is known is done, and nothing waits to be tried again. */
  get isSettled(): boolean {
    return (
      this.#isSynced &&
      !this.#queue.busy &&
      this.#states.count('Stale') === 0 &&
      !this.#problems.any
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
    of: { plural: string; namespace?: string; labelSelector?: string },
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
        const isNews =
          failure === undefined ? this.#recovered(id) : this.#problems.add(id, failure);
        if (isNews) this.#options.changed();
      },
      ...(patience === undefined ? {} : { patience }),
      ...(watchSeconds === undefined ? {} : { watchSeconds }),
    });
  }

  /** What failed while an end was away need not wait for its patience to end. */
  #recovered(id: string): boolean {
    if (!this.#problems.recovered(id)) return false;
    for (const key of this.#states.keysIn('Stale')) this.#queue.add(key);
    return true;
  }

  /** What is there on either side: objects of the target whose source is gone have to go, too. */
  #enqueueAll(): void {
    if (!this.#isSynced) return;
    for (const key of this.#endpoints.keys()) this.#queue.add(key);
    for (const object of this.#targets.values()) {
      const key = this.#sources.of(objectId(object), object, this.#program.tenant);
      if (key !== undefined) this.#queue.add(key);
    }
    this.#options.changed();
  }

  async #work(key: string): Promise<void> {
    const stray = strayIn(key);
    if (stray !== undefined) return await this.#removeStray(stray);
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

  async #removeStray(target: string): Promise<void> {
    const actual = this.#targets.get(target);
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
    const endpoints = this.#endpoints.get(key);
    const target = idOf(targetOf(source, program.tenant));
    const actual = this.#targets.get(target);
    if (endpoints === undefined) {
      if (actual !== undefined) await this.#writer.remove(actual, source);
      this.#forget(key, target);
      return;
    }
    this.#sources.set(target, key);
    const service = this.#services.get(key);
    const isOurs = actual !== undefined && this.#writer.isOurs(actual, source);
    const known = (): KnownObject[] => this.#known();
    const ends = { source, endpoints, service, actual, isOurs, known };
    const decision = await decide(ends, { program, runner: this.#options.runner });
    if (decision.do === 'skip') {
      if (actual !== undefined) await this.#writer.remove(actual, source);
      this.#note(key, 'Skipped', decision);
    } else if (decision.do === 'fail') this.#note(key, 'Failed', decision);
    else if (decision.do === 'return') await this.#return(key, decision.wanted);
    else await this.#put(key, decision.wanted, { endpoints, actual });
  }

  /** The Endpoints of the tenant as they are, in order; undefined before both ends were read. */
  get observed(): Observed[] | undefined {
    if (!this.#isSynced) return undefined;
    return [...this.#endpoints.keys()].sort().flatMap((key) => {
      const endpoints = this.#endpoints.get(key);
      if (endpoints === undefined) return [];
      const target = idOf(targetOf(nameFrom(key), this.#program.tenant));
      return { endpoints, service: this.#services.get(key), actual: this.#targets.get(target) };
    });
  }

  #known(): KnownObject[] {
    const of = (kind: string, keys: Iterable<string>): KnownObject[] =>
      [...keys].map((key) => ({ kind, ...nameFrom(key) }));
    return [...of('Endpoints', this.#endpoints.keys()), ...of('Service', this.#services.keys())];
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
    { endpoints, actual }: { endpoints: KubeObject; actual: KubeObject | undefined },
  ): Promise<void> {
    const basis = `${this.#edition} ${endpoints.metadata.resourceVersion}`;
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
    const message = 'somebody changes it again and again; it is put right at ever longer intervals';
    this.#note(key, 'Stale', { reason: 'Disputed', message });
    this.#queue.addLater(key, ms);
  }

  /** What was changed on the control-plane cluster goes back; then the object is looked at anew. */
  async #return(key: string, wanted: KubeObject): Promise<void> {
    const basis = String(this.#edition);
    const wait = this.#returns.wait(key, basis);
    if (wait > 0) return this.#waitFor(key, wait);
    const { source, wrote } = this.#options;
    this.#endpoints.note(await source.update({ plural: 'endpoints', ...nameFrom(key) }, wanted));
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

  #record(key: string, now: Omit<ObjectState, 'since'>, before: ObjectState | undefined): void {
    const { clock, source, target } = this.#options;
    const event = eventOf(now, before);
    if (event === undefined) return;
    const [ours, theirs] = [this.#endpoints.get(key), this.#targets.get(idOf(now.target))];
    const at = { ...event, time: clock.now() };
    if (ours !== undefined) void recordEvent(source, ours, at);
    if (theirs !== undefined) void recordEvent(target, theirs, at);
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
