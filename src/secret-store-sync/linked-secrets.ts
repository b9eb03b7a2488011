/** The secrets that are linked to a store, kept current with the state. */
import { keyString, type ObjectKey } from '../apimachinery/index.ts';
import {
  type Kind,
  type KindTable,
  mentionsLink,
  type StoreLink,
  storeLinkOf,
} from '../kinds/index.ts';
import type { JournalEvent, Store, StoredObject } from '../state/index.ts';

export interface LinkedSecret {
  readonly id: string;
  readonly kind: Kind;
  readonly key: ObjectKey;
  readonly uid: string;
  readonly link: StoreLink;
  /** Changes with the desired state. */
  readonly generation: number;
}

/** Secrets of one store. */
export interface StoreSecrets {
  get(id: string): LinkedSecret | undefined;
  /** In order of their ids, so that the first one is the same on every replica. */
  all(): LinkedSecret[];
}

/** Called with a secret before and after a change; undefined: not linked. */
export type LinkListener = (
  key: ObjectKey,
  id: string,
  of: { readonly before: LinkedSecret | undefined; readonly now: LinkedSecret | undefined },
) => void;

export class LinkedSecrets {
  readonly #kinds: readonly Kind[];
  readonly #store: Pick<Store, 'list' | 'observe'>;
  readonly #found = new Map<string, LinkedSecret>();
  readonly #stops: (() => void)[] = [];

  constructor({ kinds, store }: { kinds: KindTable; store: Pick<Store, 'list' | 'observe'> }) {
    this.#kinds = kinds.kinds.filter(({ followsStore }) => followsStore);
    this.#store = store;
  }

  /** `changed` is called for each secret that is linked, relinked, changed in git or deleted. */
  follow(changed: LinkListener): void {
    for (const kind of this.#kinds) {
      const collection = { group: kind.group, kind: kind.kind };
      for (const stored of this.#store.list(collection).items) this.#look(kind, stored);
      const heard = (event: JournalEvent): void => {
        const id = keyString(event.current.key);
        const before = this.#found.get(id);
        if (event.type === 'DELETED') this.#found.delete(id);
        else this.#look(kind, event.current);
        const now = this.#found.get(id);
        if (!isSame(before, now)) changed(event.current.key, id, { before, now });
      };
      this.#stops.push(this.#store.observe(collection, heard));
    }
  }

  /** The secrets of the selected stores. */
  of(isChosen: (store: string) => boolean): StoreSecrets {
    const chosen = (one: LinkedSecret): boolean => isChosen(one.link.store);
    return {
      get: (id) => {
        const found = this.#found.get(id);
        return found !== undefined && chosen(found) ? found : undefined;
      },
      all: () => [...this.#found.values()].filter(chosen).sort((a, b) => (a.id < b.id ? -1 : 1)),
    };
  }

  close(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  #look(kind: Kind, stored: StoredObject): void {
    const { key, terminating } = stored;
    const id = keyString(key);
    const object = !terminating && mentionsLink(stored.json()) ? stored.object : undefined;
    const link = object && storeLinkOf(kind, object);
    if (object === undefined || link === undefined) {
      this.#found.delete(id);
      return;
    }
    const { uid = '', generation = 0 } = object.metadata;
    this.#found.set(id, { id, kind, key, uid, link, generation });
  }
}

function isSame(a: LinkedSecret | undefined, b: LinkedSecret | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const isSameLife = a.uid === b.uid && a.generation === b.generation;
  return isSameLife && JSON.stringify(a.link) === JSON.stringify(b.link);
}
