/**
 * Texts of files, edited and read beside the event loop if they are large: the library takes some 100 ms
 * for as many lexemes as a document may have.
 */
import type { JsonObject, JsonValue } from '../../apimachinery/index.ts';
import { type FileEntry, type FileReader, LARGEST_FILE } from '../../catalog/index.ts';
import { documentValue, editDocument, parsePlainYaml, splitStream } from '../../manifests/index.ts';

/** The library takes some 100 ms for a document of this size. */
const LARGE_DOCUMENT = 64 * 1024;
/** The same for the fast reader and all rules of a kind. */
const LARGE_FILE = 512 * 1024;

/** The value of a document; undefined if it is empty or has flaws. */
export async function valueIn(
  { pool }: FileReader,
  text: string,
  index: number,
): Promise<JsonValue | undefined> {
  const isQuick = pool === undefined || !isLarge(text, index);
  if (isQuick || parsePlainYaml(text) !== undefined) return documentValue(text, index);
  return await pool.edits.documentValue(text, index);
}

/** The text with one document that evaluates to `desired`. Throws a ManifestEditError. */
export async function editText(
  { pool }: FileReader,
  { text, index, desired }: { text: string; index: number; desired: JsonObject },
): Promise<string> {
  const isQuick = !isLarge(text, index) && JSON.stringify(desired).length <= LARGE_DOCUMENT;
  if (pool === undefined || isQuick) return editDocument(text, index, desired);
  return await pool.edits.editDocument(text, index, desired);
}

function isLarge(text: string, index: number): boolean {
  if (text.length <= LARGE_DOCUMENT) return false;
  const { start = 0, end = 0 } = splitStream(text)[index] ?? {};
  return end - start > LARGE_DOCUMENT;
}

/** Reads a file that a write makes. */
export async function readFile(
  reader: FileReader,
  { path, blob, content }: { path: string; blob: string; content: Buffer },
): Promise<FileEntry> {
  const { length } = content;
  const isForThread =
    length > LARGE_DOCUMENT &&
    length <= LARGEST_FILE &&
    (length > LARGE_FILE || parsePlainYaml(content.toString('utf8')) === undefined);
  if (reader.pool === undefined || !isForThread) return reader.read(path, blob, content);
  return await reader.pool.edits.readFile(path, blob, content);
}
