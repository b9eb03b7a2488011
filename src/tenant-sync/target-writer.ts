/**
 * Makes the target equal to the wanted object, with as few writes as possible. An object without
 * the markers of this sync is never changed.
 */
import { jsonEqual, type KubeObject } from '../apimachinery/index.ts';
import { ApiFailure, hasReason, type KubeClient } from '../kubernetes-client/index.ts';
import { MANAGED_ANNOTATIONS, type SourceName, sourceOf } from './managed-annotations.ts';
import type { SyncedKind } from './synced-kinds.ts';

/** `return`: of an object in the tenant cluster. */
export type WriteVerb = 'create' | 'update' | 'delete' | 'return';

export interface TargetWriterOptions {
  readonly kind: SyncedKind;
  readonly client: KubeClient;
  readonly tenant: string;
  /** Receives the answer of the server to a write, which is newer than any watch. */
  written(object: KubeObject): void;
  wrote(verb: WriteVerb): void;
}

/** The object at the wanted name does not belong to the sync. */
export class ForeignObject extends Error {
  constructor(target: SourceName) {
    super(
      `${target.namespace}/${target.name} exists on the control-plane cluster and is not of this sync; delete or rename it`,
    );
    this.name = 'ForeignObject';
  }
}

/** A request and its answer: fields that the server defaults are not a difference. */
interface LastAnswer {
  readonly wanted: object;
  readonly answer: object;
}

export class TargetWriter {
  readonly #options: TargetWriterOptions;
  readonly #answered = new Map<string, LastAnswer>();

  constructor(options: TargetWriterOptions) {
    this.#options = options;
  }

  /** True if something was written. Throws ForeignObject and ApiFailure. */
  async put(
    wanted: KubeObject,
    actual: KubeObject | undefined,
    source: SourceName,
  ): Promise<boolean> {
    if (actual === undefined) {
      await this.#make(wanted, source);
      return true;
    }
    const { kind } = this.#options;
    if (!this.isOurs(actual, source)) throw new ForeignObject(nameOf(wanted));
    if (kind.mustReplace(wanted, actual)) {
      await this.#tryOut(wanted);
      await this.remove(actual, source);
      await this.#make(wanted, source);
      return true;
    }
    const complete = kind.complete(wanted, actual);
    if (this.#isSame(complete, actual)) return false;
    await this.#update(complete, actual);
    return true;
  }

  async #make(wanted: KubeObject, source: SourceName): Promise<void> {
    const { written, wrote } = this.#options;
    const target = nameOf(wanted);
    const made = await this.#create(wanted, target).catch((error: unknown) =>
      this.#refused(error, { target, source }),
    );
    this.#remember(wanted, made);
    written(made);
    wrote('create');
  }

  /**
   * Dry run under another name, so that an object that would be refused does not cost the existing
   * one.
   */
  async #tryOut(wanted: KubeObject): Promise<void> {
    const { kind, client } = this.#options;
    const { name: _name, namespace, ...metadata } = wanted.metadata;
    const trial = { ...wanted, metadata: { ...metadata, namespace, generateName: 'dry-run-' } };
    await client.create({ plural: kind.plural, namespace }, trial as KubeObject, true);
  }

  async #update(wanted: KubeObject, actual: KubeObject): Promise<void> {
    const { kind, client, written, wrote } = this.#options;
    const { uid, resourceVersion, ownerReferences, finalizers } = actual.metadata;
    const kept = { uid, resourceVersion, ownerReferences, finalizers };
    const metadata = { ...wanted.metadata, ...withoutUndefined(kept) };
    const at = { plural: kind.plural, ...nameOf(wanted) };
    const made = await client.update(at, { ...wanted, metadata });
    this.#remember(wanted, made);
    written(made);
    wrote('update');
  }

  /** True if an object of the sync was removed. Throws ApiFailure. */
  async remove(actual: KubeObject, source: SourceName): Promise<boolean> {
    if (!this.isOurs(actual, source)) return false;
    const { kind, client } = this.#options;
    const target = nameOf(actual);
    this.#answered.delete(idOf(target));
    try {
      await client.delete({ plural: kind.plural, ...target }, actual);
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
    }
    this.#options.wrote('delete');
    return true;
  }

  isOurs(actual: KubeObject, source: SourceName): boolean {
    const from = sourceOf(actual, this.#options.tenant);
    return from?.name === source.name && from.namespace === source.namespace;
  }

  async #create(wanted: KubeObject, target: SourceName): Promise<KubeObject> {
    const { kind, client } = this.#options;
    const { plural } = kind;
    const { namespace } = target;
    try {
      return await client.create({ plural, namespace }, wanted);
    } catch (error) {
      if (!isWithoutNamespace(error, namespace)) throw error;
    }
    await this.#createNamespace(namespace);
    return await client.create({ plural, namespace }, wanted);
  }

  /** The object exists, although the reflector has not seen it. */
  async #refused(
    error: unknown,
    { target, source }: { target: SourceName; source: SourceName },
  ): Promise<never> {
    if (!hasReason(error, 'AlreadyExists')) throw error;
    const { kind, client, written } = this.#options;
    const found = await client.get({ plural: kind.plural, ...target });
    if (!this.isOurs(found, source)) throw new ForeignObject(target);
    written(found);
    throw error;
  }

  async #createNamespace(name: string): Promise<void> {
    const { client, tenant } = this.#options;
    const labels = { [MANAGED_ANNOTATIONS.managedBy]: tenant };
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
    try {
      await client.create({ plural: 'namespaces' }, namespace);
    } catch (error) {
      if (!hasReason(error, 'AlreadyExists')) throw error;
    }
  }

  #remember(wanted: KubeObject, made: KubeObject): void {
    const id = idOf(nameOf(wanted));
    this.#answered.set(id, { wanted: contentOf(wanted), answer: contentOf(made) });
  }

  #isSame(wanted: KubeObject, actual: KubeObject): boolean {
    const [asked, there] = [contentOf(wanted), contentOf(actual)];
    if (jsonEqual(asked, there)) return true;
    const known = this.#answered.get(idOf(nameOf(wanted)));
    return known !== undefined && jsonEqual(known.wanted, asked) && jsonEqual(known.answer, there);
  }
}

/** The fields that the sync controls: the status belongs to the control-plane cluster. */
function contentOf({ metadata, status: _status, ...rest }: KubeObject): object {
  const { labels = {}, annotations = {} } = metadata;
  return { ...rest, labels, annotations };
}

function nameOf({ metadata }: KubeObject): SourceName {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
}

function idOf({ namespace, name }: SourceName): string {
  return `${namespace}/${name}`;
}

function isWithoutNamespace(error: unknown, namespace: string): boolean {
  if (!(error instanceof ApiFailure) || error.code !== 404) return false;
  return error.message.includes(`namespaces ${JSON.stringify(namespace)}`);
}

function withoutUndefined<T extends object>(of: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(of).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
