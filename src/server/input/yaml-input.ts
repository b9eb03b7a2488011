/**
 * YAML texts of requests: exactly one document. It means what the same text means in a manifest
 * pushed with git, and what it means to kubectl; only keys that occur twice are not fatal here,
 * since `fieldValidation` decides on them. No message holds a value of the text.
 */
import { isMap, isScalar, isSeq, Lexer, type ParsedNode, type YAMLMap } from 'yaml';
import { badRequest, type StatusError } from '../../apimachinery/index.ts';
import {
  compose,
  evaluate,
  holdsNothing,
  isMergeKey,
  linesIn,
  parsePlainYaml,
  positionAt,
  type StreamSlice,
  splitStream,
} from '../../manifests/index.ts';
import type { DecodedText } from './json-input.ts';

/**
 * The library takes 4 to 17 µs a lexeme, while nothing else runs; the reader of plain texts, which
 * goes first, takes a small part of that.
 */
const MAX_LEXEMES = 50_000;
const ALWAYS_FEW_LEXEMES = 32 * 1024;
/** Documents of comments alone may surround the one that counts. */
const MAX_DOCUMENTS = 20;

/** Throws 400, with line and column. */
export function decodeYaml(text: string): DecodedText {
  const plain = parsePlainYaml(text);
  if (plain?.length === 1) return { value: plain[0]?.value, duplicates: [] };
  refuseTooLarge(text);
  const slices = splitStream(text);
  if (slices.length > MAX_DOCUMENTS) throw tooManyDocuments(text, slices[MAX_DOCUMENTS]);
  const filled = slices.flatMap((slice) => composeSlice(text, slice) ?? []);
  const [document, second] = filled;
  if (document === undefined) throw badRequest('the body holds no YAML document');
  if (second !== undefined) throw tooManyDocuments(text, second.slice);
  const duplicates = dropDuplicates(text, document);
  const { value, flaws } = evaluate(document.contents);
  if (flaws[0] !== undefined) throw failure(text, document.slice.start, flaws[0]);
  return { value, duplicates };
}

interface FilledDocument {
  readonly slice: StreamSlice;
  readonly contents: ParsedNode;
}

function composeSlice(text: string, slice: StreamSlice): FilledDocument | undefined {
  const { contents, flaws } = compose(text.slice(slice.start, slice.end), { tokens: false });
  if (flaws[0] !== undefined) throw failure(text, slice.start, flaws[0]);
  return contents === null || holdsNothing(contents) ? undefined : { slice, contents };
}

function refuseTooLarge(text: string): void {
  if (text.length <= ALWAYS_FEW_LEXEMES) return;
  let count = 0;
  for (const _lexeme of new Lexer().lex(text)) {
    if (++count > MAX_LEXEMES) {
      throw badRequest('this much YAML takes too long to read; send it as JSON');
    }
  }
}

/** Keeps the last of several values for a key and returns a sentence for every one too many. */
function dropDuplicates(text: string, { slice, contents }: FilledDocument): string[] {
  const duplicates: string[] = [];
  const lineAt = linesIn(text);
  for (const map of mapsOf(contents)) {
    const lastOf = new Map<string, number>();
    map.items.forEach(({ key }, index) => {
      const name = keyName(key);
      if (name === undefined) return;
      const offset = slice.start + key.range[0];
      if (name === '__proto__') {
        throw failure(text, offset, { offset: 0, message: 'the key "__proto__" is not allowed' });
      }
      if (lastOf.has(name)) {
        duplicates.push(`line ${lineAt(offset)}: key ${JSON.stringify(name)} already set in map`);
      }
      lastOf.set(name, index);
    });
    map.items = map.items.filter(({ key }, index) => {
      const name = keyName(key);
      return name === undefined || lastOf.get(name) === index;
    });
  }
  return duplicates;
}

/** Every map of a tree, in the order of the text; one is looked at before its children are. */
function* mapsOf(contents: ParsedNode): Generator<YAMLMap<ParsedNode, ParsedNode | null>> {
  const pending: unknown[] = [contents];
  while (pending.length > 0) {
    const node = pending.pop();
    if (isSeq(node)) for (const item of node.items.toReversed()) pending.push(item);
    if (!isMap<ParsedNode, ParsedNode | null>(node)) continue;
    yield node;
    for (const value of node.items.map(({ value }) => value).toReversed()) pending.push(value);
  }
}

/** Undefined for merge keys, of which a map may have several, and for keys that are no text. */
function keyName(key: ParsedNode): string | undefined {
  return isScalar(key) && !isMergeKey(key) ? key.source : undefined;
}

function tooManyDocuments(text: string, slice: StreamSlice | undefined): StatusError {
  const message = 'a request takes exactly one YAML document';
  return failure(text, slice?.bodyStart ?? 0, { offset: 0, message });
}

function failure(
  text: string,
  start: number,
  flaw: { readonly offset: number; readonly message: string },
): StatusError {
  const { line, col } = positionAt(text, start + flaw.offset);
  return badRequest(`the body is not valid YAML: ${line}:${col}: ${flaw.message}`);
}
