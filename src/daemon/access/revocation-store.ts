/** Revocations as metadata in the state store: they survive restarts and are not in git. */
import type { RevocationStore } from '../../auth/index.ts';
import type { Store } from '../../state/index.ts';

const PREFIX = 'revoked-token:';

/** Reads revocations from the state at each call. */
export function isRevokedIn(store: Pick<Store, 'documents'>): (id: string) => boolean {
  return (id) => [...store.documents(PREFIX + id)].some(([name]) => name === PREFIX + id);
}

export function revocationStore(store: Store): RevocationStore {
  return {
    *load() {
      for (const [name, { expiresAt }] of store.documents(PREFIX)) {
        yield [name.slice(PREFIX.length), Number(expiresAt)];
      }
    },
    set: async (id, expiresAt) => {
      store.apply([], { [PREFIX + id]: { expiresAt } });
      await store.flush();
    },
    remove: async (ids) => {
      store.apply([], Object.fromEntries(ids.map((id) => [PREFIX + id, undefined])));
      await store.flush();
    },
  };
}
