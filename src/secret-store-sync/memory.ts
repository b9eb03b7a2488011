/**
 * What a sync has to remember of each object, as a note of the state store: fingerprints, versions
 * and where in the store it was tied to, never a value. Notes of objects that are gone stay until
 * somebody decided what that means for the store. Each secret store has notes of its own: what was
 * agreed with one says nothing about another.
 */
import type { JsonObject } from '../apimachinery/index.ts';
import { DEFAULT_STORE, type StoreLink } from '../kinds/index.ts';
import { NEW_STATE, type SyncMemory, type SyncState } from '../secrets-merge/index.ts';
import type { Store } from '../state/index.ts';
import type { VisitCursor } from './visit-order.ts';

const FORMAT = 1;

export interface PersistedSync {
  /** Of which life of the object. */
  readonly uid: string;
  readonly link: StoreLink;
  readonly state: SyncState;
}

export class SyncNotes {
  readonly #store: Pick<Store, 'document' | 'documents' | 'apply' | 'flush'>;
  readonly #prefix: string;

  /** `name`: of the secret store. */
  constructor(store: Pick<Store, 'document' | 'documents' | 'apply' | 'flush'>, name: string) {
    this.#store = store;
    this.#prefix = name === DEFAULT_STORE ? 'secret-store:' : `secret-store/${name}:`;
  }

  /** Read once, at the first use: what this process visits is in its memory. Saved without a flush. */
  get cursor(): VisitCursor {
    // Not below the prefix, which is of secrets.
    const name = this.#prefix.replace(/:$/, '-cursor');
    let first: { readonly id: string | undefined } | undefined;
    const read = (): string | undefined => {
      const id = this.#store.document(name)?.['id'];
      return typeof id === 'string' ? id : undefined;
    };
    return {
      load: () => {
        first ??= { id: read() };
        return first.id;
      },
      save: (id) => this.#store.apply([], { [name]: { id } }),
    };
  }

  get(id: string): PersistedSync | undefined {
    const note = this.#store.document(this.#prefix + id);
    return note === undefined ? undefined : decode(note);
  }

  *all(): IterableIterator<[string, PersistedSync]> {
    for (const [name, note] of this.#store.documents(this.#prefix)) {
      const remembered = decode(note);
      if (remembered !== undefined) yield [name.slice(this.#prefix.length), remembered];
    }
  }

  async forget(id: string): Promise<void> {
    if (this.#store.document(this.#prefix + id) === undefined) return;
    this.#store.apply([], { [this.#prefix + id]: undefined });
    await this.#store.flush();
  }

  /**
   * The memory of one object in its present life, at its present place. Another life or another
   * place has nothing to remember: what was agreed elsewhere says nothing here.
   */
  of(id: string, { uid, link }: Omit<PersistedSync, 'state'>): SyncMemory {
    return {
      load: async () => this.stateOf(id, { uid, link }),
      save: async (state) => {
        const note = isNew(state) ? undefined : encode({ uid, link, state });
        this.#store.apply([], { [this.#prefix + id]: note });
        await this.#store.flush();
      },
    };
  }

  stateOf(id: string, { uid, link }: Omit<PersistedSync, 'state'>): SyncState {
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
function encode({ uid, link, state }: PersistedSync): JsonObject {
  const { base, intents, pulled, ...rest } = state;
  const encoded = {
    ...rest,
    ...(pulled && { pulled: Object.fromEntries(pulled) }),
    ...(base && { base: { ...base, prints: Object.fromEntries(base.prints) } }),
    intents: intents.map((intent) => ({ ...intent, prints: Object.fromEntries(intent.prints) })),
  };
  return { format: FORMAT, uid, link, state: encoded } as unknown as JsonObject;
}

/** Undefined: of another version of this program. The object is adopted anew. */
function decode(note: JsonObject): PersistedSync | undefined {
  if (note['format'] !== FORMAT) return undefined;
  const { uid, link, state } = note as unknown as PersistedSync;
  const prints = (from: unknown): ReadonlyMap<string, string> =>
    new Map(Object.entries(from as Readonly<Record<string, string>>));
  const { base, intents, pulled, ...rest } = state;
  return {
    uid,
    link,
    state: {
      ...rest,
      ...(pulled && { pulled: prints(pulled) }),
      ...(base && { base: { ...base, prints: prints(base.prints) } }),
      intents: intents.map((intent) => ({ ...intent, prints: prints(intent.prints) })),
    },
  };
}
