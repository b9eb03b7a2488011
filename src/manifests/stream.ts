/**
 * Splits a YAML stream into its documents without parsing them. A line that starts with `---` or
 * `...` is always a document marker (YAML 1.2.2, section 9.1.2: no scalar may contain one). So the
 * split is exact, one broken document cannot swallow its neighbours, and an edit reads only its own
 * document.
 */

/** One document of a stream. Slices are adjacent; only a byte order mark is outside. */
export interface StreamSlice {
  /** Index among all documents of the stream, including empty ones, from 0. */
  readonly index: number;
  /** Offset of the comments and directives before the document. */
  readonly start: number;
  /** Offset of its `---`, or of its first line of content if it has none. */
  readonly bodyStart: number;
  /** Offset of the line that ends it with `...`; undefined if there is none. */
  readonly closedAt: number | undefined;
  /** Offset of the next slice, or the length of the text. */
  readonly end: number;
}

export const BYTE_ORDER_MARK = '\uFEFF';

/** The documents of a stream in order. A stream with comments only has none. */
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
    // A second `...` ends nothing and belongs to the gap before the next document.
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

/** First line between the offsets that is not blank, a comment or a directive. */
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

/** End of a `...` line; if content follows on it, the end of the dots. */
function afterMarker(text: string, marker: number): number {
  const newline = text.indexOf('\n', marker);
  const lineEnd = newline === -1 ? text.length : newline + 1;
  return isBlankOrComment(text, marker + 3, lineEnd) ? lineEnd : marker + 3;
}
