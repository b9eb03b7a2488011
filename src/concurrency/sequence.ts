/** A queue with absolute positions: items are appended at the end and removed from the head. */
export class Sequence<T extends object> {
  #slots: (T | undefined)[] = [];
  /** Removed slots at the head of `#slots`. */
  #dead = 0;
  #first = 0;

  /** Position of the oldest item. */
  get first(): number {
    return this.#first;
  }

  /** Position of the next item. */
  get end(): number {
    return this.#first + this.length;
  }

  get length(): number {
    return this.#slots.length - this.#dead;
  }

  /** The item at a position in [`first`, `end`). */
  at(position: number): T | undefined {
    return position < this.#first ? undefined : this.#slots[position - this.#first + this.#dead];
  }

  push(item: T): void {
    this.#slots.push(item);
  }

  shift(): T | undefined {
    if (this.#first === this.end) return undefined;
    const item = this.#slots[this.#dead];
    this.#slots[this.#dead] = undefined;
    this.#dead++;
    this.#first++;
    if (this.#dead > 32 && this.#dead * 2 > this.#slots.length) {
      this.#slots = this.#slots.slice(this.#dead);
      this.#dead = 0;
    }
    return item;
  }
}
