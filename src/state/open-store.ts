/** Opens the store on the state that its engine persists. */
import { JournaledStore } from './journaled-store.ts';
import { readState } from './records/saved-state.ts';
import type { Store } from './store.ts';
import type { StoreOptions } from './store-options.ts';

/** Reads the state of the engine. On failure it closes the engine and throws StateError. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { engine, codec } = options;
  try {
    const saved = await readState(engine, codec);
    await engine.loaded?.();
    const store = new JournaledStore(options, saved);
    // The clean-close flag is removed before the first read: from now on, a state without it may
    // lack changes that clients have seen.
    engine.write([...saved.repairs, store.meta(false)]);
    store.redo(saved.meta);
    await engine.flush();
    return store;
  } catch (error) {
    await engine.close().catch(() => undefined);
    throw error;
  }
}
