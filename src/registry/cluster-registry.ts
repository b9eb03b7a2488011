/**
 * Writes of a cluster's own objects, such as namespaces: the rules of the registry without git. A
 * write is decided and applied synchronously, and answered when it is durable.
 */
import { randomUUID } from 'node:crypto';
import { forbiddenError, type KubeObject, notFound, rfc3339 } from '../apimachinery/index.ts';
import type { Kind } from '../kinds/index.ts';
import type { Change, ScopedStore, StoredObject } from '../state/index.ts';
import { terminating } from './projection/served-object.ts';
import type { ObjectRegistry } from './registry.ts';
import type { ApplyRequest } from './writes/apply.ts';
import { applyThrough } from './writes/apply-request.ts';
import { type CreateRequest, prepareCreate } from './writes/create.ts';
import { type DeleteRequest, prepareDelete } from './writes/delete.ts';
import { identified, prepareUpdate, type UpdateRequest } from './writes/update.ts';
import {
  type DecisionParts,
  type DeleteResult,
  type Guard,
  keyOf,
  type Target,
  type WriteResult,
} from './writes/write-context.ts';

export interface ClusterParts extends Pick<DecisionParts, 'kinds' | 'clock'> {
  readonly store: ScopedStore;
  /** Kind whose objects are the namespaces of the others. Absent: there are none. */
  readonly namespaces?: Kind | undefined;
  readonly guards?: readonly Guard[];
  /** Returns the form in which an object is stored. `old`: absent for a new object. */
  complete?(kind: Kind, object: KubeObject, old?: KubeObject): KubeObject;
}

/** Cannot be deleted, as in Kubernetes. */
const LASTING_NAMESPACES = ['default', 'kube-system', 'kube-public'];

export class ClusterRegistry implements ObjectRegistry {
  readonly #parts: ClusterParts;
  readonly #write: DecisionParts;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    this.#write = { guards: [], ...parts, under: '' };
  }

  get(target: Target): StoredObject {
    const found = this.#parts.store.get(keyOf(target));
    if (found === undefined) throw notFound(target.kind, target.name);
    return found;
  }

  async create(request: CreateRequest): Promise<WriteResult> {
    const { kind, options } = request;
    const create = prepareCreate(this.#write, request);
    const { warnings, key } = create;
    this.#checkNamespace(kind, key.namespace);
    create.prepare();
    const object = this.#complete(kind, create.preview());
    if (options.dryRun) return { object, warnings };
    object.metadata.uid = randomUUID();
    object.metadata.creationTimestamp = rfc3339(this.#parts.clock.now());
    return written(await this.#apply({ type: 'put', key, object }), object, warnings);
  }

  async update(request: UpdateRequest): Promise<WriteResult> {
    if (request.create !== undefined && this.#parts.store.get(keyOf(request)) === undefined) {
      const { kind, namespace, duplicates, options } = request;
      const body = identified(request.create(), request);
      const made = await this.create({ kind, namespace, body, duplicates, options });
      return { ...made, created: true };
    }
    const update = prepareUpdate(this.#write, request);
    const prepared = update.prepare();
    const current = this.get(request);
    const warnings = update.warnings();
    const object = this.#complete(request.kind, update.preview() ?? current.object, current.object);
    if (request.options.dryRun) return { object, warnings };
    if (prepared.do === 'nothing') return { object: current.object, stored: current, warnings };
    const { key } = update;
    const ends = prepared.do === 'state' && prepared.changes[0]?.type === 'remove';
    const change: Change = ends ? { type: 'remove', key } : { type: 'put', key, object };
    return written(await this.#apply(change), object, warnings);
  }

  async apply(request: ApplyRequest): Promise<WriteResult & { created: boolean }> {
    return await applyThrough(this, this.#parts, request);
  }

  async delete(request: DeleteRequest): Promise<DeleteResult> {
    const { kind, name, options } = request;
    const isNamespace = kind === this.#parts.namespaces;
    if (isNamespace && LASTING_NAMESPACES.includes(name)) {
      throw forbiddenError(
        `${kind.plural} ${JSON.stringify(name)} is forbidden: this namespace may not be deleted`,
        kind,
        name,
      );
    }
    // No finalizer or grace period delays a deletion here, and no object has an owner.
    const { uid, resourceVersion } = request.delete;
    const asked = { uid, resourceVersion };
    const deletion = prepareDelete(this.#write, { ...request, delete: asked });
    const prepared = deletion.prepare();
    const { object } = this.get(request);
    const held = (object.metadata.finalizers ?? []).length > 0;
    const ending = terminating(object, 0, this.#parts.clock.now());
    if (options.dryRun) return { object: held ? ending : object, gone: !held, warnings: [] };
    if (isNamespace) this.#empty(name);
    if (prepared.do === 'nothing') return { object, gone: false, warnings: [] };
    const { key } = deletion;
    const change: Change = held ? { type: 'put', key, object: ending } : { type: 'remove', key };
    const stored = await this.#apply(change);
    return { object: stored?.object ?? object, stored, gone: stored === undefined, warnings: [] };
  }

  #complete(kind: Kind, object: KubeObject, old?: KubeObject): KubeObject {
    return this.#parts.complete?.(kind, object, old) ?? object;
  }

  /**
   * The contents of a namespace are removed first, with finalizers too: no controller would finish
   * them.
   */
  #empty(namespace: string): void {
    const { store, kinds } = this.#parts;
    const changes = kinds.kinds
      .filter(({ scope }) => scope === 'Namespaced')
      .flatMap(({ group, kind }) =>
        store
          .list({ group, kind, namespace })
          .items.map(({ key: { name } }) => ({ group, kind, namespace, name })),
      )
      .map((key): Change => ({ type: 'remove', key }));
    store.apply(changes);
  }

  #checkNamespace(kind: Kind, namespace: string): void {
    const { namespaces } = this.#parts;
    if (kind.scope !== 'Namespaced' || namespaces === undefined) return;
    this.get({ kind: namespaces, namespace: '', name: namespace });
  }

  async #apply(change: Change): Promise<StoredObject | undefined> {
    const [stored] = this.#parts.store.apply([change]);
    await this.#parts.store.flush();
    return stored;
  }
}

/** Stored form of Kubernetes kinds that count no generations. */
export function withoutGeneration(_kind: Kind, object: KubeObject): KubeObject {
  delete object.metadata.generation;
  return object;
}

function written(
  stored: StoredObject | undefined,
  object: KubeObject,
  warnings: readonly string[],
): WriteResult {
  return stored === undefined ? { object, warnings } : { object: stored.object, stored, warnings };
}
