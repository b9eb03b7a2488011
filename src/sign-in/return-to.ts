/**
 * Target of a browser after signing in: a path of this host. A text that a browser could read as another
 * host becomes `/`.
 */

const LONGEST = 2048;
/** Browsers treat `\` as `/`, and skip tabs and line breaks. */
const MISREAD = /[\\\s\p{Cc}\p{Surrogate}]/u;
const MISREAD_ENCODED = /%(2f|5c|[01][0-9a-f]|7f)/i;
/** Any base: a path of this host stays below it. */
const BASE = 'https://gitplane.invalid';

/** The path with its query and fragment, or `/`. */
export function safeReturnTo(wanted: string | undefined | null): string {
  if (wanted === undefined || wanted === null || wanted.length > LONGEST) return '/';
  if (!wanted.startsWith('/') || wanted.startsWith('//') || MISREAD.test(wanted)) return '/';
  if (!URL.canParse(wanted, BASE)) return '/';
  const url = new URL(wanted, BASE);
  if (url.origin !== BASE || url.username !== '' || url.password !== '') return '/';
  // `/.//evil` becomes `//evil` without its dots.
  if (url.pathname.startsWith('//') || MISREAD_ENCODED.test(url.pathname)) return '/';
  return url.pathname + url.search + url.hash;
}
