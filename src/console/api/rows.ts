/** Rows of a list in the order of the API: by namespace, then by name. A change costs no sort. */
import type { ObjectMeta, TableRow } from './objects.ts';

export interface LiveRow {
  readonly key: string;
  readonly cells: readonly unknown[];
  readonly metadata: RowMeta;
}

/** The part of the metadata that lists show. */
export type RowMeta = Pick<
  ObjectMeta,
  'name' | 'namespace' | 'labels' | 'creationTimestamp' | 'deletionTimestamp' | 'generation'
>;

type Named = Pick<ObjectMeta, 'namespace' | 'name'>;

export class Rows {
  readonly #rows: LiveRow[] = [];

  /** The same array after each change. */
  get all(): readonly LiveRow[] {
    return this.#rows;
  }

  put({ cells, object }: TableRow): void {
    const row = { key: keyOf(object.metadata), cells, metadata: shown(object.metadata) };
    const { index, isThere } = this.#find(object.metadata);
    this.#rows.splice(index, isThere ? 1 : 0, row);
  }

  delete(of: Named): void {
    const { index, isThere } = this.#find(of);
    if (isThere) this.#rows.splice(index, 1);
  }

  /** Place of the row, or the place where it belongs. Pages of a list end in the last place. */
  #find(of: Named): { readonly index: number; readonly isThere: boolean } {
    const last = this.#rows.at(-1);
    if (last === undefined || compare(last.metadata, of) < 0) {
      return { index: this.#rows.length, isThere: false };
    }
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const there = this.#rows[middle];
      if (there !== undefined && compare(there.metadata, of) < 0) low = middle + 1;
      else high = middle;
    }
    const found = this.#rows[low];
    return { index: low, isThere: found !== undefined && compare(found.metadata, of) === 0 };
  }
}

function compare(a: Named, b: Named): number {
  const [ofA, ofB] = [a.namespace ?? '', b.namespace ?? ''];
  if (ofA !== ofB) return ofA < ofB ? -1 : 1;
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
}

function keyOf({ namespace = '', name }: Named): string {
  return `${namespace}/${name}`;
}

/** A row keeps nothing else of its object: lists have 100,000 rows. */
function shown(metadata: ObjectMeta): RowMeta {
  const { name, namespace, labels, creationTimestamp, deletionTimestamp, generation } = metadata;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined ? {} : { labels }),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(generation === undefined ? {} : { generation }),
  };
}
