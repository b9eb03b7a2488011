/** Results that follow from a text alone, kept for the texts that come again and again. */

/** Longer texts are worked out each time: a stranger must not fill the memory with them. */
const LONGEST_TEXT = 512;

/**
 * The same function, which gives the same result for the same text without working it out again.
 * What it returns is shared and must not be changed; what it throws is not kept. At most `most`
 * results are held: then all are dropped, which is cheap, and rare where texts repeat.
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
