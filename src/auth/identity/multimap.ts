/** A map from keys to sets of names, such as from a group to the teams that list it. */
export class Multimap {
  readonly #names = new Map<string, Set<string>>();

  add(key: string, name: string): void {
    const names = this.#names.get(key);
    if (names === undefined) this.#names.set(key, new Set([name]));
    else names.add(name);
  }

  delete(key: string, name: string): void {
    const names = this.#names.get(key);
    if (names?.delete(name) && names.size === 0) this.#names.delete(key);
  }

  get(key: string): Iterable<string> {
    return this.#names.get(key) ?? [];
  }
}
