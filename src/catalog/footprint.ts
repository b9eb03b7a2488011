/** Paths and objects that a computation read or changed, to find out what it has to do with another. */
import { caseFolded, keyString, type ObjectKey } from '../apimachinery/index.ts';

const UNUSUAL_CHARACTER = /[A-Z]|[^ -~]/;

/** Key that colliding paths share; the path itself for most paths. */
export function collisionKey(path: string): string {
  return UNUSUAL_CHARACTER.test(path) ? caseFolded(path) : path;
}

export class Footprint {
  readonly #paths = new Set<string>();
  readonly #keys = new Set<string>();

  addPath(path: string): void {
    this.#paths.add(collisionKey(path));
  }

  addKey(key: ObjectKey): void {
    this.#keys.add(keyString(key));
  }

  add(other: Footprint): void {
    for (const path of other.#paths) this.#paths.add(path);
    for (const key of other.#keys) this.#keys.add(key);
  }

  /** True if both have a path or an object. Costs as much as the smaller one. */
  meets(other: Footprint): boolean {
    return meet(this.#paths, other.#paths) || meet(this.#keys, other.#keys);
  }
}

function meet(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  const [small, large] = one.size < other.size ? [one, other] : [other, one];
  for (const item of small) if (large.has(item)) return true;
  return false;
}
