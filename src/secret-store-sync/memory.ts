/**
 * Sync records, one document of the state store per object: fingerprints, versions and the linked
 * place, never a value. Records of deleted objects stay until the deletion in the store is decided.
 * Each secret store has its own records.
 */
import type { JsonObject } from '../apimachinery/index.ts';
import { DEFAULT_STORE, type StoreLink } from '../kinds/index.ts';
import { NEW_STATE, type SyncMemory, type SyncState } from '../secrets-merge/index.ts';
import type { Store } from '../state/index.ts';
import type { VisitCursor } from './visit-order.ts';

const FORMAT = 1;

export interface PersistedSync {
  /** Identifies the object among those of the same name. */
  readonly uid: string;
  readonly link: StoreLink;
  readonly state: SyncState;
}

export class SyncRecordStore {
  readonly #store: Pick<Store, 'document' | 'documents' | 'apply' | 'flush'>;
  readonly #prefix: string;

  /** `name`: of the secret store. */
  constructor(store: Pick<Store, 'document' | 'documents' | 'apply' | 'flush'>, name: string) {
    this.#store = store;
    this.#prefix = name === DEFAULT_STORE ? 'secret-store:' : `secret-store/${name}:`;
  }

  /** Read once, on first use: later visits of this process are in memory. Saved without a flush. */
  get cursor(): VisitCursor {
    // Not below the prefix, which is for secrets.
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
   * The sync memory of one object with this uid and place. With another uid or place it starts
   * empty.
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

/** Fingerprints are maps in memory and objects in a document. */
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

/** Undefined: another format version. The object is then adopted again. */
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
