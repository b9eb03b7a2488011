/**
 * Garbage collection by ownerReferences, as in kube-controller-manager: an object without remaining
 * owners is deleted, in a commit that states the reason. Level-triggered: objects are examined at
 * the start and whenever an object or one of its owners changes.
 * A clone into another repository has other uids, so every owner would look missing at its first
 * start. For that reason garbage found at the start is subject to the prune budget.
 */

import {
  type Clock,
  describeKey,
  type EventSink,
  flatMapYielding,
  type KubeObject,
  keyString,
  type ObjectKey,
  parseKey,
  unavailable,
  Yielding,
} from '../../apimachinery/index.ts';
import { WorkQueue } from '../../concurrency/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import {
  exceeds,
  FOREGROUND,
  type ObjectRegistry,
  ORPHAN,
  type PruneBudget,
} from '../../registry/index.ts';
import type { JournalEvent, Store, StoredObject } from '../../state/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { OwnerGraph } from './owners.ts';
import {
  isWaiting,
  type OwnerLookup,
  ownerKeyOf,
  ownerOf,
  type References,
  referencesOf,
} from './references.ts';
import { Removals } from './removals.ts';

export interface GarbageOptions {
  readonly kinds: KindTable;
  /** The store as readers see it: roles derived from access rules can be owners, too. */
  readonly store: Store;
  /** The store without those: they disappear with their object and are not collected. */
  readonly written: Pick<Store, 'list' | 'observe'>;
  readonly registry: Pick<ObjectRegistry, 'update' | 'delete'>;
  /** Limit of garbage at the start; absent: unlimited. */
  readonly budget: PruneBudget | undefined;
  readonly logger: Logger;
  readonly events: EventSink;
  readonly clock: Clock;
}

/** Concurrent commits; the write queue groups them. */
const WORKERS = 16;

export class GarbageCollector {
  readonly #options: GarbageOptions;
  readonly #graph: OwnerGraph;
  readonly #lookup: OwnerLookup;
  readonly #queue: WorkQueue;
  readonly #removals: Removals;
  readonly #stops: (() => void)[] = [];
  readonly #pauses = new Yielding();
  /** Garbage over the budget that was not approved, by version found at the start. */
  readonly #held = new Map<string, number>();
  readonly #scanned: Promise<void>;
  /** Objects to examine when the owners are indexed. */
  readonly #early = new Set<string>();
  #ready = false;
  #stopped = false;
  #awaitingIdle: (() => void)[] = [];

  constructor(options: GarbageOptions) {
    this.#options = options;
    const { kinds, store, written } = options;
    this.#graph = new OwnerGraph(kinds);
    this.#lookup = { kinds, get: (key) => store.get(key)?.object };
    this.#removals = new Removals(options);
    this.#queue = new WorkQueue({
      reconcile: (id) => this.#reconcile(id),
      workers: WORKERS,
      idle: () => this.#resolveIdle(),
    });
    for (const { group, kind } of kinds.kinds) {
      this.#stops.push(written.observe({ group, kind }, (event) => this.#observe(event)));
    }
    this.#scanned = this.#scan().catch((error: unknown) =>
      options.logger.error({ err: error }, 'Cannot look for objects without owners'),
    );
  }

  /**
   * Removes an owner from the references of its dependents. Throws 503 until the owners are
   * indexed.
   */
  async release(owner: KubeObject): Promise<void> {
    if (!this.#ready) {
      const message = 'The owners of objects are still being read; try again in a moment';
      throw unavailable(message);
    }
    const { uid = '' } = owner.metadata;
    const reason = `Its owner ${owner.kind} "${owner.metadata.name}" is deleted without it.`;
    const dependents = this.#graph.dependentsOf(uid);
    await Promise.all(dependents.map((key) => this.#removals.unlink(key, [uid], reason)));
  }

  /** Resolves when every queued object was examined; failures are retried later. */
  async settled(): Promise<void> {
    await this.#scanned;
    await new Promise<void>((resolve) => {
      this.#awaitingIdle.push(resolve);
      if (!this.#queue.busy) this.#resolveIdle();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const stop of this.#stops) stop();
    await this.#scanned;
    await this.#queue.stop();
  }

  #resolveIdle(): void {
    for (const resolve of this.#awaitingIdle.splice(0)) resolve();
  }

  async #scan(): Promise<void> {
    const { kinds, store, written, budget, logger } = this.#options;
    await store.filled();
    let objects = 0;
    for (const { group, kind } of kinds.kinds) {
      const { items } = written.list({ group, kind });
      objects += items.length;
      await flatMapYielding(this.#stopped ? [] : items, ({ key }) => {
        // The object may have changed since it was listed.
        const current = store.get(key);
        if (current !== undefined) this.#index(current);
        return [];
      });
    }
    const garbage = this.#graph.keys().filter((key) => this.#isGarbage(key));
    const count = { prunes: garbage.length, before: objects, after: objects - garbage.length };
    if (budget !== undefined && exceeds(budget, count)) {
      for (const key of garbage) this.#hold(key);
      logger.error(
        { objects: garbage.length, first: garbage.slice(0, 5).map(describeKey) },
        'Objects whose owners are gone are kept, since they are more than the prune budget allows. Delete them, or take their ownerReferences away',
      );
    }
    this.#ready = true;
    for (const id of this.#early) this.#queue.add(id);
    this.#early.clear();
  }

  #hold(key: ObjectKey): void {
    const found = this.#options.store.get(key);
    if (found !== undefined) this.#held.set(keyString(key), found.resourceVersion);
  }

  #isGarbage(key: ObjectKey): boolean {
    const object = this.#lookup.get(key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return false;
    const { solid, waiting, dangling } = referencesOf(this.#lookup, object, key);
    return solid.length === 0 && waiting.length === 0 && dangling.length > 0;
  }

  #observe({ type, current, previous }: JournalEvent): void {
    const { key } = current;
    const wasDependent = this.#graph.has(key);
    if (type !== 'DELETED') this.#index(current);
    else {
      this.#held.delete(keyString(key));
      this.#graph.delete(key);
      if (this.#graph.size > 0) this.#addDependents(current.object);
    }
    if (wasDependent && previous !== undefined) this.#addWaitingOwners(previous);
    for (const dependent of this.#graph.dependentsOfRolesOf(key)) this.#add(dependent);
  }

  /** Indexes the owners of an object; most have none and are not parsed. */
  #index(current: StoredObject): void {
    const { key } = current;
    const mayHaveOwners = current.json().includes(OWNER_REFERENCES);
    const references = mayHaveOwners ? current.object.metadata.ownerReferences : undefined;
    if (references !== undefined || this.#graph.has(key)) this.#graph.set(key, references ?? []);
    if (references !== undefined || current.terminating) this.#add(key);
    if (current.terminating && isWaiting(current.object)) this.#addDependents(current.object);
  }

  #add(key: ObjectKey): void {
    if (this.#ready) this.#queue.add(keyString(key));
    else this.#early.add(keyString(key));
  }

  #addDependents({ metadata: { uid = '' } }: KubeObject): void {
    for (const dependent of this.#graph.dependentsOf(uid)) this.#add(dependent);
  }

  #addWaitingOwners({ key, object }: StoredObject): void {
    for (const reference of object.metadata.ownerReferences ?? []) {
      const owner = ownerOf(this.#lookup, reference, key);
      if (owner === undefined || !isWaiting(owner)) continue;
      const place = ownerKeyOf(this.#options.kinds, reference, key);
      if (place !== undefined) this.#add(place);
    }
  }

  async #reconcile(id: string): Promise<void> {
    await this.#pauses.take();
    const key = parseKey(id);
    const found = this.#options.store.get(key);
    if (found === undefined || this.#held.get(id) === found.resourceVersion) return;
    const { object } = found;
    if (object.metadata.deletionTimestamp !== undefined) await this.#finish(key, object);
    else if (object.metadata.ownerReferences !== undefined) await this.#judge(key, found);
  }

  /** Handles a terminating object: checks the finalizers of the collector. */
  async #finish(key: ObjectKey, object: KubeObject): Promise<void> {
    const { finalizers = [] } = object.metadata;
    if (finalizers.includes(ORPHAN)) {
      await this.release(object);
      await this.#removals.dropFinalizer(key, ORPHAN);
      return;
    }
    if (!finalizers.includes(FOREGROUND)) return;
    if (!this.#isBlocked(key, object)) await this.#removals.dropFinalizer(key, FOREGROUND);
  }

  async #judge(key: ObjectKey, found: StoredObject): Promise<void> {
    const { object } = found;
    const references = referencesOf(this.#lookup, object, key);
    const { solid, dangling, waiting } = references;
    if (dangling.length === 0 && waiting.length === 0) return;
    if (solid.length > 0) {
      const uids = [...dangling, ...waiting].map(({ uid }) => uid);
      await this.#removals.unlink(key, uids, 'Other owners of it are gone.');
      return;
    }
    const hasDependents = this.#graph.hasDependents(object.metadata.uid ?? '');
    await this.#removals.remove(key, object, {
      policy: waiting.length > 0 && hasDependents ? 'Foreground' : undefined,
      reason: `None of its owners exists any more: ${namesOf(references)}.`,
    });
  }

  /** False if every blocker waits, directly or over other objects, for the end of this object. */
  #isBlocked(key: ObjectKey, object: KubeObject): boolean {
    let waiting: ReadonlySet<string> | undefined;
    for (const blocker of this.#graph.blockersOf(object.metadata.uid ?? '')) {
      const found = this.#lookup.get(blocker);
      if (found === undefined) continue;
      if (!isWaiting(found)) return true;
      waiting ??= this.#waitingFor(key, object);
      if (!waiting.has(found.metadata.uid ?? '')) return true;
    }
    return false;
  }

  /** Uids of this object and of those that wait for its end. */
  #waitingFor(key: ObjectKey, object: KubeObject): ReadonlySet<string> {
    const seen = new Set([object.metadata.uid ?? '']);
    const open = [{ key, object }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const reference of next.object.metadata.ownerReferences ?? []) {
        if (reference.blockOwnerDeletion !== true || seen.has(reference.uid)) continue;
        const owner = ownerOf(this.#lookup, reference, next.key);
        const place = ownerKeyOf(this.#options.kinds, reference, next.key);
        if (owner === undefined || place === undefined || !isWaiting(owner)) continue;
        seen.add(reference.uid);
        open.push({ key: place, object: owner });
      }
    }
    return seen;
  }
}

/** Part of the JSON of every object with owners. */
const OWNER_REFERENCES = '"ownerReferences":[';

function namesOf({ dangling, waiting }: References): string {
  return [...dangling, ...waiting].map(({ kind, name }) => `${kind} "${name}"`).join(', ');
}
