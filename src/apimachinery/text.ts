/** Memory and display of texts. */

/**
 * A copy of the text in its own memory. V8 lets a substring share the memory of the whole text, which
 * is then not freed while the substring lives.
 */
export function ownText(text: string): string {
  return Buffer.from(text).toString();
}

/** Interns texts: equal texts share one instance. */
export class TextPool {
  readonly #texts = new Map<string, string>();
  readonly #limit: number;

  /** Drops all texts when it holds `limit` of them. */
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

/** A path for display on one line. It is quoted and escaped if it has misleading characters. */
export function shownPath(path: string): string {
  if (!MISLEADING.test(path)) return path;
  const escaped = path.replace(/["\\]/g, '\\$&').replace(MISLEADING_ALL, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `"${escaped}"`;
}

/** Control characters, line ends, bidirectional controls, and bytes that are not text. */
const MISLEADING = /[\p{Cc}\p{Surrogate}\p{Bidi_Control}\u2028\u2029]/u;
const MISLEADING_ALL = new RegExp(MISLEADING, 'gu');
