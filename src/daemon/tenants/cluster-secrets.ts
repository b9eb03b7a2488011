/**
 * Secrets of served clusters that are derived from a project secret. A write gets the data at once. A
 * change of the project secret is copied soon after, or at the next start if a crash prevented it. When
 * the source is gone, the derived secret keeps its data, because it is in no commit. It copies one life of
 * its source: the right to read that is no right to read a later one of the name.
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
  annotateProjectSecret,
  dataToCopy,
  grantedProjectSecret,
  isCopyingDisabled,
  type Kind,
  type KindTable,
  PROJECT_NAMESPACE,
  PROJECT_SECRET_KIND,
  PROJECT_SECRET_UID,
  settingsOf,
  wantedProjectSecret,
} from '../../kinds/index.ts';
import type { Guard } from '../../registry/index.ts';
import { type Change, type ScopedStore, type Store, scopedStore } from '../../state/index.ts';

/** The cluster of a tenant, or a control plane. */
export type ClusterType = 'virtualcluster' | 'cluster';

/** A cluster, as far as its Secrets are concerned. */
export interface SecretScope {
  readonly store: ScopedStore;
  /** Namespace of the project that owns a namespace of the cluster; undefined: none does. */
  projectNamespace(namespace: string): string | undefined;
}

export interface ClusterSecretsOptions {
  /** Kinds of the platform. */
  readonly kinds: KindTable;
  readonly platform: Pick<Store, 'get' | 'observe'>;
  readonly authorizer: Authorizer;
  projectPrefix(): string;
  /** Tenants by name. */
  readonly tenants: ReadonlyMap<string, KubeObject>;
  /** Store of all clusters; undefined until it is open. */
  clusters(): Store | undefined;
  /** The kind of Secrets in clusters. */
  readonly secret: Kind;
  onError(error: unknown): void;
}

export class ClusterSecrets {
  readonly #options: ClusterSecretsOptions;
  readonly #group: string;
  readonly #stop: () => void;
  /** Project secrets that changed since the last run; undefined: no run is due. */
  #due: Set<string> | 'all' | undefined;

  constructor(options: ClusterSecretsOptions) {
    this.#options = options;
    this.#group = options.kinds.groups[0] ?? '';
    this.#stop = options.platform.observe(
      { group: this.#group, kind: PROJECT_SECRET_KIND },
      ({ current }) => this.#schedule(current.key),
    );
  }

  close(): void {
    this.#stop();
    this.#due = undefined;
  }

  /** Schedules a check of every derived secret. */
  sweep(): void {
    this.#schedule('all');
  }

  place(clusters: Store, type: ClusterType, name: string): SecretScope {
    return {
      store: scopedStore(clusters, `${type}:${name}`),
      projectNamespace: (namespace) => {
        const project = this.#projectOf(type, name, namespace);
        return project === undefined ? undefined : this.#options.projectPrefix() + project;
      },
    };
  }

  /** A tenant cluster belongs to one project; a control plane has a namespace per tenant. */
  #projectOf(type: ClusterType, name: string, namespace: string): string | undefined {
    const { tenants } = this.#options;
    if (type === 'virtualcluster') {
      const tenant = tenants.get(name);
      return tenant && settingsOf(tenant).project;
    }
    for (const tenant of tenants.values()) {
      const { cluster, targetNamespace, project } = settingsOf(tenant);
      if (cluster === name && targetNamespace === namespace) return project;
    }
    return undefined;
  }

  /** All current clusters. */
  *#scopes(): Iterable<SecretScope> {
    const clusters = this.#options.clusters();
    if (clusters === undefined) return;
    const names = new Set<string>();
    for (const [name, tenant] of this.#options.tenants) {
      names.add(settingsOf(tenant).cluster);
      yield this.place(clusters, 'virtualcluster', name);
    }
    for (const name of names) yield this.place(clusters, 'cluster', name);
  }

  /** A Secret derived from a project secret takes the right to get that. */
  guard(scope: SecretScope): Guard {
    const { secret, authorizer, kinds } = this.#options;
    return ({ user, kind, object, old }) => {
      if (kind !== secret || object === undefined) return undefined;
      const source = this.#wanted(scope, object);
      if (source === undefined) return undefined;
      const before = old && grantedProjectSecret(this.#group, old);
      if (before !== undefined && sameKey(before, source)) return undefined;
      const { group, namespace, name } = source;
      const of = kinds.kinds.find((one) => one.group === group && one.kind === source.kind);
      const resource = of?.plural ?? '';
      // The next life of what is not there may be anybody's.
      const living = this.#options.platform.get(source);
      const isThere = living !== undefined && !living.terminating;
      const asked = { group, resource, namespace, name: isThere ? name : '' };
      if (authorizer.authorize(user, { verb: 'get', ...asked }).allowed) return undefined;
      const own = object.metadata.name ?? '';
      const why = `user ${JSON.stringify(user.name)} cannot get ${describeKey(source)}, whose data it would have`;
      return forbiddenError(`secrets ${JSON.stringify(own)} is forbidden: ${why}`, kind, own);
    };
  }

  /** The object as it is stored, after the guard has accepted it. */
  complete(
    scope: SecretScope,
    kind: Kind,
    { object, old }: { readonly object: KubeObject; readonly old: KubeObject | undefined },
  ): KubeObject {
    if (kind !== this.#options.secret) return object;
    const source = this.#wanted(scope, object);
    const annotated = { ...object, metadata: { ...object.metadata } };
    const before = old && grantedProjectSecret(this.#group, old);
    const isSame = source !== undefined && before !== undefined && sameKey(before, source);
    const known = isSame ? old?.metadata.annotations?.[PROJECT_SECRET_UID] : undefined;
    annotateProjectSecret(annotated, source, known ?? this.#uidOf(source));
    return this.#withData(annotated, source) ?? annotated;
  }

  /** Undefined: it is not there. */
  #uidOf(source: ObjectKey | undefined): string | undefined {
    const living = source && this.#options.platform.get(source);
    return living?.terminating === true ? undefined : living?.object.metadata.uid;
  }

  #wanted(scope: SecretScope, object: KubeObject): ObjectKey | undefined {
    const namespace = scope.projectNamespace(object.metadata.namespace ?? '');
    return wantedProjectSecret(this.#group, object, namespace);
  }

  /** Undefined: the object is unchanged. A Secret without the uid of its source gets that of the first one. */
  #withData(object: KubeObject, source: ObjectKey | undefined): KubeObject | undefined {
    if (source === undefined || isCopyingDisabled(object)) return undefined;
    const stored = this.#options.platform.get(source);
    const { annotations } = object.metadata;
    const { [PROJECT_SECRET_UID]: bound = this.#uidOf(source) } = annotations ?? {};
    if (bound !== stored?.object.metadata.uid) return undefined;
    const data = dataToCopy(stored?.object);
    if (data === undefined) return undefined;
    if (jsonEqual(data, object['data']) && annotations?.[PROJECT_SECRET_UID] === bound) {
      return undefined;
    }
    const renewed = { ...object, metadata: { ...object.metadata }, data };
    annotateProjectSecret(renewed, source, bound);
    return renewed;
  }

  /** Runs later, so that a failure here does not fail the write to the platform. */
  #schedule(what: ObjectKey | 'all'): void {
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
      for (const scope of this.#scopes()) this.#update(scope, due);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #update(scope: SecretScope, due: Set<string> | 'all'): void {
    const { group, kind } = this.#options.secret;
    const changes: Change[] = [];
    for (const stored of scope.store.list({ group, kind }).items) {
      // Most Secrets are not derived, and need not be parsed.
      if (!stored.json().includes(PROJECT_NAMESPACE)) continue;
      const { key, object } = stored;
      const granted = grantedProjectSecret(this.#group, object);
      if (granted === undefined || (due !== 'all' && !due.has(keyString(granted)))) continue;
      // The tenant may have moved to another project, whose secrets the guard was not asked about.
      const wanted = this.#wanted(scope, object);
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
    scope.store.apply(changes);
    scope.store.flush().catch(this.#options.onError);
  }
}
