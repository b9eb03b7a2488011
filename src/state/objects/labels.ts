/**
 * Labels of an object from its JSON, without parsing the rest: selectors read the labels of every
 * object in a collection. Equal labels are shared, since many objects have the same ones.
 */
import { isRecord, ownText } from '../../apimachinery/index.ts';

export type Labels = Readonly<Record<string, string>>;

/** Limit of the cache of shared labels. */
const MAX_SHARED = 10_000;
const shared = new Map<string, Labels>();

/** `json`: an object as JSON.stringify writes it. */
export function labelsOf(json: string): Labels | undefined {
  const text = memberText(memberText(json, 'metadata'), 'labels');
  if (text === undefined) return undefined;
  const known = shared.get(text);
  if (known !== undefined) return known;
  const labels: unknown = JSON.parse(text);
  return isLabels(labels) ? share(text, labels) : undefined;
}

function isLabels(value: unknown): value is Labels {
  return isRecord(value);
}

/** The shared, frozen value that equals `labels`. */
export function sharedLabels(labels: Labels | undefined): Labels | undefined {
  if (labels === undefined) return undefined;
  const text = JSON.stringify(labels);
  return shared.get(text) ?? share(text, { ...labels });
}

function share(text: string, labels: Labels): Labels {
  // Clears the cache when it is full; objects keep their labels.
  if (shared.size >= MAX_SHARED) shared.clear();
  shared.set(ownText(text), Object.freeze(labels));
  return labels;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACE = 0x7d;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

/** Text of a member of an object; undefined if absent. */
function memberText(json: string | undefined, name: string): string | undefined {
  if (json?.charCodeAt(0) !== OPEN_BRACE) return undefined;
  const wanted = `"${name}":`;
  let at = 1;
  while (json.charCodeAt(at) === QUOTE) {
    const value = afterString(json, at) + 1;
    const end = afterValue(json, value);
    if (json.startsWith(wanted, at)) return json.slice(value, end);
    if (json.charCodeAt(end) !== COMMA) return undefined;
    at = end + 1;
  }
  return undefined;
}

/** End of the string that begins at `start`. */
function afterString(json: string, start: number): number {
  let end = start;
  for (;;) {
    end = json.indexOf('"', end + 1);
    if (end < 0) return json.length;
    let first = end;
    while (json.charCodeAt(first - 1) === BACKSLASH) first--;
    if ((end - first) % 2 === 0) return end + 1;
  }
}

/** End of the value that begins at `start`. */
function afterValue(json: string, start: number): number {
  const first = json.charCodeAt(start);
  if (first === QUOTE) return afterString(json, start);
  if (isOpening(first)) return afterNested(json, start);
  let at = start;
  while (at < json.length && json.charCodeAt(at) !== COMMA && !isClosing(json.charCodeAt(at))) at++;
  return at;
}

/** End of the object or list that begins at `start`. */
function afterNested(json: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < json.length) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = afterString(json, at);
      continue;
    }
    at++;
    if (isOpening(code)) depth++;
    else if (isClosing(code) && --depth === 0) return at;
  }
  return at;
}

function isOpening(code: number): boolean {
  return code === OPEN_BRACE || code === OPEN_BRACKET;
}

function isClosing(code: number): boolean {
  return code === CLOSE_BRACE || code === CLOSE_BRACKET;
}
