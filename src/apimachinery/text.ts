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

/** A path on one line, whatever git has been given for a name: quoted where it could mislead. */
export function shownPath(path: string): string {
  if (!MISLEADING.test(path)) return path;
  const escaped = path.replace(/["\\]/g, '\\$&').replace(MISLEADING_ALL, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `"${escaped}"`;
}

/** Control characters, line ends, changes of direction, and bytes that are no text. */
const MISLEADING = /[\p{Cc}\p{Surrogate}\p{Bidi_Control}\u2028\u2029]/u;
const MISLEADING_ALL = new RegExp(MISLEADING, 'gu');
