/**
 * Position of a value in a text of the plain subset, without composing the text: for messages about
 * many files at once, nearly all of which are block maps.
 */
import type { Position } from './manifest.ts';

/**
 * Position of the value at a path of map keys. Undefined unless the path leads through block maps
 * to a plain `key: value`; then the library has to answer. The text is one document that the fast
 * reader accepted.
 */
export function blockPosition(
  text: string,
  path: readonly (string | number)[],
): Position | undefined {
  const lines = text.split('\n');
  let at = 0;
  let indent = 0;
  for (const [depth, key] of path.entries()) {
    if (typeof key !== 'string') return undefined;
    const found = findKey(lines, { at, indent, key });
    if (found === undefined) return undefined;
    const value = valueColumn(lines[found] ?? '', indent + key.length + 1);
    if (depth === path.length - 1)
      return value === undefined ? undefined : { line: found + 1, col: value };
    if (value !== undefined) return undefined;
    at = nextContent(lines, found + 1);
    const below = indentOf(lines[at] ?? '');
    if (below <= indent) return undefined;
    indent = below;
  }
  return undefined;
}

/** Line of a key in the block map whose first line is `at`. */
function findKey(
  lines: readonly string[],
  { at, indent, key }: { at: number; indent: number; key: string },
): number | undefined {
  for (let i = at; i < lines.length; i++) {
    const line = lines[i] ?? '';
    if (isEmpty(line)) continue;
    const own = indentOf(line);
    if (own < indent) return undefined;
    if (own === indent && line.startsWith(`${key}:`, indent)) return i;
  }
  return undefined;
}

/** Column of the value after the colon; undefined: there is none, or it is not plain. */
function valueColumn(line: string, from: number): number | undefined {
  const found = /^ +(?=[^\s#&!|>*[{%@`])/.exec(line.slice(from));
  return found === null ? undefined : from + found[0].length + 1;
}

function nextContent(lines: readonly string[], from: number): number {
  let at = from;
  while (at < lines.length && isEmpty(lines[at] ?? '')) at++;
  return at;
}

function isEmpty(line: string): boolean {
  return /^\s*(#|$)/.test(line);
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
