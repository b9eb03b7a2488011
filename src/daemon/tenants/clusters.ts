/**
 * The clusters served here: one per tenant, and the control planes that tenants name. Their objects are
 * in no commit, and are stored beside the platform's state: that state can be deleted and rebuilt from
 * git, and this one cannot. The store is opened with the first tenant.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import {
  type Authorizer,
  type Clock,
  jsonEqual,
  type KubeObject,
  rfc3339,
} from '../../apimachinery/index.ts';
import {
  type ClusterApiRoot,
  clusterAuthorizer,
  isOutOfReach,
  type ScopedAuthorizer,
} from '../../auth/index.ts';
import {
  CLUSTER_KINDS,
  EVENT,
  type KindTable,
  NAMESPACE,
  SECRET,
  settingsOf,
  tableOf,
} from '../../kinds/index.ts';
import { ClusterRegistry } from '../../registry/index.ts';
import type { ClusterRoot, ClusterRoots } from '../../server/index.ts';
import {
  openLmdbEngine,
  openStore,
  type RedoOptions,
  type ScopedStore,
  type Store,
  scopedStore,
  sealingCodec,
  strictCodec,
} from '../../state/index.ts';
import type { ReplicatedPlatform } from '../replicated/replicated-platform.ts';
import { ClusterSecrets, type ClusterType } from './cluster-secrets.ts';
import { removeOldEvents } from './event-expiry.ts';
import { SyncTargets } from './sync-targets.ts';

export interface ClustersOptions {
  /** Folder with the data of all clusters. */
  readonly directory: string;
  readonly stateKey: Buffer;
  readonly kinds: KindTable;
  /** Store of the platform, for tenants and their project secrets. */
  readonly store: Pick<Store, 'get' | 'list' | 'observe'>;
  readonly rights: ScopedAuthorizer;
  /** Authorizer of the platform, which also enforces key scopes. */
  readonly authorizer: Authorizer;
  projectPrefix(): string;
  /** `/kubernetes`; the API roots of clusters are below it. */
  readonly prefix: string;
  readonly clock: Clock;
  /** Absent: the directory holds the data. */
  readonly replicated?: Pick<ReplicatedPlatform, 'openEngine' | 'clustersUsed'> | undefined;
  onError(error: unknown): void;
  /** Lets watches continue after a crash. Absent: they list again. */
  readonly redo?: RedoOptions;
}

/** Current tenants. */
export interface Tenants {
  get(name: string): KubeObject | undefined;
  names(): string[];
}

export interface Clusters extends ClusterRoots {
  readonly tenants: Tenants;
  /** Resolves when the store that the current tenants need is open. */
  ready(): Promise<void>;
  /** Targets to which tenants synced objects. */
  syncTargets(): Promise<SyncTargets>;
  /** A scoped store for state that is in no cluster and in no commit. */
  scopedStore(name: string): Promise<ScopedStore>;
  /** True if there was a tenant before this process started. */
  readonly wasUsed: boolean;
  /** Sets the listener that is called with the name of each changed tenant, once its API root exists. */
  follow(listener: (name: string) => void): void;
  /** Removes expired events of clusters. */
  removeOldEvents(): Promise<void>;
  close(): Promise<void>;
}

const CLUSTER_TABLE = tableOf(CLUSTER_KINDS);
/** Namespaces of a new cluster. */
const FIRST_NAMESPACES = ['default', 'kube-system'];

export class ServedClusters implements Clusters {
  readonly prefix: string;
  readonly wasUsed: boolean;
  readonly #options: ClustersOptions;
  readonly #found = new Map<string, ClusterRoot>();
  readonly #tenants = new Map<string, KubeObject>();
  readonly #path: RegExp;
  readonly #secrets: ClusterSecrets;
  readonly #stop: () => void;
  #listener: ((name: string) => void) | undefined;
  #store: Promise<Store> | undefined;
  #open: Store | undefined;
  #places: SyncTargets | undefined;

  constructor(options: ClustersOptions) {
    this.#options = options;
    this.prefix = options.prefix;
    const prefix = options.prefix.replaceAll('.', '\\.');
    this.#path = new RegExp(`^${prefix}/(virtualcluster|cluster)/([a-z0-9-]+)(?:[/?]|$)`);
    const tenant = options.kinds.kinds.find(({ storedIn }) => storedIn === 'file');
    if (tenant === undefined) throw new Error('The table of kinds has no tenants');
    this.#secrets = new ClusterSecrets({
      ...options,
      secret: SECRET,
      tenants: this.#tenants,
      clusters: () => this.#open,
      platform: options.store,
    });
    const collection = { group: tenant.group, kind: tenant.kind };
    // Synced objects may remain although the last tenant is gone.
    this.wasUsed = options.replicated?.clustersUsed ?? hasFiles(options.directory);
    if (this.wasUsed) this.#store = this.#openStore();
    for (const { object } of options.store.list(collection).items) this.#set(object);
    this.#stop = options.store.observe(collection, ({ type, current }) => {
      if (type === 'DELETED') this.#remove(current.key.name);
      else this.#set(current.object);
    });
  }

  get tenants(): Tenants {
    return {
      get: (name) => this.#tenants.get(name),
      names: () => [...this.#tenants.keys()].sort(),
    };
  }

  async syncTargets(): Promise<SyncTargets> {
    this.#store ??= this.#openStore();
    await this.#store;
    if (this.#places === undefined) throw new Error('The clusters are not open');
    return this.#places;
  }

  async scopedStore(name: string): Promise<ScopedStore> {
    this.#store ??= this.#openStore();
    return scopedStore(await this.#store, name);
  }

  follow(listener: (name: string) => void): void {
    this.#listener = listener;
    for (const name of this.#tenants.keys()) this.#notify(name);
  }

  find(url: string): ClusterRoot | undefined {
    const match = this.#path.exec(url);
    const [, type, name = ''] = match ?? [];
    const store = this.#open;
    if (!isClusterType(type) || store === undefined) return undefined;
    if (!this.#exists(type, name)) return undefined;
    const id = `${type}/${name}`;
    const root = this.#found.get(id) ?? this.#apiRoot(store, type, name);
    this.#found.set(id, root);
    return root;
  }

  /** Without events, which end within an hour, and the namespaces that each cluster has. */
  hasObjects(tenant: string): boolean {
    if (this.#open === undefined) return false;
    const { store } = this.#secrets.place(this.#open, 'virtualcluster', tenant);
    return CLUSTER_KINDS.filter((kind) => kind !== EVENT).some(({ group, kind }) =>
      store
        .list({ group, kind })
        .items.some(({ key }) => kind !== NAMESPACE.kind || !FIRST_NAMESPACES.includes(key.name)),
    );
  }

  async ready(): Promise<void> {
    await this.#store;
  }

  removeOldEvents(): Promise<void> {
    const { clock } = this.#options;
    return removeOldEvents({ surfaces: this.#found.values(), clock });
  }

  async close(): Promise<void> {
    this.#stop();
    this.#secrets.close();
    const store = await this.#store?.catch(() => undefined);
    await store?.close();
  }

  #set(object: KubeObject): void {
    const name = object.metadata.name ?? '';
    const before = this.#tenants.get(name);
    this.#tenants.set(name, object);
    // The sync itself writes the status, so a status change must not start it again.
    if (before !== undefined && isSameTenant(before, object)) return;
    this.#store ??= this.#openStore();
    this.#notify(name);
  }

  #remove(name: string): void {
    this.#tenants.delete(name);
    this.#notify(name);
  }

  #notify(name: string): void {
    if (this.#listener === undefined) return;
    this.ready().then(() => {
      this.#secrets.sweep();
      this.#listener?.(name);
    }, this.#options.onError);
  }

  #exists(type: ClusterType, name: string): boolean {
    if (type === 'virtualcluster') return this.#tenants.has(name);
    return (
      [...this.#tenants.values()].some((object) => settingsOf(object).cluster === name) ||
      this.#places?.mayHaveObjectsIn(name) === true
    );
  }

  async #openStore(): Promise<Store> {
    const { directory, stateKey, onError, replicated, redo } = this.#options;
    const engine =
      replicated === undefined
        ? await openLmdbEngine(directory, { onError })
        : await replicated.openEngine('clusters', { onError });
    const secrets = new Set(
      CLUSTER_KINDS.filter(({ secretPaths }) => secretPaths.length > 0).map(({ kind }) => kind),
    );
    const codec =
      replicated === undefined
        ? sealingCodec(stateKey, ({ kind }) => secrets.has(kind))
        : strictCodec(stateKey);
    const local = replicated === undefined && redo !== undefined ? { redo } : {};
    this.#open = await openStore({ engine, codec, onError, ...local });
    this.#places = new SyncTargets(scopedStore(this.#open, 'sync'));
    return this.#open;
  }

  #apiRoot(whole: Store, type: ClusterType, name: string): ClusterRoot {
    const { clock, rights, prefix } = this.#options;
    const place = this.#secrets.place(whole, type, name);
    const { store } = place;
    const secrets = this.#secrets;
    const kinds = CLUSTER_TABLE;
    const access = this.#accessRoot(type, name);
    if (store.list(namespaceCollection).items.length === 0) {
      store.apply(FIRST_NAMESPACES.map((each) => newNamespace(each, clock.now())));
    }
    return {
      kinds,
      store,
      registry: new ClusterRegistry({
        kinds,
        store,
        clock,
        namespaces: NAMESPACE,
        guards: [secrets.guard(place)],
        complete: (kind, object, old) => secrets.complete(place, kind, { object, old }),
      }),
      authorizer: clusterAuthorizer(rights, access),
      isHiddenFrom: (user) => isOutOfReach(rights, user, access),
      root: `${prefix}/${type}/${name}`,
    };
  }

  #accessRoot(type: ClusterType, name: string): ClusterApiRoot {
    const [group = ''] = this.#options.kinds.groups;
    if (type === 'cluster') {
      const target = { kind: 'Cluster', parts: { cluster: name } } as const;
      return { group, resource: 'clusters', name, target: () => target };
    }
    return {
      group,
      resource: 'tenants',
      name,
      target: () => ({ kind: 'ProjectVirtualCluster', parts: this.#scopeParts(name) }),
    };
  }

  /** Parts by which scopes can name a tenant cluster. */
  #scopeParts(name: string): { virtualCluster: string; project?: string; namespace?: string } {
    const object = this.#tenants.get(name);
    const project = object && settingsOf(object).project;
    if (project === undefined) return { virtualCluster: name };
    return {
      virtualCluster: name,
      project,
      namespace: this.#options.projectPrefix() + project,
    };
  }
}

function isClusterType(text: string | undefined): text is ClusterType {
  return text === 'virtualcluster' || text === 'cluster';
}

function hasFiles(directory: string): boolean {
  return existsSync(directory) && readdirSync(directory).length > 0;
}

const namespaceCollection = { group: NAMESPACE.group, kind: NAMESPACE.kind };

function newNamespace(name: string, now: number) {
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: NAMESPACE.kind,
    metadata: { name, uid: randomUUID(), creationTimestamp: rfc3339(now) },
    status: { phase: 'Active' },
  };
  return { type: 'put' as const, key: { ...namespaceCollection, namespace: '', name }, object };
}

function isSameTenant(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid && jsonEqual(a.spec, b.spec);
}
