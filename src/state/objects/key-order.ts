/** The order of lists: by namespace, then name, as UTF-8 bytes. */
import type { ObjectKey } from '../../apimachinery/index.ts';

/** UTF-16 and UTF-8 order differ only if both texts have units from here up. */
const BEYOND = /[\ud800-\uffff]/;

export function compareBytes(a: string, b: string): number {
  if (a === b) return 0;
  if (BEYOND.test(a) && BEYOND.test(b)) {
    const order = Buffer.compare(Buffer.from(a), Buffer.from(b));
    if (order !== 0) return order;
  }
  return a < b ? -1 : 1;
}

export function compareKeys(a: ObjectKey, b: ObjectKey): number {
  return compareBytes(a.namespace, b.namespace) || compareBytes(a.name, b.name);
}
