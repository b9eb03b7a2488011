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

const ASCII = /^[ -~]*$/;
/**
 * Characters that file systems leave out of comparisons: folders of ext4 that ignore case all of them, HFS+
 * some (git: `next_hfs_char`).
 */
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * A name or path as file systems that ignore case compare it. Upper case comes first: only there the long s and
 * the dotless i are those of ASCII.
 */
export function caseFolded(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const compared = text.normalize('NFC').replace(IGNORABLE, '');
  // The capital sharp s becomes the small one first, which is SS in upper case.
  return compared.toLowerCase().toUpperCase().toLowerCase().normalize('NFC');
}

/** A path for display on one line. It is quoted and escaped if it has misleading characters. */
export function shownPath(path: string): string {
  if (!MISLEADING.test(path)) return path;
  const escaped = path.replace(/["\\]/g, '\\$&').replace(MISLEADING_ALL, escapedUnits);
  return `"${escaped}"`;
}

/**
 * Lines for a terminal: without characters that it obeys, or that reorder or hide text. Those that join
 * emoji stay, and so do line ends: `ssh` ends its errors with two characters.
 */
export function terminalText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(OBEYED, (character) =>
      character === '\n' || character === '\t' ? character : escapedUnits(character),
    );
}

/** JSON that shows on a terminal what it holds: the escapes of `terminalText` are those of JSON. */
export function terminalJson(value: unknown): string {
  return terminalText(JSON.stringify(value, null, 2));
}

function escapedUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** Control characters, line ends, bidirectional controls, what no font shows, and bytes that are not text. */
const MISLEADING =
  /[\p{Cc}\p{Surrogate}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2028\u2029]/u;
const MISLEADING_ALL = new RegExp(MISLEADING, 'gu');
/** Misleading, but for a variation selector or a joiner behind an emoji. */
const OBEYED = new RegExp(
  `(?!(?<=\\p{Extended_Pictographic}\\p{Emoji_Modifier}?)\\ufe0f|(?<=\\p{Extended_Pictographic}[\\p{Emoji_Modifier}\\ufe0f]?)\\u200d)${MISLEADING.source}`,
  'gu',
);
