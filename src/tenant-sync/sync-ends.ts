/**
 * Both ends of the sync of a kind: its objects in the tenant cluster and on the control-plane
 * cluster, and the Services that decide about them, kept current by reflectors, with their read
 * errors.
 */

import type { KubeObject } from '../apimachinery/index.ts';
import type { Backoff } from '../concurrency/index.ts';
import type { KnownObject, TenantCluster } from '../endpoint-patches/index.ts';
import {
  type ApiFailure,
  type KubeClient,
  Reflector,
  type ResourceCollection,
} from '../kubernetes-client/index.ts';
import type { Observed } from './effects.ts';
import { MANAGED_ANNOTATIONS, type SourceName } from './managed-annotations.ts';
import type { SyncSummary } from './object-states.ts';
import { idOf, nameFrom } from './source-keys.ts';
import { recordEvent, type SyncEvent } from './sync-events.ts';
import type { SyncedKind } from './synced-kinds.ts';
import { targetOf } from './translate.ts';

export interface SyncEndsOptions {
  readonly kind: SyncedKind;
  readonly source: KubeClient;
  readonly target: KubeClient;
  /** The initial tenant configuration. */
  readonly tenant: TenantCluster;
  readonly backoff?: Backoff | undefined;
  readonly watchSeconds?: number | undefined;
  /** The source key of a target, from `SourceKeys`; called for every change. */
  sourceKey(target: string, object: KubeObject | undefined): string | undefined;
  /** Called after a change of the key, once both ends are read. */
  due(key: string): void;
  /** Called when a collection is complete for the first time. */
  complete(): void;
  /** Called when an unreadable end can be read again. */
  recovered(): void;
  /** Called when the read errors change. */
  changed(): void;
}

/** Objects are identified by `namespace/name`. */
export class SyncEnds {
  readonly objects: Reflector;
  /** Services that decide which objects are synced; absent: none. */
  readonly #services: Reflector | undefined;
  readonly targets: Reflector;
  readonly #options: SyncEndsOptions;
  readonly #reflectors: readonly Reflector[];
  readonly #problems = new ClusterProblems();

  constructor(options: SyncEndsOptions) {
    this.#options = options;
    const { kind, tenant, sourceKey } = options;
    const { plural } = kind;
    this.objects = this.#reflect('source', { plural }, (key) => key);
    if (kind.followsService) {
      this.#services = this.#reflect('source', { plural: 'services' }, (key) =>
        this.objects.get(key) === undefined ? undefined : key,
      );
    }
    const labelSelector = `${MANAGED_ANNOTATIONS.managedBy}=${tenant.name}`;
    const at = tenant.mode === 'single' ? { namespace: tenant.namespace } : { labelSelector };
    this.targets = this.#reflect('target', { plural, ...at }, sourceKey);
    const services = this.#services === undefined ? [] : [this.#services];
    this.#reflectors = [this.objects, ...services, this.targets];
  }

  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
  }

  /** True after both ends were read. */
  get isSynced(): boolean {
    return this.#reflectors.every(({ isSynced }) => isSynced);
  }

  get hasProblems(): boolean {
    return this.#problems.any;
  }

  /** Number of full lists so far. */
  get lists(): number {
    return this.#reflectors.reduce((sum, { lists }) => sum + lists, 0);
  }

  /** Adds read errors to a summary. */
  onto(summary: SyncSummary): SyncSummary {
    return this.#problems.onto(summary, this.isSynced);
  }

  /** The Service of the same name, if it decides about the object. */
  serviceOf(key: string): KubeObject | undefined {
    return this.#services?.get(key);
  }

  /** The objects of the tenant, in order; undefined before both ends were read. */
  observed(tenant: TenantCluster): Observed[] | undefined {
    if (!this.isSynced) return undefined;
    const { kind } = this.#options;
    return [...this.objects.keys()].sort().flatMap((key) => {
      const object = this.objects.get(key);
      if (object === undefined) return [];
      const target = idOf(targetOf(nameFrom(key), tenant));
      return { kind, object, service: this.serviceOf(key), actual: this.targets.get(target) };
    });
  }

  /** All objects that patches may refer to. */
  known(): KnownObject[] {
    const of = (kind: string, keys: Iterable<string>): KnownObject[] =>
      [...keys].map((key) => ({ kind, ...nameFrom(key) }));
    const services = this.#services?.keys() ?? [];
    return [...of(this.#options.kind.name, this.objects.keys()), ...of('Service', services)];
  }

  /** Records an event for an object on both ends. */
  record(key: string, to: SourceName, event: SyncEvent & { readonly time: number }): void {
    const { source, target } = this.#options;
    const [ours, theirs] = [this.objects.get(key), this.targets.get(idOf(to))];
    if (ours !== undefined) void recordEvent(source, ours, event);
    if (theirs !== undefined) void recordEvent(target, theirs, event);
  }

  #reflect(
    end: 'source' | 'target',
    of: ResourceCollection,
    keyOf: (key: string, object: KubeObject | undefined) => string | undefined,
  ): Reflector {
    const { backoff, watchSeconds, complete, due } = this.#options;
    const name = end === 'source' ? 'tenant cluster' : 'control-plane cluster';
    return new Reflector({
      client: this.#options[end],
      of,
      changed: (key, object) => {
        const changed = keyOf(key, object);
        if (changed !== undefined && this.isSynced) due(changed);
      },
      synced: complete,
      problem: (failure) => this.#noteProblem(`${name} (${of.plural})`, failure),
      ...(backoff === undefined ? {} : { backoff }),
      ...(watchSeconds === undefined ? {} : { watchSeconds }),
    });
  }

  #noteProblem(end: string, failure: ApiFailure | undefined): void {
    const { recovered, changed } = this.#options;
    if (failure !== undefined) {
      if (this.#problems.add(end, failure)) changed();
    } else if (this.#problems.recovered(end)) {
      recovered();
      changed();
    }
  }
}

/** Reasons why the ends of a sync cannot be read, by end. */
class ClusterProblems {
  readonly #problems = new Map<string, ApiFailure>();

  get any(): boolean {
    return this.#problems.size > 0;
  }

  /** True if it was a problem until now. */
  recovered(end: string): boolean {
    return this.#problems.delete(end);
  }

  /** True if the message is new. */
  add(end: string, failure: ApiFailure): boolean {
    const before = this.#problems.get(end);
    this.#problems.set(end, failure);
    return before?.message !== failure.message;
  }

  /** Adds the problems to a summary; a failed object takes precedence. */
  onto(summary: SyncSummary, isRead: boolean): SyncSummary {
    const [problem] = this.#problems;
    if (problem !== undefined && summary.state !== 'Failed') {
      const [end, failure] = problem;
      const message = `the ${end} cannot be read: ${failure.message}`;
      return { ...summary, state: 'Stale', reason: failure.reason, message };
    }
    if (isRead || problem !== undefined) return summary;
    const message = 'the clusters are being read';
    return { ...summary, state: 'Stale', reason: 'Starting', message };
  }
}
