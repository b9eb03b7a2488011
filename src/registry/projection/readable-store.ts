/** A store as readers of the API see it; changes go to the underlying store. */
import type { JsonObject } from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import type { Store } from '../../state/index.ts';
import { ReadableView } from './readable-view.ts';

export class ReadableStore extends ReadableView implements Store {
  readonly #store: Store;

  constructor(store: Store, kinds: KindTable) {
    super(store, kinds);
    this.#store = store;
  }

  get pristine(): boolean {
    return this.#store.pristine;
  }

  fill: Store['fill'] = (sources, filling, documents) =>
    this.#store.fill(sources, filling, documents);

  apply: Store['apply'] = (...step) => this.#store.apply(...step);

  prepare: Store['prepare'] = (...step) => this.#store.prepare(...step);

  applyYielding: Store['applyYielding'] = (...step) => this.#store.applyYielding(...step);

  filled(): Promise<void> {
    return this.#store.filled();
  }

  provenanceFacts(): ReturnType<Store['provenanceFacts']> {
    return this.#store.provenanceFacts();
  }

  document(name: string): JsonObject | undefined {
    return this.#store.document(name);
  }

  documents(prefix: string): IterableIterator<[string, JsonObject]> {
    return this.#store.documents(prefix);
  }

  get trouble(): Store['trouble'] {
    return this.#store.trouble;
  }

  flush(): Promise<void> {
    return this.#store.flush();
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
