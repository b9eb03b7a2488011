/**
 * Secrets of clusters served here that follow a project secret. A write has the data at once; a
 * change of the project secret is carried over soon, and what a crash kept from it by the next start.
 * Where there is nothing to follow, a copy keeps what it had: it is in no commit.
 */
import {
  type Authorizer,
  describeKey,
  forbiddenError,
  jsonEqual,
  type KubeObject,
  keyString,
  type ObjectKey,
  sameKey,
} from '../../apimachinery/index.ts';
import {
  dataToCopy,
  grantedProjectSecret,
  isCopyingDisabled,
  type Kind,
  type KindTable,
  noteProjectSecret,
  PROJECT_NAMESPACE,
  PROJECT_SECRET_KIND,
  settingsOf,
  wantedProjectSecret,
} from '../../kinds/index.ts';
import type { Guard } from '../../registry/index.ts';
import { type Change, type ScopedStore, type Store, scopedStore } from '../../state/index.ts';

/** The cluster of a tenant, and that of a control plane. */
export type ClusterType = 'virtualcluster' | 'cluster';

/** A cluster, as far as its Secrets go. */
export interface SecretScope {
  readonly store: ScopedStore;
  /** The namespace of the project that owns a namespace of the cluster; undefined: no project does. */
  projectNamespace(namespace: string): string | undefined;
}

export interface ClusterSecretsOptions {
  /** Of the platform. */
  readonly kinds: KindTable;
  readonly platform: Pick<Store, 'get' | 'observe'>;
  readonly authorizer: Authorizer;
  projectPrefix(): string;
  /** By name. */
  readonly tenants: ReadonlyMap<string, KubeObject>;
  /** Of all clusters; undefined until it is open. */
  clusters(): Store | undefined;
  /** The kind of Secrets there. */
  readonly secret: Kind;
  onError(error: unknown): void;
}

export class ClusterSecrets {
  readonly #options: ClusterSecretsOptions;
  readonly #group: string;
  readonly #stop: () => void;
  /** Changed since the last round; undefined: none is due. */
  #due: Set<string> | 'all' | undefined;

  constructor(options: ClusterSecretsOptions) {
    this.#options = options;
    this.#group = options.kinds.groups[0] ?? '';
    this.#stop = options.platform.observe(
      { group: this.#group, kind: PROJECT_SECRET_KIND },
      ({ current }) => this.#plan(current.key),
    );
  }

  close(): void {
    this.#stop();
    this.#due = undefined;
  }

  /** Looks at every copy soon. */
  sweep(): void {
    this.#plan('all');
  }

  place(clusters: Store, door: ClusterType, name: string): SecretScope {
    return {
      store: scopedStore(clusters, `${door}:${name}`),
      projectNamespace: (namespace) => {
        const project = this.#projectOf(door, name, namespace);
        return project === undefined ? undefined : this.#options.projectPrefix() + project;
      },
    };
  }

  /** A tenant cluster is all of its project; of a control plane, the namespaces of its tenants. */
  #projectOf(door: ClusterType, name: string, namespace: string): string | undefined {
    const { tenants } = this.#options;
    if (door === 'virtualcluster') {
      const tenant = tenants.get(name);
      return tenant && settingsOf(tenant).project;
    }
    for (const tenant of tenants.values()) {
      const { cluster, targetNamespace, project } = settingsOf(tenant);
      if (cluster === name && targetNamespace === namespace) return project;
    }
    return undefined;
  }

  /** Every cluster that there is now. */
  *#places(): Iterable<SecretScope> {
    const clusters = this.#options.clusters();
    if (clusters === undefined) return;
    const names = new Set<string>();
    for (const [name, tenant] of this.#options.tenants) {
      names.add(settingsOf(tenant).cluster);
      yield this.place(clusters, 'virtualcluster', name);
    }
    for (const name of names) yield this.place(clusters, 'cluster', name);
  }

  /** Asks whoever has a Secret follow a project secret for the right to get that. */
  guard(place: SecretScope): Guard {
    const { secret, authorizer, kinds } = this.#options;
    return ({ user, kind, object, old }) => {
      if (kind !== secret || object === undefined) return undefined;
      const source = this.#wanted(place, object);
      if (source === undefined) return undefined;
      const before = old && grantedProjectSecret(this.#group, old);
      if (before !== undefined && sameKey(before, source)) return undefined;
      const { group, namespace, name } = source;
      const of = kinds.kinds.find((one) => one.group === group && one.kind === source.kind);
      const resource = of?.plural ?? '';
      const attributes = { verb: 'get', group, resource, namespace, name } as const;
      if (authorizer.authorize(user, attributes).allowed) return undefined;
      const own = object.metadata.name ?? '';
      const why = `user ${JSON.stringify(user.name)} cannot get ${describeKey(source)}, whose data it would have`;
      return forbiddenError(`secrets ${JSON.stringify(own)} is forbidden: ${why}`, kind, own);
    };
  }

  /** The object as it is kept; it passed the guard. */
  complete(place: SecretScope, kind: Kind, object: KubeObject): KubeObject {
    if (kind !== this.#options.secret) return object;
    const source = this.#wanted(place, object);
    const noted = { ...object, metadata: { ...object.metadata } };
    noteProjectSecret(noted, source);
    return this.#withData(noted, source) ?? noted;
  }

  #wanted(place: SecretScope, object: KubeObject): ObjectKey | undefined {
    const namespace = place.projectNamespace(object.metadata.namespace ?? '');
    return wantedProjectSecret(this.#group, object, namespace);
  }

  /** Undefined: it stays as it is. */
  #withData(object: KubeObject, source: ObjectKey | undefined): KubeObject | undefined {
    if (source === undefined || isCopyingDisabled(object)) return undefined;
    const data = dataToCopy(this.#options.platform.get(source)?.object);
    return data === undefined || jsonEqual(data, object['data']) ? undefined : { ...object, data };
  }

  /** Not in the step of the platform: what fails here must not fail there. */
  #plan(what: ObjectKey | 'all'): void {
    const due = this.#due;
    if (due === undefined) setImmediate(() => this.#run());
    if (what === 'all' || due === 'all') this.#due = 'all';
    else this.#due = (due ?? new Set()).add(keyString(what));
  }

  #run(): void {
    const due = this.#due;
    this.#due = undefined;
    if (due === undefined) return;
    try {
      for (const place of this.#places()) this.#renew(place, due);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #renew(place: SecretScope, due: Set<string> | 'all'): void {
    const { group, kind } = this.#options.secret;
    const changes: Change[] = [];
    for (const stored of place.store.list({ group, kind }).items) {
      // Most are no copies, and need not be parsed.
      if (!stored.json().includes(PROJECT_NAMESPACE)) continue;
      const { key, object } = stored;
      const granted = grantedProjectSecret(this.#group, object);
      if (granted === undefined || (due !== 'all' && !due.has(keyString(granted)))) continue;
      // The tenant may be of another project by now, whose secrets nobody was asked about.
      const wanted = this.#wanted(place, object);
      const renewed =
        wanted !== undefined && sameKey(wanted, granted)
          ? this.#withData(object, granted)
          : undefined;
      const { namespace, name } = key;
      if (renewed !== undefined) {
        changes.push({ type: 'put', key: { group, kind, namespace, name }, object: renewed });
      }
    }
    if (changes.length === 0) return;
    place.store.apply(changes);
    place.store.flush().catch(this.#options.onError);
  }
}
