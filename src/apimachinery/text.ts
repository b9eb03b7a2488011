/** Texts that are kept for long. */

/**
 * The same text, in memory of its own. A part of a text shares the memory of the whole, which then
 * stays for as long as the part does.
 */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}

/** Gives one instance of texts that come again and again. */
export class TextPool {
  readonly #texts = new Map<string, string>();
  readonly #limit: number;

  /** Forgets everything when it has `limit` texts. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  own(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= this.#limit) this.#texts.clear();
    const own = ownText(text);
    this.#texts.set(own, own);
    return own;
  }
}
