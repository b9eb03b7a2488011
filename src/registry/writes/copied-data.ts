/** All copies of a shared secret change in one step with it, so that their data together has a limit. */
import {
  describeKey,
  type KubeObject,
  keyString,
  type ObjectKey,
} from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import type { Store } from '../../state/index.ts';

const MEBIBYTE = 1024 * 1024;
const MOST_MEBIBYTES = 64;
/** Smaller data is not counted: a copy is about as large as its own manifest. */
const SMALL = 1024;

/** Reason against so many copies of the data of an object; undefined: there is none. */
export function copiesProblem(
  source: ObjectKey,
  bytes: number,
  copies: number,
): string | undefined {
  const mebibytes = (bytes * copies) / MEBIBYTE;
  if (bytes <= SMALL || mebibytes <= MOST_MEBIBYTES) return undefined;
  const size = `${Math.ceil(mebibytes)} MiB of its data`;
  return `${copies} copies of ${describeKey(source)} would have ${size}; the limit is ${MOST_MEBIBYTES} MiB`;
}

/** Size of the data of a secret, in characters; 0 for other objects. */
export function dataSize(object: KubeObject | undefined): number {
  return Object.entries(object?.spec?.['data'] ?? {}).reduce(
    (sum, [key, value]) => sum + key.length + String(value).length,
    0,
  );
}

/**
 * Number of objects that follow a source, with those that are `added`. Without them where all objects
 * together would not be too many.
 */
export function followersOf(
  { kinds }: KindTable,
  store: Pick<Store, 'list'>,
  {
    source,
    bytes,
    added = 0,
  }: { readonly source: ObjectKey; readonly bytes: number; readonly added?: number },
): number {
  const wanted = keyString(source);
  return kinds.reduce((sum, { group, kind, follows }) => {
    if (follows === undefined) return sum;
    const { items } = store.list({ group, kind });
    if (copiesProblem(source, bytes, items.length + added) === undefined) return sum;
    const found = items.filter(({ key: { name }, labels }) => {
      const followed = follows({ apiVersion: '', kind, metadata: { name, labels: { ...labels } } });
      return followed !== undefined && keyString(followed) === wanted;
    });
    return sum + found.length;
  }, added);
}
