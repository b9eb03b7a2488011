/** The secrets that are tied to the store, kept up to date with what is served. */
import { keyString, type ObjectKey } from '../apimachinery/key.ts';
import type { Kind } from '../kinds/kind.ts';
import { mentionsLink, type StoreLink, storeLinkOf } from '../kinds/store-link.ts';
import type { KindTable } from '../kinds/table.ts';
import type { JournalEvent, Store, StoredObject } from '../state/store.ts';

export interface LinkedSecret {
  readonly id: string;
  readonly kind: Kind;
  readonly key: ObjectKey;
  readonly uid: string;
  readonly link: StoreLink;
  /** Differs when what git asks for does. */
  readonly generation: number;
}

export class LinkedSecrets {
  readonly #kinds: readonly Kind[];
  readonly #store: Pick<Store, 'list' | 'observe'>;
  readonly #found = new Map<string, LinkedSecret>();
  readonly #stops: (() => void)[] = [];

  constructor({ kinds, store }: { kinds: KindTable; store: Pick<Store, 'list' | 'observe'> }) {
    this.#kinds = kinds.kinds.filter(({ followsStore }) => followsStore);
    this.#store = store;
  }

  /** `changed` hears of each secret that is tied, tied otherwise, changed in git or gone. */
  follow(changed: (key: ObjectKey, id: string) => void): void {
    for (const kind of this.#kinds) {
      const collection = { group: kind.group, kind: kind.kind };
      for (const stored of this.#store.list(collection).items) this.#look(kind, stored);
      const heard = (event: JournalEvent): void => {
        const id = keyString(event.current.key);
        const before = this.#found.get(id);
        if (event.type === 'DELETED') this.#found.delete(id);
        else this.#look(kind, event.current);
        if (!isSame(before, this.#found.get(id))) changed(event.current.key, id);
      };
      this.#stops.push(this.#store.observe(collection, heard));
    }
  }

  get(id: string): LinkedSecret | undefined {
    return this.#found.get(id);
  }

  /** In the order of their ids, so that the first to come is the same everywhere. */
  all(): LinkedSecret[] {
    return [...this.#found.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
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
