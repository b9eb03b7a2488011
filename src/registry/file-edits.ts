/**
 * Turns changes of objects into changes of files: finds the document, splices it, and reads the
 * result back with the same reader that a push goes through, before anything is committed.
 */
import { describeKey, type ObjectKey } from '../apimachinery/key.ts';
import type { JsonObject } from '../apimachinery/object.ts';
import { isRecord } from '../apimachinery/object.ts';
import { StatusError } from '../apimachinery/status-error.ts';
import type { Catalog, CatalogObject } from '../catalog/catalog.ts';
import type { FileEntry, FileReader } from '../catalog/file.ts';
import type { TreeView } from '../catalog/tree.ts';
import { objectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { appendDocument, editDocument, isEmptyStream, removeDocument } from '../manifests/edit.ts';
import { parseManifests } from '../manifests/parse.ts';
import { formatManifest } from '../manifests/write.ts';

/** One object as a write wants it. */
export interface ObjectEdit {
  readonly key: ObjectKey;
  /** Where a new object goes. */
  readonly newPath: string;
  /**
   * The manifest to write, given the one that is there (undefined: the object is new); null
   * removes it.
   */
  manifest(current: JsonObject | undefined): JsonObject | null;
}

/** A file with the edits of one commit in it. */
export interface EditedFile {
  readonly path: string;
  /** null: the file is to be removed. */
  readonly content: Buffer | null;
  readonly entry: FileEntry | undefined;
}

export interface EditContext {
  readonly repository: Pick<Repository, 'readBlobs'>;
  readonly reader: FileReader;
  readonly catalog: Catalog;
  readonly view: TreeView;
  readonly texts: TextCache;
}

/** Texts of files by blob, newest last; spares a read for files that are written again. */
export class TextCache {
  readonly #texts = new Map<string, string>();
  readonly #limit: number;

  constructor(limit = 1024) {
    this.#limit = limit;
  }

  get(blob: string): string | undefined {
    return this.#texts.get(blob);
  }

  set(blob: string, text: string): void {
    this.#texts.delete(blob);
    this.#texts.set(blob, text);
    if (this.#texts.size <= this.#limit) return;
    const [oldest] = this.#texts.keys();
    if (oldest !== undefined) this.#texts.delete(oldest);
  }
}

/** Throws StatusError when the repository is in a state that the edit cannot be made in. */
export async function editFile(context: EditContext, edit: ObjectEdit): Promise<EditedFile> {
  const current = context.catalog.object(edit.key);
  const path = current?.place.path ?? edit.newPath;
  const file = context.catalog.file(path);
  if (current === undefined && !context.view.includes(path)) {
    throw conflictWithRepository(edit.key, `.gitplaneignore covers ${path}, where it would go`);
  }
  const text = file === undefined ? undefined : await fileText(context, file);
  const edited = splice({ edit, current, file, text });
  if (isEmptyStream(edited)) return { path, content: null, entry: undefined };
  const content = Buffer.from(edited, 'utf8');
  const blob = objectId('blob', content);
  context.texts.set(blob, edited);
  const entry = context.reader.read(path, blob, content);
  refuseIfBroken(edit.key, entry);
  return { path, content, entry };
}

async function fileText(context: EditContext, file: FileEntry): Promise<string> {
  const cached = context.texts.get(file.blob);
  if (cached !== undefined) return cached;
  const [content] = await context.repository.readBlobs([file.blob]);
  const text = content?.toString('utf8') ?? '';
  context.texts.set(file.blob, text);
  return text;
}

function splice(of: {
  edit: ObjectEdit;
  current: CatalogObject | undefined;
  file: FileEntry | undefined;
  text: string | undefined;
}): string {
  const { edit, current, file, text } = of;
  if (current === undefined || text === undefined) {
    const manifest = edit.manifest(undefined);
    if (manifest === null) throw conflictWithRepository(edit.key, 'it is not in git');
    return text === undefined ? formatManifest(manifest) : appendDocument(text, manifest);
  }
  const raw = currentManifest(edit.key, current, { file, text });
  const manifest = edit.manifest(raw);
  return manifest === null
    ? removeDocument(text, current.place.index)
    : editDocument(text, current.place.index, manifest);
}

/** The document as it is in the file, or the last good one where it parses but is not valid. */
function currentManifest(
  key: ObjectKey,
  current: CatalogObject,
  at: { file: FileEntry | undefined; text: string },
): JsonObject {
  const entry = at.file?.documents.find(({ index }) => index === current.place.index);
  const raw = parseManifests(at.text).documents.find(({ index }) => index === current.place.index);
  if (entry?.key === undefined || !isRecord(raw?.value)) {
    const [problem] = current.problems;
    const place =
      problem === undefined
        ? current.place.path
        : `${problem.path}:${problem.line}:${problem.col}: ${problem.message}`;
    throw conflictWithRepository(
      key,
      `its file cannot be edited until it is mended in git: ${place}`,
    );
  }
  return (entry.manifest === undefined ? current.manifest : raw.value) as unknown as JsonObject;
}

/** The last check before a commit: what was written reads back without a problem. */
function refuseIfBroken(key: ObjectKey, entry: FileEntry): void {
  const mine = entry.documents.filter(
    (document) =>
      document.key?.name === key.name &&
      document.key.kind === key.kind &&
      document.key.namespace === key.namespace,
  );
  const [problem] = mine.flatMap((document) => document.problems);
  if (problem === undefined) return;
  throw conflictWithRepository(
    key,
    `the file would not be valid: ${problem.path}:${problem.line}:${problem.col}: ${problem.message}`,
  );
}

function conflictWithRepository(key: ObjectKey, why: string): StatusError {
  return new StatusError(409, 'Conflict', `Cannot write ${describeKey(key)}: ${why}`, {
    name: key.name,
    group: key.group,
    kind: key.kind,
  });
}
