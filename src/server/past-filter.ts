/**
 * The one filter of every answer that shows a state from before now: lists at a version or a commit
 * and their further pages, objects of a commit, histories, rollbacks, the replay of a watch, and
 * writes that are answered a second time.
 *
 * A right on one name is a right on the object that has the name now. Owners and access rules of
 * objects give rights on single names, so a client that may create an object could otherwise read
 * what had its name before. An earlier life of a name (another uid) takes the right on every name.
 */
import type { KubeObject, ObjectKey } from '../apimachinery/index.ts';
import type { JournalEvent, StoredObject } from '../state/index.ts';
import type { ServerDependencies } from './dependencies.ts';
import {
  type ReadyObject,
  readyObject,
  type ShownKind,
  versionOf,
} from './output/representation.ts';
import type { ResourceRequest } from './request.ts';
import { type Selection, seenEvent } from './selection.ts';

/** One life of a name: the time of one uid. */
export interface Life {
  readonly key: ObjectKey;
  readonly uid: string | undefined;
}

export type PastFilter = (life: Life) => boolean;

type Reader = Pick<ResourceRequest, 'kind' | 'info' | 'user'>;
type Rights = Pick<ServerDependencies, 'authorizer' | 'store'>;

/**
 * Undefined: the reader has the right on every name. The filter holds the rights and uids of the
 * moment, so the caller makes it after its last await and uses it at once.
 */
export function pastFilter(deps: Rights, reader: Reader): PastFilter | undefined {
  if (mayRead(deps, reader, '')) return undefined;
  return (life) => isLiving(deps, life) && mayRead(deps, reader, life.key.name);
}

export function lifeOf({ key, object }: { key: ObjectKey; object: KubeObject }): Life {
  return { key, uid: object.metadata.uid };
}

function isLiving({ store }: Rights, { key, uid }: Life): boolean {
  return uid !== undefined && store.get(key)?.object.metadata.uid === uid;
}

/** Histories and rollbacks need `get`. A repeated write needs the right to write. */
function mayRead({ authorizer }: Rights, { kind, info, user }: Reader, name: string): boolean {
  const { namespace, subresource } = info;
  const verb = subresource === '' ? info.verb : 'get';
  const resource = { group: kind.group, resource: kind.plural, namespace, name };
  return authorizer.authorize(user, { verb, ...resource }).allowed;
}

/** The fate of a life in one watch. `missed`: the reader does not have its newest state. */
type Told = 'shown' | 'missed' | 'unknown';

/** An event for one reader. */
export interface ToldEvent {
  readonly type: JournalEvent['type'];
  readonly ready: ReadyObject;
}

/** The filter of the moment. `end`: the right is gone and the watch ends. */
type FilterNow = () => PastFilter | 'end' | undefined;

export interface WatchParts {
  readonly kind: ShownKind;
  readonly selection: Selection;
  /** Returns an object in the form for this reader. */
  shown(stored: StoredObject): ReadyObject;
  /** Newest version at the opening of the watch, when its right was checked. */
  readonly opened: number;
}

/**
 * Events for a reader of single names. Events of a life that is over are left out: whether the reader
 * had a right on that life is unknown by then. The DELETED event has the last state if the reader saw
 * that state or could read it at the opening. Otherwise it is a tombstone, so that clients drop the
 * object. A life that the reader never saw has no DELETED event.
 */
export class NamedReplay {
  readonly #parts: WatchParts;
  readonly #told = new Map<string, { readonly uid: string | undefined; readonly how: Told }>();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  next(event: JournalEvent, filterNow: FilterNow): ToldEvent | 'end' | undefined {
    const { selection } = this.#parts;
    const { key } = event.current;
    if (!selection.fields.fitsKey(key)) return undefined;
    if (event.type === 'DELETED') return this.#deleted(event, filterNow);
    const filter = filterNow();
    if (filter === 'end') return 'end';
    const life = lifeOf(event.current);
    const isVisible = filter?.(life) ?? true;
    const isUnknown = event.type === 'ADDED' || this.#howOf(life) === 'unknown';
    const how = isVisible ? 'shown' : isUnknown ? 'unknown' : 'missed';
    this.#told.set(nameOf(key), { uid: life.uid, how });
    return isVisible ? this.#whole(event) : undefined;
  }

  #deleted(event: JournalEvent, filterNow: FilterNow): ToldEvent | 'end' | undefined {
    const life = lifeOf(event.current);
    const { opened } = this.#parts;
    // A life without an event since the opening was current at the opening.
    const how = this.#howOf(life) ?? (event.resourceVersion > opened ? 'shown' : 'missed');
    this.#told.delete(nameOf(life.key));
    if (how === 'shown') return this.#whole(event);
    const filter = filterNow();
    if (filter === 'end') return 'end';
    if (filter === undefined) return this.#whole(event);
    return how === 'unknown' ? undefined : this.#tombstone(event);
  }

  #howOf({ key, uid }: Life): Told | undefined {
    const told = this.#told.get(nameOf(key));
    return told === undefined || told.uid === uid ? told?.how : 'missed';
  }

  #whole(event: JournalEvent): ToldEvent | undefined {
    const { selection, shown } = this.#parts;
    const seen = seenEvent(selection, event);
    return seen && { type: seen.type, ready: shown(seen.stored) };
  }

  /** Independent of the deleted object: a match of its selector would reveal its content. */
  #tombstone({ current, resourceVersion }: JournalEvent): ToldEvent {
    const { kind } = this.#parts;
    const { name, namespace } = current.key;
    const { uid } = current.object.metadata;
    const metadata = {
      name,
      ...(namespace === '' ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      resourceVersion: String(resourceVersion),
    };
    const object = { apiVersion: versionOf(kind), kind: kind.kind, metadata };
    return { type: 'DELETED', ready: readyObject(object) };
  }
}

/** One watch is on one kind. */
function nameOf({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}
