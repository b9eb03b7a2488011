/** Writes of the garbage collector: ordinary commits, each with its reason. */
import {
  type Clock,
  describeKey,
  type EventSink,
  type KubeObject,
  type ObjectKey,
  type ObjectMeta,
  StatusError,
} from '../../apimachinery/index.ts';
import type { Kind, KindTable } from '../../kinds/index.ts';
import {
  type ObjectRegistry,
  ownChange,
  ownOptions,
  type PropagationPolicy,
  type WriteOptions,
} from '../../registry/index.ts';
import type { Logger } from '../../telemetry/index.ts';

export interface RemovalsOptions {
  readonly kinds: KindTable;
  readonly registry: Pick<ObjectRegistry, 'update' | 'delete'>;
  readonly logger: Logger;
  readonly events: EventSink;
  readonly clock: Clock;
}

/** Every method throws errors that are worth a retry. */
export class Removals {
  readonly #options: RemovalsOptions;

  constructor(options: RemovalsOptions) {
    this.#options = options;
  }

  /** Only in the examined version: the object may get another owner at the last moment. */
  async remove(
    key: ObjectKey,
    { metadata: { uid, resourceVersion } }: KubeObject,
    { policy, reason }: { policy: PropagationPolicy | undefined; reason: string },
  ): Promise<void> {
    await this.#attempt(key, async (kind) => {
      // A kind that cannot be deleted, such as the Config, cannot be owned.
      if (!kind.verbs.includes('delete')) return;
      await this.#options.registry.delete({
        ...targetOf(kind, key),
        delete: { uid, resourceVersion, propagationPolicy: policy },
        options: optionsOf(reason),
      });
      const { events, clock } = this.#options;
      events.record({
        key,
        uid: uid ?? '',
        type: 'Normal',
        reason: 'GarbageCollected',
        message: reason,
        time: clock.now(),
        component: 'gitplane-garbage-collector',
      });
    });
  }

  /** Removes the references to these owners. */
  async unlink(key: ObjectKey, uids: readonly string[], reason: string): Promise<void> {
    await this.#change(key, reason, ({ ownerReferences = [], ...metadata }) => {
      const left = ownerReferences.filter(({ uid }) => !uids.includes(uid));
      return left.length === 0 ? metadata : { ...metadata, ownerReferences: left };
    });
  }

  async dropFinalizer(key: ObjectKey, name: string): Promise<void> {
    await this.#change(key, 'Its dependents are done with.', ({ finalizers = [], ...metadata }) => {
      const left = finalizers.filter((one) => one !== name);
      return left.length === 0 ? metadata : { ...metadata, finalizers: left };
    });
  }

  async #change(
    key: ObjectKey,
    reason: string,
    change: (metadata: ObjectMeta) => ObjectMeta,
  ): Promise<void> {
    await this.#attempt(key, async (kind) => {
      const changed = ownChange(targetOf(kind, key), optionsOf(reason), (current) => ({
        ...current,
        metadata: change(current.metadata),
      }));
      await this.#options.registry.update(changed);
    });
  }

  async #attempt(key: ObjectKey, work: (kind: Kind) => Promise<void>): Promise<void> {
    const kind = this.#options.kinds.kinds.find(
      (one) => one.group === key.group && one.kind === key.kind,
    );
    if (kind === undefined) return;
    try {
      await work(kind);
    } catch (error) {
      const code = error instanceof StatusError ? error.code : 500;
      if (code === 404) return;
      if (code !== 403 && code !== 422) throw error;
      // The object stays until it changes, and is then examined again.
      this.#options.logger.warn({ err: error, object: describeKey(key) }, 'Cannot collect garbage');
    }
  }
}

function targetOf(kind: Kind, { namespace, name }: ObjectKey) {
  return { kind, namespace, name };
}

function optionsOf(reason: string): WriteOptions {
  const fieldManager = 'garbage-collector';
  return { ...ownOptions({ reason }), fieldValidation: 'Ignore', fieldManager };
}
