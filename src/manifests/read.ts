/**
 * Reads the bytes of a file into documents: with the fast reader if possible, otherwise with the
 * library.
 */
import type { FieldPath, JsonValue } from '../apimachinery/index.ts';
import { blockPosition } from './block-position.ts';
import type { LocateOptions, ManifestDocument, ManifestFile, Position } from './manifest.ts';
import { decodeUtf8, parseManifests } from './parse.ts';
import { type PlainJson, plainJson } from './plain/plain-json.ts';
import { parsePlainYaml } from './plain/plain-yaml.ts';

/** A file that is not UTF-8 has a problem instead of documents. */
export type Unreadable = Position & { readonly message: string };

/**
 * The fast reader accepts the plain subset only and returns the library's values for it. The
 * library reads all other text, and answers every question about a position.
 */
export function readManifests(content: Buffer): ManifestFile | Unreadable {
  const only = plainJson(content);
  return only === undefined ? readDocuments(content) : { documents: [documentOf(content, only)] };
}

/** Nearly all files. Positions are computed on demand. */
function documentOf(content: Buffer, { json, line, hasNull }: PlainJson): ManifestDocument {
  let file: ManifestFile | Unreadable | undefined;
  const locate: ManifestDocument['locate'] = (path, options) => {
    if (path.length === 0) return { line, col: 1 };
    file ??= readDocuments(content);
    const [document] = 'documents' in file ? file.documents : [];
    return document?.locate(path, options) ?? { line, col: 1 };
  };
  const value: JsonValue = JSON.parse(json);
  // Spreading it into another object would create a new V8 shape each time.
  if (hasNull) return { index: 0, value, problems: [], locate };
  return { index: 0, value, json, problems: [], locate };
}

function readDocuments(content: Buffer): ManifestFile | Unreadable {
  const decoded = decodeUtf8(content);
  if ('problem' in decoded) return decoded.problem;
  const { text } = decoded;
  const plain = parsePlainYaml(text);
  if (plain === undefined) return parseManifests(text);
  let parsed: ManifestFile | undefined;
  const locate = (index: number, path: FieldPath, options?: LocateOptions): Position => {
    const quick =
      plain.length === 1 && options === undefined ? blockPosition(text, path) : undefined;
    if (quick !== undefined) return quick;
    parsed ??= parseManifests(text);
    const document = parsed.documents.find((candidate) => candidate.index === index);
    return document?.locate(path, options) ?? { line: 1, col: 1 };
  };
  let lines: readonly number[] | undefined;
  const firstLine = (index: number): number => {
    // Most files have one document.
    lines ??= contentLines(text, plain.length === 1 ? plain[0]?.index : undefined);
    return lines[index] ?? 1;
  };
  const documents = plain.map(
    ({ index, value }): ManifestDocument => ({
      index,
      value,
      problems: [],
      locate: (path, options) =>
        path.length === 0 ? { line: firstLine(index), col: 1 } : locate(index, path, options),
    }),
  );
  return { documents };
}

/**
 * First line of content of each document of a plain stream, by index; up to the document `last`, if
 * given.
 */
function contentLines(text: string, last?: number): number[] {
  const lines: number[] = [];
  let document = 0;
  let line = 0;
  let seen = false;
  for (let start = 0; start < text.length && (last === undefined || !(last in lines)); ) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    line++;
    const first = text.charAt(start);
    const separator = first === '-' && text.startsWith('---', start);
    if (separator) {
      if (seen || lines[document] !== undefined) document++;
      seen = true;
    } else if (lines[document] === undefined && first !== '#' && end > start) {
      lines[document] = line;
    }
    start = end + 1;
  }
  return lines;
}
