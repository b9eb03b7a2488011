/**
 * What a sync has to remember of each object, as a note of the state store: fingerprints, versions
 * and where in the store it was tied to, never a value. Notes of objects that are gone stay until
 * somebody decided what that means for the store.
 */
import type { JsonObject } from '../apimachinery/object.ts';
import type { StoreLink } from '../kinds/store-link.ts';
import type { SyncMemory } from '../secretsync/ports.ts';
import { NEW_STATE, type SyncState } from '../secretsync/sync-state.ts';
import type { Store } from '../state/store.ts';

const PREFIX = 'secret-store:';
const FORMAT = 1;

export interface Remembered {
  /** Of which life of the object. */
  readonly uid: string;
  readonly link: StoreLink;
  readonly state: SyncState;
}

export class SyncNotes {
  readonly #store: Pick<Store, 'note' | 'notes' | 'apply' | 'flush'>;

  constructor(store: Pick<Store, 'note' | 'notes' | 'apply' | 'flush'>) {
    this.#store = store;
  }

  get(id: string): Remembered | undefined {
    const note = this.#store.note(PREFIX + id);
    return note === undefined ? undefined : decode(note);
  }

  *all(): IterableIterator<[string, Remembered]> {
    for (const [name, note] of this.#store.notes(PREFIX)) {
      const remembered = decode(note);
      if (remembered !== undefined) yield [name.slice(PREFIX.length), remembered];
    }
  }

  async forget(id: string): Promise<void> {
    if (this.#store.note(PREFIX + id) === undefined) return;
    this.#store.apply([], { [PREFIX + id]: undefined });
    await this.#store.flush();
  }

  /**
   * The memory of one object in its present life, at its present place. Another life or another
   * place has nothing to remember: what was agreed elsewhere says nothing here.
   */
  of(id: string, { uid, link }: Omit<Remembered, 'state'>): SyncMemory {
    return {
      load: async () => this.stateOf(id, { uid, link }),
      save: async (state) => {
        const note = isNew(state) ? undefined : encode({ uid, link, state });
        this.#store.apply([], { [PREFIX + id]: note });
        await this.#store.flush();
      },
    };
  }

  stateOf(id: string, { uid, link }: Omit<Remembered, 'state'>): SyncState {
    const known = this.get(id);
    const isSame =
      known !== undefined &&
      known.uid === uid &&
      known.link.mount === link.mount &&
      known.link.path === link.path;
    return isSame ? known.state : NEW_STATE;
  }
}

function isNew({ intents, covered, staleReads, missingReads, ...rest }: SyncState): boolean {
  const isEmpty = Object.values(rest).every((one) => one === undefined);
  const nothingOpen = intents.length === 0 && covered.length === 0;
  return isEmpty && nothingOpen && staleReads === 0 && missingReads === 0;
}

/** Prints are maps in memory and objects in a note. */
function encode({ uid, link, state }: Remembered): JsonObject {
  const { base, intents, ...rest } = state;
  const encoded = {
    ...rest,
    ...(base && { base: { ...base, prints: Object.fromEntries(base.prints) } }),
    intents: intents.map((intent) => ({ ...intent, prints: Object.fromEntries(intent.prints) })),
  };
  return { format: FORMAT, uid, link, state: encoded } as unknown as JsonObject;
}

/** Undefined: of another version of this program. The object is adopted anew. */
function decode(note: JsonObject): Remembered | undefined {
  if (note['format'] !== FORMAT) return undefined;
  const { uid, link, state } = note as unknown as Remembered;
  const prints = (from: unknown): ReadonlyMap<string, string> =>
    new Map(Object.entries(from as Readonly<Record<string, string>>));
  const { base, intents, ...rest } = state;
  return {
    uid,
    link,
    state: {
      ...rest,
      ...(base && { base: { ...base, prints: prints(base.prints) } }),
      intents: intents.map((intent) => ({ ...intent, prints: prints(intent.prints) })),
    },
  };
}
