/**
 * ClusterRoleBindings of one tenant on an external cluster, for the roles of `spec.clusterRoles`.
 * Level-triggered. A binding without the markers of this tenant is never changed or deleted.
 */

import { jsonEqual, type KubeObject } from '../apimachinery/index.ts';
import type { Backoff } from '../concurrency/index.ts';
import { WorkQueue } from '../concurrency/index.ts';
import {
  ApiFailure,
  hasReason,
  type KubeClient,
  Reflector,
  type ResourceCollection,
} from '../kubernetes-client/index.ts';
import { MANAGED_ANNOTATIONS } from './managed-annotations.ts';

export interface RoleBindingsOptions {
  readonly client: KubeClient;
  readonly tenant: string;
  /** The wanted bindings, without markers. */
  wanted(): readonly KubeObject[];
  /** Called when the problem changes. */
  changed(): void;
  readonly backoff?: Backoff | undefined;
}

const BINDINGS = { group: 'rbac.authorization.k8s.io', plural: 'clusterrolebindings' } as const;
const WORKERS = 4;

export class RoleBindings {
  readonly #options: RoleBindingsOptions;
  readonly #reflector: Reflector;
  readonly #queue: WorkQueue;
  readonly #failures = new Map<string, ApiFailure>();
  #unread: ApiFailure | undefined;
  #wanted = new Map<string, KubeObject>();

  constructor(options: RoleBindingsOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({
      reconcile: (name) => this.#reconcile(name),
      delayFor: secondsAskedFor,
      workers: WORKERS,
      backoff: options.backoff,
    });
    this.#reflector = new Reflector({
      client: options.client,
      of: ownBindings(options.tenant),
      changed: (key) => {
        if (this.#reflector.isSynced) this.#queue.add(key.slice('/'.length));
      },
      synced: () => this.update(),
      problem: (failure) => {
        this.#unread = failure;
        options.changed();
      },
      backoff: options.backoff,
    });
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
    await this.#queue.stop();
  }

  /** Called when the wanted bindings may have changed. */
  update(): void {
    if (!this.#reflector.isSynced) return;
    const { tenant } = this.#options;
    const marked = this.#options.wanted().map((binding) => withMarks(binding, tenant));
    this.#wanted = new Map(marked.map((binding) => [nameOf(binding), binding]));
    const there = [...this.#reflector.values()].map(nameOf);
    for (const name of new Set([...this.#wanted.keys(), ...there])) this.#queue.add(name);
  }

  /** Reason why the cluster is not current; undefined: it is, as far as is known. */
  get problem(): { readonly reason: string; readonly message: string } | undefined {
    if (this.#unread !== undefined) return toProblem('cannot be read', this.#unread);
    const [first] = this.#failures;
    if (first === undefined) return undefined;
    const more = this.#failures.size === 1 ? '' : ` (and ${this.#failures.size - 1} more)`;
    return toProblem(`${JSON.stringify(first[0])} cannot be written${more}`, first[1]);
  }

  async #reconcile(name: string): Promise<void> {
    try {
      await this.#put(name);
      this.#note(name, undefined);
    } catch (error) {
      this.#note(name, asFailure(error));
      throw error;
    }
  }

  async #put(name: string): Promise<void> {
    const { client, tenant } = this.#options;
    const wanted = this.#wanted.get(name);
    const actual = this.#reflector.get(`/${name}`);
    const isOurs = actual !== undefined && isMade(actual, tenant);
    if (wanted === undefined) {
      if (isOurs) await remove(client, actual);
      return;
    }
    if (actual === undefined) return this.#reflector.record(await client.create(BINDINGS, wanted));
    if (!isOurs) throw foreign(name);
    if (!jsonEqual(actual['roleRef'], wanted['roleRef'])) {
      // The role of a binding is immutable.
      await remove(client, actual);
      return this.#reflector.record(await client.create(BINDINGS, wanted));
    }
    if (jsonEqual(actual['subjects'], wanted['subjects'])) return;
    const { metadata } = actual;
    const changed = await client.update({ ...BINDINGS, name }, { ...wanted, metadata });
    this.#reflector.record(changed);
  }

  #note(name: string, failure: ApiFailure | undefined): void {
    const before = this.#failures.get(name)?.message;
    if (failure === undefined) this.#failures.delete(name);
    else this.#failures.set(name, failure);
    if (before !== failure?.message) this.#options.changed();
  }
}

/** Removes every binding of the tenant, and returns their number. Throws ApiFailure. */
export async function removeRoleBindings(
  client: Pick<KubeClient, 'list' | 'delete'>,
  tenant: string,
): Promise<number> {
  const { items } = await client.list(ownBindings(tenant));
  const ours = items.filter((object) => isMade(object, tenant));
  for (const object of ours) await remove(client, object);
  return ours.length;
}

function ownBindings(tenant: string): ResourceCollection {
  return { ...BINDINGS, labelSelector: `${MANAGED_ANNOTATIONS.managedBy}=${tenant}` };
}

function withMarks(binding: KubeObject, tenant: string): KubeObject {
  const name = nameOf(binding);
  const labels = { [MANAGED_ANNOTATIONS.managedBy]: tenant };
  const annotations = { [MANAGED_ANNOTATIONS.hostName]: name };
  return { ...binding, metadata: { name, labels, annotations } };
}

/** Copies carry the markers, but have another name. */
function isMade({ metadata }: KubeObject, tenant: string): boolean {
  const { labels = {}, annotations = {}, name } = metadata;
  return (
    labels[MANAGED_ANNOTATIONS.managedBy] === tenant &&
    annotations[MANAGED_ANNOTATIONS.hostName] === name
  );
}

async function remove(client: Pick<KubeClient, 'delete'>, object: KubeObject): Promise<void> {
  try {
    await client.delete({ ...BINDINGS, name: nameOf(object) }, object);
  } catch (error) {
    if (!hasReason(error, 'NotFound')) throw error;
  }
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name ?? '';
}

function foreign(name: string): ApiFailure {
  const message = `ClusterRoleBinding ${JSON.stringify(name)} exists without the marks of this tenant; delete or rename it`;
  return new ApiFailure({ code: 0, reason: 'ForeignObject', message });
}

function asFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  return new ApiFailure({ code: 0, reason: 'Unexpected', message: String(error) });
}

function toProblem(what: string, { reason, message }: ApiFailure) {
  return {
    reason: /^[A-Z][A-Za-z]*$/.test(reason) ? reason : 'Failed',
    message: `ClusterRoleBindings of the tenant cluster: ${what}: ${message}`,
  };
}

function secondsAskedFor(error: unknown): number | undefined {
  const seconds = error instanceof ApiFailure ? error.retryAfterSeconds : undefined;
  return seconds === undefined ? undefined : seconds * 1000;
}
