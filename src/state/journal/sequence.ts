/** A list that grows at its end and is forgotten from its head; positions are absolute. */
export class Sequence<T extends object> {
  #slots: (T | undefined)[] = [];
  /** Forgotten slots still at the head of `#slots`. */
  #dead = 0;
  #first = 0;

  /** Position of the oldest item that is still held. */
  get first(): number {
    return this.#first;
  }

  /** Position that the next item will have. */
  get end(): number {
    return this.#first + this.#slots.length - this.#dead;
  }

  /** The item at a position from `first` to before `end`. */
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
