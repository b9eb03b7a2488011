/** Runs the endpoint sync of each tenant, and reports its progress in the status. */
import { type Clock, type JsonObject, jsonEqual } from '../../apimachinery/index.ts';
import { KeyedMutex } from '../../concurrency/index.ts';
import type { SyncedKindName, SyncedTenant } from '../../endpoint-patches/index.ts';
import {
  type KindTable,
  type KubeconfigSource,
  settingsOf,
  syncedTenant,
  type TenantChange,
  type TenantSettings,
  tenantVersions,
} from '../../kinds/index.ts';
import { type ClusterAccess, KubeClient } from '../../kubernetes-client/index.ts';
import type { Branch, PruneBudget } from '../../registry/index.ts';
import { assertHeld } from '../../replication/index.ts';
import type { Store } from '../../state/index.ts';
import type { Logger, TenantMetrics } from '../../telemetry/index.ts';
import {
  type Effects,
  effectsOf,
  type ObjectState,
  type PatchRunner,
  type Previewed,
  type PreviewRequest,
  previewPatches,
  SYNCED_KINDS,
  type SyncSummary,
  summaryAsJson,
  TenantSync,
  worstOf,
} from '../../tenant-sync/index.ts';
import type { ReplicatedPlatform } from '../replicated/replicated-platform.ts';
import type { Tenants } from './clusters.ts';
import { isInSecret, Kubeconfigs } from './kubeconfigs.ts';
import { goneTenants, OrphanCleanup, removeSyncedObjects } from './orphan-cleanup.ts';
import { type SyncTarget, type SyncTargets, targetOf } from './sync-targets.ts';

export interface TenantLoopsOptions {
  readonly tenants: Tenants;
  targets(): Promise<SyncTargets>;
  readonly kinds: KindTable;
  readonly store: Store;
  readonly branch: Pick<Branch, 'submit'>;
  readonly runner: PatchRunner;
  /** For previews and plans, so that no expression in one delays the sync. */
  readonly trialRunner: PatchRunner;
  /** Form of the names of references: see the option of the same name. */
  readonly referenceNames: 'short' | 'concat';
  /** `/kubernetes`. */
  readonly prefix: string;
  /** Access to a served cluster, by the path of its API. */
  access(root: string): Promise<ClusterAccess>;
  /** Folder of kubeconfigs that tenants name by file. */
  readonly kubeconfigs: string;
  readonly metrics: TenantMetrics;
  /** Reason why a user has stopped the sync of a tenant; undefined: it runs. */
  suspended(tenant: string): string | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly replicated?: Pick<ReplicatedPlatform, 'term'> | undefined;
}

interface Loop {
  /** One per kind, Endpoints first. */
  readonly syncs: readonly KindSync[];
  /** Settings at the start of the loop; changed settings take a new loop. */
  readonly ends: string;
  patched: string;
  readonly clients: readonly KubeClient[];
}

interface KindSync {
  readonly kind: SyncedKindName;
  readonly sync: TenantSync;
}

/** Shortest interval between writes of a status. */
const STATUS_MS = 500;

export class TenantLoops {
  readonly #options: TenantLoopsOptions;
  readonly #loops = new Map<string, Loop>();
  /** Tenants whose sync cannot run, with the reason. */
  readonly #broken = new Map<string, SyncSummary>();
  readonly #mutexes = new KeyedMutex();
  readonly #due = new Map<string, NodeJS.Timeout>();
  readonly #kubeconfigs: Kubeconfigs;
  readonly #former: OrphanCleanup;
  readonly #stopFollowing: () => void;
  #closed = false;

  constructor(options: TenantLoopsOptions) {
    this.#options = options;
    const { kinds, store, kubeconfigs: folder, logger } = options;
    this.#kubeconfigs = new Kubeconfigs({ kinds, store, folder });
    this.#former = new OrphanCleanup({
      targets: () => options.targets(),
      access: (syncTarget) => this.#accessTo(syncTarget),
      retry: (tenant) => this.follow(tenant),
      remove: (removal) => removeSyncedObjects(removal, logger),
      logger,
    });
    this.#stopFollowing = this.#kubeconfigs.follow((secret) => {
      for (const name of options.tenants.names()) if (this.#names(name, secret)) this.follow(name);
    });
    options.metrics.follow(() => this.#counts());
    options.metrics.followLeftovers(() => this.#former.remaining);
  }

  /** Call when a tenant was added, removed or changed. Calls for one tenant run one after the other. */
  follow(name: string): void {
    if (this.#closed) return;
    this.#mutexes
      .run(name, () => this.#bring(name))
      .catch((err: unknown) => this.#options.logger.error({ err, tenant: name }, 'No sync'));
  }

  /**
   * Cleans up after tenants that were removed while no process ran, unless they are more than the prune
   * budget allows: a wrong folder looks like that.
   */
  async resume(budget: PruneBudget): Promise<void> {
    const { tenants, logger } = this.#options;
    const { gone, held } = goneTenants(await this.#options.targets(), tenants, budget);
    if (held.length > 0) {
      const text =
        'Tenants are gone that were there when this process stopped. What they have synced stays: remove it with kubectl delete endpoints,services -A -l gitplane.dev/managed-by=NAME';
      logger.error({ tenants: held }, text);
    }
    for (const name of gone) this.follow(name);
  }

  has(name: string): boolean {
    return this.#options.tenants.get(name) !== undefined;
  }

  /** Undefined: there is no such tenant, or its sync does not run. */
  states(name: string): readonly ObjectState[] | undefined {
    return this.#loops.get(name)?.syncs.flatMap(({ sync }) => sync.states);
  }

  preview(name: string, { config, ...wish }: PreviewRequest): Promise<Previewed[]> | undefined {
    const { tenants, trialRunner, referenceNames } = this.#options;
    const tenant = tenants.get(name);
    if (tenant === undefined) return undefined;
    const settings = settingsOf(config === undefined ? tenant : { ...tenant, spec: config });
    return previewPatches(trialRunner, syncedTenant(name, settings, referenceNames), wish);
  }

  /** Effects of a changed tenant file; undefined: the objects of the tenant are not known. */
  effects(change: TenantChange): Promise<Effects> | undefined {
    const { trialRunner: runner, referenceNames } = this.#options;
    const found = this.#loops.get(change.name)?.syncs.map(({ sync }) => sync.observed);
    if (found === undefined || found.includes(undefined)) return undefined;
    const observed = found.flatMap((each) => each ?? []);
    return effectsOf({ ...tenantVersions(change, referenceNames), observed, runner });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopFollowing();
    this.#former.close();
    await this.#mutexes.idle();
    for (const timer of this.#due.values()) clearTimeout(timer);
    await Promise.all([...this.#loops.keys()].map((name) => this.#stop(name)));
  }

  async #bring(name: string): Promise<void> {
    if (this.#closed) return;
    const tenant = this.#options.tenants.get(name);
    const settings = tenant && settingsOf(tenant);
    this.#broken.delete(name);
    const suspended = this.#options.suspended(name);
    if (suspended !== undefined) {
      await this.#stop(name);
      const message = `The sync is ${suspended}`;
      this.#broken.set(name, { ...NOTHING, state: 'Suspended', reason: 'Suspended', message });
      this.#publishSoon(name);
      return;
    }
    if (settings === undefined) {
      await this.#stop(name);
      await (await this.#options.targets()).retire(name);
      await this.#former.clean(name);
      return;
    }
    if (!settings.enabled) {
      await this.#stop(name);
      this.#publishSoon(name);
      return;
    }
    try {
      await this.#run(name, settings);
    } catch (error) {
      await this.#stop(name);
      const message = error instanceof Error ? error.message : String(error);
      this.#broken.set(name, { ...NOTHING, state: 'Failed', reason: 'Kubeconfig', message });
    }
    this.#publishSoon(name);
  }

  async #run(name: string, settings: TenantSettings): Promise<void> {
    const { prefix, referenceNames } = this.#options;
    const synced = syncedTenant(name, settings, referenceNames);
    const { tenant, patches } = synced;
    const syncTarget = targetOf(settings, tenant.mode);
    const source = await this.#access(settings.source, `${prefix}/virtualcluster/${name}`);
    const target = await this.#accessTo(syncTarget);
    const kinds = Object.keys(patches);
    const ends = JSON.stringify([source, target, settings.targetNamespace, tenant.mode, kinds]);
    const text = JSON.stringify(synced);
    const running = this.#loops.get(name);
    this.#former.reached(syncTarget, target);
    if (running?.ends === ends && running.patched !== text) {
      for (const { kind, sync } of running.syncs) {
        sync.update({ tenant, patches: patches[kind] ?? [] });
      }
      running.patched = text;
    }
    const retain = settings.deletionPolicy === 'Retain';
    await (await this.#options.targets()).record(name, syncTarget, retain);
    if (running?.ends !== ends) {
      await this.#stop(name);
      this.#start(name, { source, target, synced, ends, text });
    }
    await this.#former.clean(name, { target: syncTarget, tenant });
  }

  #start(
    name: string,
    of: {
      source: ClusterAccess;
      target: ClusterAccess;
      synced: SyncedTenant;
      ends: string;
      text: string;
    },
  ): void {
    const { runner, clock, metrics } = this.#options;
    const clients = [new KubeClient(of.source), new KubeClient(of.target)] as const;
    const { tenant, patches } = of.synced;
    const syncs: KindSync[] = [];
    for (const kind of Object.values(SYNCED_KINDS)) {
      const own = patches[kind.name];
      if (own === undefined) continue;
      const sync: TenantSync = new TenantSync({
        kind,
        source: clients[0],
        target: clients[1],
        patched: { tenant, patches: own },
        runner,
        clock,
        changed: () => this.#publishSoon(name),
        others: () => syncs.flatMap((other) => (other.sync === sync ? [] : other.sync.known)),
        wrote: (verb) => metrics.writes.inc({ tenant: name, kind: kind.name, verb }),
        failed: (reason) => metrics.failures.inc({ tenant: name, kind: kind.name, reason }),
      });
      syncs.push({ kind: kind.name, sync });
    }
    this.#loops.set(name, { syncs, ends: of.ends, patched: of.text, clients });
    for (const { sync } of syncs) sync.start();
  }

  async #stop(name: string): Promise<void> {
    const loop = this.#loops.get(name);
    if (loop === undefined) return;
    this.#loops.delete(name);
    await Promise.all(loop.syncs.map(({ sync }) => sync.stop()));
    for (const client of loop.clients) client.close();
  }

  async #access(kubeconfig: KubeconfigSource | undefined, own: string): Promise<ClusterAccess> {
    if (kubeconfig === undefined) return await this.#options.access(own);
    const access = await this.#kubeconfigs.access(kubeconfig);
    const term = this.#options.replicated?.term;
    return term === undefined ? access : { ...access, assertMayAct: () => assertHeld(term) };
  }

  async #accessTo({ cluster, kubeconfig }: SyncTarget): Promise<ClusterAccess> {
    return await this.#access(kubeconfig, `${this.#options.prefix}/cluster/${cluster}`);
  }

  /** True if the kubeconfig of an end of the tenant is in the SharedSecret. */
  #names(tenant: string, secret: { namespace: string; name: string }): boolean {
    const object = this.#options.tenants.get(tenant);
    if (object === undefined) return false;
    const { source, target } = settingsOf(object);
    return isInSecret(source, secret) || isInSecret(target, secret);
  }

  #publishSoon(name: string): void {
    if (this.#closed || this.#due.has(name)) return;
    const publish = (): void => {
      this.#due.delete(name);
      this.#publish(name).catch((err: unknown) =>
        this.#options.logger.debug({ err, tenant: name }, 'The status cannot be written yet'),
      );
    };
    this.#due.set(name, setTimeout(publish, STATUS_MS));
  }

  /** Writes the status to the state, never to git: it is observed again at the next start. */
  async #publish(name: string): Promise<void> {
    const { branch, store, kinds, tenants } = this.#options;
    const kind = kinds.kinds.find(({ storedIn }) => storedIn === 'file');
    if (tenants.get(name) === undefined || kind === undefined) return;
    const key = { group: kind.group, kind: kind.kind, namespace: '', name };
    await branch.submit({
      key,
      prepare: () => {
        const stored = store.get(key);
        const sync = summaryAsJson(this.#summary(name));
        const same = jsonEqual(stored?.object.status?.['sync'], sync);
        if (stored === undefined || same) return { do: 'nothing' };
        const { object, hidden } = stored;
        const status: JsonObject = { ...object.status, sync };
        return {
          do: 'state',
          changes: [{ type: 'put', key, object: { ...object, status }, hidden }],
        };
      },
    });
  }

  /** The counts of Endpoints, with the worse state of both kinds. */
  #summary(name: string): SyncSummary {
    const broken = this.#broken.get(name);
    if (broken !== undefined) return broken;
    const syncs = this.#loops.get(name)?.syncs ?? [];
    const [endpoints, services] = syncs.map(({ sync }) => sync.summary);
    if (endpoints === undefined) return { ...NOTHING, state: 'Disabled' };
    if (services === undefined) return endpoints;
    return { ...worstOf(endpoints, services), services };
  }

  *#counts(): Iterable<{ tenant: string; kind: SyncedKindName; summary: SyncSummary }> {
    for (const [tenant, { syncs }] of this.#loops) {
      for (const { kind, sync } of syncs) yield { tenant, kind, summary: sync.summary };
    }
  }
}

const NOTHING = { objects: 0, synced: 0, skipped: 0, stale: 0, failed: 0 } as const;
