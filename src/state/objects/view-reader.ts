/** Read operations that every store answers from its view. */
import type { JsonObject, ObjectKey } from '../../apimachinery/index.ts';
import type { Collection, JournalEvent, ObjectList, StoredObject, Watch } from '../store.ts';
import type { View } from './view.ts';

export abstract class ViewReader {
  readonly #view: View;

  constructor(view: View) {
    this.#view = view;
  }

  /** Throws StateError when the store is closed. */
  protected abstract assertOpen(): void;

  get resourceVersion(): number {
    return this.#view.head;
  }

  get(key: ObjectKey): StoredObject | undefined {
    return this.#view.get(key);
  }

  list(collection: Collection): ObjectList {
    return this.#view.list(collection);
  }

  listAt(collection: Collection, resourceVersion: number): ObjectList {
    return this.#view.listAt(collection, resourceVersion);
  }

  watch(collection: Collection, since: number): Watch {
    this.assertOpen();
    return this.#view.watch(collection, since);
  }

  observe(collection: Collection, listener: (event: JournalEvent) => void): () => void {
    return this.#view.observe(collection, listener);
  }

  document(name: string): JsonObject | undefined {
    return this.#view.document(name);
  }

  documents(prefix: string): IterableIterator<[string, JsonObject]> {
    return this.#view.documents(prefix);
  }
}
