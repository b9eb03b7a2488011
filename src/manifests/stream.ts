/**
 * Cuts a YAML stream into its documents without parsing them. A line that starts with `---` or
 * `...` is a document marker wherever it stands (YAML 1.2.2, section 9.1.2: no scalar may hold
 * one), so the cut is exact, one broken document cannot swallow its neighbours, and an edit need
 * look at its own document only.
 */

/** One document of a stream. The slices follow one another; only a byte order mark lies outside. */
export interface StreamSlice {
  /** Position among all documents of the stream, the empty ones included, from 0. */
  readonly index: number;
  /** Offset of the comments and directives before the document. */
  readonly start: number;
  /** Offset of its `---`, or of its first line of content where it has none. */
  readonly bodyStart: number;
  /** Offset of the line that ends it with `...`; undefined where none does. */
  readonly closedAt: number | undefined;
  /** Offset of the next slice, or the length of the text. */
  readonly end: number;
}

export const BYTE_ORDER_MARK = '\uFEFF';

/** The documents of a stream in order. A stream of comments alone has none. */
export function splitStream(text: string): StreamSlice[] {
  const slices: StreamSlice[] = [];
  let start = text.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
  let bodyStart: number | undefined;
  const close = (end: number, closedAt: number | undefined) => {
    if (bodyStart === undefined) return;
    slices.push({ index: slices.length, start, bodyStart, closedAt, end });
    start = end;
    bodyStart = undefined;
  };
  for (const marker of markers(text, start)) {
    bodyStart ??= bareContent(text, start, marker);
    if (text[marker] === '-') {
      close(marker, undefined);
      bodyStart = marker;
      continue;
    }
    // A second `...` closes nothing and belongs to the gap before the next document.
    close(afterMarker(text, marker), marker);
  }
  bodyStart ??= bareContent(text, start, text.length);
  close(text.length, undefined);
  return withTail(slices, text.length);
}

/** Comments after the last `...` belong to the last document, so that the slices cover the text. */
function withTail(slices: StreamSlice[], length: number): StreamSlice[] {
  const last = slices.at(-1);
  if (last === undefined || last.end === length) return slices;
  return [...slices.slice(0, -1), { ...last, end: length }];
}

function* markers(text: string, from: number): Generator<number> {
  const pattern = /\n(?:---|\.\.\.)(?=[ \t\r\n]|$)/g;
  if (/^(?:---|\.\.\.)(?:[ \t\r\n]|$)/.test(text.slice(from, from + 4))) yield from;
  pattern.lastIndex = from;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    yield match.index + 1;
  }
}

/** The first line between the offsets that is neither blank nor a comment nor a directive. */
function bareContent(text: string, from: number, to: number): number | undefined {
  let line = from;
  while (line < to) {
    const next = text.indexOf('\n', line);
    const end = next === -1 || next >= to ? to : next + 1;
    if (text[line] !== '%' && !isBlankOrComment(text, line, end)) return line;
    line = end;
  }
  return undefined;
}

export function isBlankOrComment(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const char = text[at];
    if (char === '#') return true;
    if (char !== ' ' && char !== '\t' && char !== '\r' && char !== '\n') return false;
  }
  return true;
}

/** The end of a `...` line, unless content follows on it: then just behind the dots. */
function afterMarker(text: string, marker: number): number {
  const newline = text.indexOf('\n', marker);
  const lineEnd = newline === -1 ? text.length : newline + 1;
  return isBlankOrComment(text, marker + 3, lineEnd) ? lineEnd : marker + 3;
}
