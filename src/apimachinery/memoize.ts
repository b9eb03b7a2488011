/** Results that follow from a text alone, kept for the texts that come again and again. */

/** Longer texts are not cached, so that a client cannot fill the memory. */
const LONGEST_TEXT = 512;

/**
 * Memoizes a function of a text. Results are shared and must not be changed; exceptions are not
 * cached. At `most` results the cache is cleared, which is cheap, and rare if texts repeat.
 */
export function memoize<T>(most: number, make: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const made = make(text);
    if (text.length > LONGEST_TEXT) return made;
    if (known.size >= most) known.clear();
    known.set(text, made);
    return made;
  };
}
