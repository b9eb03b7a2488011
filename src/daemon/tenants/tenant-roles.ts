/**
 * Syncs the ClusterRoleBindings of `spec.clusterRoles` to tenant clusters that are reached by a
 * kubeconfig. A cluster is not contacted before a role is assigned.
 */

import type { Clock } from '../../apimachinery/index.ts';
import { KeyedMutex } from '../../concurrency/index.ts';
import {
  type KindTable,
  settingsOf,
  type TenantSettings,
  underGroupsPrefix,
} from '../../kinds/index.ts';
import { type ClusterAccess, KubeClient } from '../../kubernetes-client/index.ts';
import {
  type Branch,
  type ConditionProblem,
  type PruneBudget,
  reportProblems,
} from '../../registry/index.ts';
import { assertHeld } from '../../replication/index.ts';
import type { Store } from '../../state/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { RoleBindings, removeRoleBindings } from '../../tenant-sync/index.ts';
import type { AccessControl } from '../access/access-control.ts';
import type { ReplicatedPlatform } from '../replicated/replicated-platform.ts';
import type { Tenants } from './clusters.ts';
import { isInSecret, Kubeconfigs } from './kubeconfigs.ts';
import { goneTenants, OrphanCleanup } from './orphan-cleanup.ts';
import type { SyncTarget, SyncTargets } from './sync-targets.ts';

export interface TenantRolesOptions {
  readonly tenants: Tenants;
  /** Targets of the bindings, separate from those of endpoint sync. */
  targets(): Promise<SyncTargets>;
  readonly assignments: AccessControl['assignments'];
  readonly kinds: KindTable;
  readonly store: Store;
  readonly branch: Pick<Branch, 'submit'>;
  /** Folder of kubeconfigs that tenants name by file. */
  readonly kubeconfigs: string;
  /** Reason why a user has stopped the sync of a tenant; undefined: it runs. */
  suspended(tenant: string): string | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly replicated?: Pick<ReplicatedPlatform, 'term'> | undefined;
}

interface Loop {
  readonly bindings: RoleBindings;
  readonly client: KubeClient;
  /** Settings at the start of the loop; changed settings take a new loop. */
  readonly text: string;
}

/** Condition of a Tenant about its bindings. */
const CONDITION = 'ClusterRoles';

export class TenantRoles {
  readonly #options: TenantRolesOptions;
  readonly #loops = new Map<string, Loop>();
  readonly #mutexes = new KeyedMutex();
  readonly #kubeconfigs: Kubeconfigs;
  readonly #former: OrphanCleanup;
  readonly #stops: readonly (() => void)[];
  #isDue = false;
  #closed = false;

  constructor(options: TenantRolesOptions) {
    this.#options = options;
    const { kinds, store, kubeconfigs: folder, logger, tenants, assignments } = options;
    this.#kubeconfigs = new Kubeconfigs({ kinds, store, folder });
    this.#former = new OrphanCleanup({
      targets: () => options.targets(),
      access: ({ kubeconfig }) => this.#access(kubeconfig),
      retry: (tenant) => this.follow(tenant),
      removesInDoubt: true,
      remove: ({ client, tenant, keep }) =>
        // A loop at the same cluster maintains them.
        keep === undefined ? removeRoleBindings(client, tenant) : Promise.resolve(0),
      logger,
    });
    this.#stops = [
      this.#kubeconfigs.follow((secret) => {
        for (const name of tenants.names()) {
          const tenant = tenants.get(name);
          if (tenant !== undefined && isInSecret(settingsOf(tenant).source, secret))
            this.follow(name);
        }
      }),
      assignments.observe(() => this.#changedSoon()),
    ];
  }

  /** Call when a tenant was added, removed or changed. Calls for one tenant run one after the other. */
  follow(name: string): void {
    if (this.#closed) return;
    this.#mutexes
      .run(name, () => this.#bring(name))
      .catch((err: unknown) =>
        this.#options.logger.error({ err, tenant: name }, 'No bindings of cluster roles'),
      );
  }

  /** Cleans up after tenants that were removed while no process ran, within the prune budget. */
  async resume(budget: PruneBudget): Promise<void> {
    const { gone, held } = goneTenants(
      await this.#options.targets(),
      this.#options.tenants,
      budget,
    );
    if (held.length > 0) {
      const text =
        'Tenants are gone that were there when this process stopped. Their ClusterRoleBindings stay: remove them with kubectl delete clusterrolebindings -l gitplane.dev/managed-by=NAME';
      this.#options.logger.error({ tenants: held }, text);
    }
    for (const name of gone) this.follow(name);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stops) stop();
    this.#former.close();
    await this.#mutexes.idle();
    await Promise.all([...this.#loops.keys()].map((name) => this.#stop(name)));
  }

  /** Combines all changes of one tick. */
  #changedSoon(): void {
    if (this.#isDue || this.#closed) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      for (const name of this.#options.tenants.names()) {
        const loop = this.#loops.get(name);
        if (loop === undefined) this.follow(name);
        else loop.bindings.update();
      }
    });
  }

  async #bring(name: string): Promise<void> {
    if (this.#closed) return;
    if (this.#options.suspended(name) !== undefined) return await this.#stop(name);
    const tenant = this.#options.tenants.get(name);
    const settings = tenant && settingsOf(tenant);
    const targets = await this.#options.targets();
    if (settings?.source === undefined || !settings.clusterRoles.enabled) {
      await this.#stop(name);
      await targets.retire(name);
      await this.#former.clean(name);
      return this.#tell(name, undefined);
    }
    const isIdle = this.#options.assignments.all().length === 0 && !targets.isRecorded(name);
    if (isIdle) return;
    await this.#run(name, settings, targets).catch(async (error: unknown) => {
      await this.#stop(name);
      const message = error instanceof Error ? error.message : String(error);
      this.#tell(name, { reason: 'Kubeconfig', message });
    });
  }

  async #run(name: string, settings: TenantSettings, targets: SyncTargets): Promise<void> {
    const { source, clusterRoles } = settings;
    if (source === undefined) return;
    const target: SyncTarget = { cluster: '', kubeconfig: source };
    const access = await this.#access(source);
    const text = JSON.stringify([access, clusterRoles]);
    this.#former.reached(target, access);
    await targets.record(name, target, false);
    if (this.#loops.get(name)?.text !== text) {
      await this.#stop(name);
      this.#start(name, { access, text, prefix: clusterRoles.groupsPrefix });
    }
    await this.#former.clean(name, { target });
  }

  #start(name: string, of: { access: ClusterAccess; text: string; prefix: string }): void {
    const client = new KubeClient(of.access);
    const bindings: RoleBindings = new RoleBindings({
      client,
      tenant: name,
      wanted: () => underGroupsPrefix(this.#options.assignments.all(), of.prefix),
      changed: () => this.#tell(name, bindings.problem),
    });
    this.#loops.set(name, { bindings, client, text: of.text });
    bindings.start();
  }

  async #stop(name: string): Promise<void> {
    const loop = this.#loops.get(name);
    if (loop === undefined) return;
    this.#loops.delete(name);
    await loop.bindings.stop();
    loop.client.close();
  }

  async #access(source: SyncTarget['kubeconfig']): Promise<ClusterAccess> {
    if (source === undefined) throw new Error('The tenant cluster has no kubeconfig');
    const access = await this.#kubeconfigs.access(source);
    const term = this.#options.replicated?.term;
    return term === undefined ? access : { ...access, assertMayAct: () => assertHeld(term) };
  }

  #tell(name: string, problem: ConditionProblem | undefined): void {
    const { store, branch, clock, kinds, logger } = this.#options;
    const kind = kinds.kinds.find(({ storedIn }) => storedIn === 'file');
    const key = { group: kind?.group ?? '', kind: kind?.kind ?? '', namespace: '', name };
    const stored = store.get(key);
    if (stored === undefined || this.#closed) return;
    const onError = (err: unknown): void =>
      logger.debug({ err, tenant: name }, 'The condition cannot be written yet');
    void reportProblems({ store, branch, clock, onError }, stored, { [CONDITION]: problem });
  }
}
