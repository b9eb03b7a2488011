/**
 * Derived secrets: project secrets that contain the data of a shared secret. A derived secret
 * changes in the same step as its source and follows from git. So no crash separates the two, and a
 * rebuild makes the same data. Git holds none of it.
 */
import {
  type Condition,
  describeKey,
  jsonEqual,
  type KubeObject,
  keyString,
  type ObjectKey,
  rfc3339,
  runAtOnce,
  runYielding,
  sameKey,
} from '../../apimachinery/index.ts';
import {
  isCopyingDisabled,
  type Kind,
  type KindTable,
  ownPart,
  storeLinkOf,
} from '../../kinds/index.ts';
import type { Change, Store, StoredObject } from '../../state/index.ts';
import { conditionsOf, OWNER_UID } from './served-object.ts';

/** Condition of a derived object: true if it has the data of its source. */
export const SYNCED = 'Synced';

/** The stored object without its derived data. */
export function ownVersion(kind: Kind, stored: StoredObject): StoredObject {
  if (kind.follows === undefined) return stored;
  const object = ownPart(kind, stored.object);
  const { key, resourceVersion, terminating, labels, hidden } = stored;
  const json = (): Buffer => stored.json();
  const provenance = (): ReturnType<StoredObject['provenance']> => stored.provenance();
  return { key, resourceVersion, terminating, labels, object, hidden, json, provenance };
}

/** Source of a derived secret. */
export interface DerivedSecretSource {
  /** The served source; undefined: it does not exist. */
  readonly object: KubeObject | undefined;
  /** Uid of the source that the object belongs to; undefined: it has not existed yet. */
  readonly boundTo: unknown;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** The served object with the data of its source, and the condition about it. */
export function withDerivedData(
  kind: Kind,
  object: KubeObject,
  source: DerivedSecretSource,
): KubeObject {
  const key = kind.follows?.(object);
  if (key === undefined) {
    // With a secret store, the condition of this type is about that store.
    const hasStoreLink = storeLinkOf(kind, object) !== undefined;
    return hasStoreLink ? object : withCondition(object, undefined);
  }
  const own = ownPart(kind, object);
  const problem = problemOf(key, own, source);
  const data = problem === undefined ? source.object?.spec?.['data'] : undefined;
  const copy = data === undefined ? own : { ...own, spec: { ...own.spec, data } };
  const found: Omit<Condition, 'lastTransitionTime'> = problem ?? {
    type: SYNCED,
    status: 'True',
    reason: 'Copied',
    message: `the data is that of ${describeKey(key)}`,
  };
  const before = conditionsOf(object.status).find(({ type }) => type === SYNCED);
  const isSame = before?.status === found.status && before.lastTransitionTime !== undefined;
  const since = isSame ? before.lastTransitionTime : undefined;
  return withCondition(copy, { ...found, lastTransitionTime: since ?? rfc3339(source.time) });
}

function problemOf(
  key: ObjectKey,
  own: KubeObject,
  { object: source, boundTo }: Pick<DerivedSecretSource, 'object' | 'boundTo'>,
): Omit<Condition, 'lastTransitionTime'> | undefined {
  const no = (severity: 'Warning' | 'Error', reason: string, message: string) =>
    ({ type: SYNCED, status: 'False', severity, reason, message }) as const;
  const name = describeKey(key);
  if (isCopyingDisabled(own)) {
    return no('Warning', 'SyncDisabled', 'its annotation gitplane.dev/disable-sync stops copying');
  }
  if (source === undefined) return no('Error', 'SourceNotFound', `${name} does not exist`);
  if (source.metadata.uid !== boundTo) {
    const message = `${name} was deleted, and there is another one of its name now; take the labels away and set them again to follow that one`;
    return no('Error', 'SourceReplaced', message);
  }
  if (isCopyingDisabled(source)) {
    const message = `${name} forbids copies with the annotation gitplane.dev/disable-sync`;
    return no('Warning', 'SyncDisabled', message);
  }
  const hasData = Object.keys(source.spec?.['data'] ?? {}).length > 0;
  const isClosed = conditionsOf(source.status).some(({ reason }) => reason === 'Unreadable');
  if (!isClosed || hasData) return undefined;
  return no('Error', 'SourceUnreadable', `${name} is sealed, and no key that opens it is here`);
}

function withCondition(object: KubeObject, condition: Condition | undefined): KubeObject {
  const before = conditionsOf(object.status);
  const others = before.filter(({ type }) => type !== SYNCED);
  if (condition === undefined && others.length === before.length) return object;
  const conditions = condition === undefined ? others : [...others, condition];
  const { conditions: _replaced, ...rest } = object.status ?? {};
  const status = conditions.length === 0 ? rest : { ...rest, conditions };
  return { ...object, status: status };
}

/** An object as readers would see it, with the present data of its source. */
export function shownWithDerivedData(
  kind: Kind,
  object: KubeObject,
  { store, time }: { store: Pick<Store, 'get'>; time: number },
): KubeObject {
  const key = kind.follows?.(object);
  if (key === undefined) return object;
  const source = store.get(key)?.object;
  const { name = '', namespace = '', uid } = object.metadata;
  const before = store.get({ group: kind.group, kind: kind.kind, namespace, name });
  const isSame = before !== undefined && before.object.metadata.uid === uid;
  const followed = isSame ? kind.follows?.(before.object) : undefined;
  const isBound = followed !== undefined && sameKey(followed, key);
  const boundTo = isBound ? before?.hidden?.[OWNER_UID] : source?.metadata.uid;
  return withDerivedData(kind, object, { object: source, boundTo, time });
}

/** A derived secret that changes with its source. */
export interface DerivedSecretChange {
  readonly key: ObjectKey;
  readonly source: ObjectKey;
  /** Message of its condition after the change. */
  readonly message: string | undefined;
}

/** Index from sources to derived secrets, for one store. */
export class DerivedSecrets {
  readonly #store: Store;
  readonly #followers: ReadonlyMap<string, Kind>;
  /** Derived keys by source; built on first use. */
  #index: Map<string, Map<string, ObjectKey>> | undefined;

  constructor({ kinds }: KindTable, store: Store) {
    this.#store = store;
    const followers = kinds.filter(({ follows }) => follows !== undefined);
    this.#followers = new Map(followers.map((kind) => [idOfKind(kind), kind]));
  }

  /**
   * Adds derived data to the changes, and changes of the objects derived from them. Must be applied
   * in one step.
   */
  complete(changes: readonly Change[], time: number): Change[] {
    return runAtOnce(this.#complete(changes, time));
  }

  /** The same, yielding to the event loop. */
  completeYielding(changes: readonly Change[], time: number): Promise<Change[]> {
    return runYielding(this.#complete(changes, time));
  }

  *#complete(changes: readonly Change[], time: number): Generator<void, Change[]> {
    const step = new Step(this.#store, time);
    for (const change of changes) {
      yield;
      const { key } = change;
      const kind = this.#followers.get(idOfKind(key));
      step.add(change, kind);
      for (const [id, follower] of this.#known().get(keyString(key)) ?? [])
        step.follow(id, follower, this.#kind(follower));
      for (const [id, follower] of step.addedFollowers(key))
        step.follow(id, follower, this.#kind(follower));
    }
    return step.changes;
  }

  /** True if derived secrets have the data of the object. */
  isSource(key: ObjectKey): boolean {
    return (this.#known().get(keyString(key))?.size ?? 0) > 0;
  }

  /** The derived secrets in the result of `complete` that are not in `own`. */
  derivedIn(completed: readonly Change[], own: ReadonlySet<string>): DerivedSecretChange[] {
    return completed.flatMap((change) => {
      if (change.type === 'remove' || own.has(keyString(change.key))) return [];
      const { key, object } = change;
      const source = this.#kind(key)?.follows?.(object);
      if (source === undefined) return [];
      const synced = conditionsOf(object.status).find(({ type }) => type === SYNCED);
      return [{ key, source, message: synced?.message }];
    });
  }

  /**
   * Changes that bring every derived secret up to date. Empty unless another version of gitplane
   * made them.
   */
  stale(time: number): Change[] {
    const step = new Step(this.#store, time);
    for (const followers of this.#known().values()) {
      for (const [id, follower] of followers) step.follow(id, follower, this.#kind(follower));
    }
    return step.changes;
  }

  #kind(key: ObjectKey): Kind | undefined {
    return this.#followers.get(idOfKind(key));
  }

  #known(): Map<string, Map<string, ObjectKey>> {
    if (this.#index !== undefined) return this.#index;
    const index = new Map<string, Map<string, ObjectKey>>();
    this.#index = index;
    for (const kind of this.#followers.values()) {
      const collection = { group: kind.group, kind: kind.kind };
      for (const { key, object } of this.#store.list(collection).items) {
        addTo(index, kind.follows?.(object), key);
      }
      this.#store.observe(collection, ({ type, current, previous }) => {
        const { key } = current;
        const before = previous && kind.follows?.(previous.object);
        removeFrom(index, before, key);
        if (type !== 'DELETED') addTo(index, kind.follows?.(current.object), key);
      });
    }
    return index;
  }
}

function idOfKind({ group, kind }: { readonly group: string; readonly kind: string }): string {
  return `${group}/${kind}`;
}

function removeFrom(
  index: Map<string, Map<string, ObjectKey>>,
  source: ObjectKey | undefined,
  follower: ObjectKey,
): void {
  if (source === undefined) return;
  const known = index.get(keyString(source));
  // Labels may name any number of sources, one after the other.
  if (known?.delete(keyString(follower)) && known.size === 0) index.delete(keyString(source));
}

function addTo(
  index: Map<string, Map<string, ObjectKey>>,
  source: ObjectKey | undefined,
  follower: ObjectKey,
): void {
  if (source === undefined) return;
  const id = keyString(source);
  const known = index.get(id);
  if (known === undefined) index.set(id, new Map([[keyString(follower), follower]]));
  else known.set(keyString(follower), follower);
}

/** An object and its hidden fields, after a part of the step. */
interface Current {
  readonly object: KubeObject;
  readonly hidden?: StoredObject['hidden'];
}

/** Changes in order; each sees the result of those before it. */
class Step {
  readonly changes: Change[] = [];
  readonly #store: Pick<Store, 'get'>;
  readonly #time: number;
  /** Undefined: removed. */
  readonly #objects = new Map<string, Current | undefined>();
  readonly #added = new Map<string, Map<string, ObjectKey>>();

  constructor(store: Pick<Store, 'get'>, time: number) {
    this.#store = store;
    this.#time = time;
  }

  /** `kind`: of objects that may have derived data. */
  add(change: Change, kind: Kind | undefined): void {
    const { key } = change;
    if (change.type === 'remove') {
      this.#push(change, undefined);
      return;
    }
    const source = kind?.follows?.(change.object);
    addTo(this.#added, source, key);
    const object = kind === undefined ? change.object : this.#filled(kind, change);
    this.#push(object === change.object ? change : { ...change, object }, {
      object,
      hidden: change.hidden,
    });
  }

  addedFollowers(source: ObjectKey): Iterable<[string, ObjectKey]> {
    return this.#added.get(keyString(source)) ?? [];
  }

  /** Updates a derived secret from its source. */
  follow(id: string, key: ObjectKey, kind: Kind | undefined): void {
    const current = this.#current(id, key);
    if (current === undefined || kind === undefined) return;
    const object = this.#filled(kind, current);
    if (jsonEqual(object, current.object)) return;
    const { hidden } = current;
    const put = { object, ...(hidden === undefined ? {} : { hidden }) };
    this.#push({ type: 'put', key, ...put }, { object, hidden });
  }

  #filled(kind: Kind, { object, hidden }: Current): KubeObject {
    const source = kind.follows?.(object);
    const found = source && this.#current(keyString(source), source)?.object;
    const boundTo = hidden?.[OWNER_UID];
    return withDerivedData(kind, object, { object: found, boundTo, time: this.#time });
  }

  #current(id: string, key: ObjectKey): Current | undefined {
    return this.#objects.has(id) ? this.#objects.get(id) : this.#store.get(key);
  }

  #push(change: Change, current: Current | undefined): void {
    this.changes.push(change);
    this.#objects.set(keyString(change.key), current);
  }
}
