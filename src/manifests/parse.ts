/**
 * Parses a YAML stream into manifests with positions. The `yaml` library parses the syntax; scalars
 * are resolved by the rules of go-yaml (scalar-meaning.ts). Nothing here throws: problems are
 * listed with their position, and affect only their document.
 */

import { isAscii } from 'node:buffer';
import type { JsonValue } from '../apimachinery/index.ts';
import { compose, type Flaw, hasTooManyLexemes, MAX_LEXEMES } from './compose.ts';
import { evaluate } from './evaluate.ts';
import type { ManifestDocument, ManifestFile, Position } from './manifest.ts';
import { parsePlainYaml } from './plain/plain-yaml.ts';
import { locator, placesIn, positionAt } from './positions.ts';
import { type StreamSlice, splitStream } from './stream.ts';
import { mostLexemes } from './write.ts';

/** A file with more documents is refused at the first one over the limit. */
const MAX_DOCUMENTS = 5_000;

type DocumentProblem = ManifestDocument['problems'][number];

/** Every nonempty document of a stream. */
export function parseManifests(text: string): ManifestFile {
  const slices = splitStream(text);
  const source = { text, placeOf: placesIn(text) };
  const documents: ManifestDocument[] = [];
  for (const slice of slices.slice(0, MAX_DOCUMENTS)) {
    const document = parseSlice(source, slice);
    if (document !== undefined) documents.push(document);
  }
  const surplus = slices[MAX_DOCUMENTS];
  if (surplus !== undefined) {
    const message = `more than ${MAX_DOCUMENTS} documents in one file; split it`;
    documents.push(documentOf(source, surplus, { flaws: [{ offset: 0, message }] }));
  }
  return { documents };
}

/** One document of a stream by its index, like `parseManifests`; undefined if it is empty. */
export function parseDocument(text: string, index: number): ManifestDocument | undefined {
  const slice = splitStream(text)[index];
  return slice && parseSlice({ text, placeOf: placesIn(text) }, slice);
}

/** The value of `parseDocument`, from the fast reader if possible; undefined if it could not be edited. */
export function documentValue(text: string, index: number): JsonValue | undefined {
  const slice = splitStream(text)[index];
  if (slice === undefined) return undefined;
  const source = text.slice(slice.start, slice.end);
  const plain = parsePlainYaml(source);
  if (plain === undefined) return parseSlice({ text, placeOf: placesIn(text) }, slice)?.value;
  const value = plain[0]?.value;
  if (value === undefined || mostLexemes(value) <= MAX_LEXEMES) return value;
  return hasTooManyLexemes(source) ? undefined : value;
}

interface Source {
  readonly text: string;
  readonly placeOf: (offset: number) => Position;
}

function parseSlice(source: Source, slice: StreamSlice): ManifestDocument | undefined {
  const { contents, flaws } = compose(source.text.slice(slice.start, slice.end), { tokens: false });
  const root = contents?.range[0];
  if (flaws.length > 0) return documentOf(source, slice, { flaws, root });
  if (contents === null || holdsNothing(contents)) return undefined;
  return documentOf(source, slice, { ...evaluate(contents), root });
}

/** True for an empty scalar without tag and anchor: comments, or nothing at all. */
export function holdsNothing(contents: {
  readonly range: readonly number[];
  readonly tag?: string | undefined;
  readonly anchor?: string | undefined;
}): boolean {
  const [from, to] = contents.range;
  return from === to && contents.tag === undefined && contents.anchor === undefined;
}

function documentOf(
  { text, placeOf }: Source,
  slice: StreamSlice,
  of: {
    readonly flaws: readonly Flaw[];
    readonly value?: JsonValue | undefined;
    readonly root?: number | undefined;
  },
): ManifestDocument {
  const problems = of.flaws.map(
    ({ offset, message }): DocumentProblem => ({ ...placeOf(slice.start + offset), message }),
  );
  const locate = locator(text, { slice, root: of.root, placeOf });
  return { index: slice.index, value: of.value, problems, locate };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export type Decoded = { readonly text: string } | { readonly problem: DocumentProblem };

/** Decodes the text of a file. Keeps a byte order mark; refuses invalid UTF-8 with its position. */
export function decodeUtf8(bytes: Uint8Array): Decoded {
  // Several times as fast as a decoder, and exact.
  if (isAscii(bytes)) {
    const { buffer, byteOffset, byteLength } = bytes;
    return { text: Buffer.from(buffer, byteOffset, byteLength).toString('latin1') };
  }
  try {
    return { text: utf8.decode(bytes) };
  } catch {
    const { place, offset } = firstInvalid(bytes);
    const utf16 =
      (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
    const message = utf16
      ? 'the file is UTF-16; save it as UTF-8'
      : `invalid UTF-8 at byte ${offset}; save the file as UTF-8`;
    return { problem: { ...place, message } };
  }
}

/** Bisects to the first invalid byte. */
function firstInvalid(bytes: Uint8Array): { place: Position; offset: number } {
  let good = 0;
  let bad = bytes.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (decodesAsPrefix(bytes.subarray(0, middle))) good = middle;
    else bad = middle;
  }
  // The last byte of the prefix may end a character that began earlier.
  const prefix = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, good), {
    stream: true,
  });
  const offset = Buffer.byteLength(prefix);
  return { place: positionAt(prefix, prefix.length), offset };
}

function decodesAsPrefix(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
