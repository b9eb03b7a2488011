/**
 * Turns object changes into file changes: finds the document, splices it, and reads the result with
 * the reader that pushes go through, before anything is committed.
 */
import {
  isRecord,
  type JsonObject,
  keyString,
  type ObjectKey,
  SERVER_POPULATED_META,
  type StatusError,
  sameKey,
} from '../../apimachinery/index.ts';
import type { CatalogObject, FileEntry, FileReader, Place } from '../../catalog/index.ts';
import { GitError, objectId } from '../../git/index.ts';
import { type SecretPaths, valuesAt } from '../../kinds/index.ts';
import {
  appendDocument,
  assertEditable,
  decodeUtf8,
  type FormerDocument,
  formatLike,
  formatManifest,
  formatProblem,
  isEmptyStream,
  ManifestEditError,
  parseDocument,
  removeDocument,
} from '../../manifests/index.ts';
import { mayBeSealed, SealingError } from '../../sealing/index.ts';
import type { TextsByBlob } from './file-texts.ts';
import { type FormerFile, formerDocument } from './former-document.ts';
import { editText, readFile, valueIn } from './large-texts.ts';
import { choosePath, type PlacementContext } from './placement.ts';
import { conflictWithRepository, invalidManifest } from './repository-conflict.ts';
import type { OpenFile } from './sealer.ts';
import { replaceDocument, type TextEdit } from './text-edit.ts';

/** The requested change of one object. */
export interface ObjectEdit {
  readonly key: ObjectKey;
  /** Paths for a new object, preferred first; see `placement.ts`. */
  readonly newPaths: readonly string[];
  /** A past file of a removed object, whose bytes the new one takes over. */
  readonly former?: FormerFile | undefined;
  /** The object will be removed: the contents of its manifest do not matter. */
  readonly removes?: true;
  /** Continues from the last good version if the manifest in git is not valid. */
  readonly force?: boolean | undefined;
  /** Paths that the version to restore encrypts beside the secret fields of the kind. */
  readonly encrypted?: SecretPaths | undefined;
  /** Replaces the text of the document. */
  readonly text?: TextEdit | undefined;
  /**
   * Returns the manifest to write from the present one (undefined: the object is new); null removes
   * it.
   */
  manifest(current: JsonObject | undefined): JsonObject | null;
}

/** A file with the edits of one commit. */
export interface EditedFile {
  readonly path: string;
  /** null: the file is removed. */
  readonly content: Buffer | null;
  readonly entry: FileEntry | undefined;
  /** Problems of the invalid manifest that the edit replaced by the last good version. */
  readonly dropped?: string | undefined;
}

export interface EditContext extends PlacementContext {
  readonly reader: FileReader;
  readonly texts: TextsByBlob;
}

/** An edit with the path of the file. */
interface PlacedEdit extends ObjectEdit {
  readonly path: string;
}

/** Throws StatusError if the state of the repository does not allow the edit. */
export async function editFile(context: EditContext, asked: ObjectEdit): Promise<EditedFile> {
  const current = context.catalog.object(asked.key);
  const path = current?.place.path ?? (await sealing(asked.key, () => choosePath(context, asked)));
  const edit = { ...asked, path };
  const file = context.catalog.file(path);
  if (current === undefined) refuseIfTaken(context, edit.key, path);
  const text = file === undefined ? undefined : await fileText(context, edit.key, file);
  const claims = context.catalog.claims(edit.key);
  const splicing = { edit, current, file, text, claims };
  const { edited, removed, dropped } = await splice(context, splicing).catch((error: unknown) => {
    throw error instanceof ManifestEditError ? invalidManifest(edit.key, error.message) : error;
  });
  if (isEmptyStream(edited)) return { path, content: null, entry: undefined };
  const content = Buffer.from(edited, 'utf8');
  const blob = objectId('blob', content);
  context.texts.set(blob, edited);
  await context.reader.prepare([content]);
  const entry = context.view.judged(await readFile(context.reader, { path, blob, content }));
  refuseIfBroken(edit.key, entry, removed);
  return { path, content, entry, dropped };
}

/** An invalid manifest makes no object, but still reserves the key. */
function refuseIfTaken({ catalog, view }: EditContext, key: ObjectKey, path: string): void {
  if (!view.includes(path)) {
    throw conflictWithRepository(key, `.gitplaneignore covers ${path}, where it would go`);
  }
  const [claim] = catalog.claims(key);
  if (claim === undefined) return;
  const document = catalog.file(claim.path)?.documents.find(({ index }) => index === claim.index);
  const [problem] = document?.problems ?? [];
  const why = problem === undefined ? claim.path : formatProblem(problem);
  throw conflictWithRepository(key, `a manifest of it is in git and not valid; repair it: ${why}`);
}

async function fileText(context: EditContext, key: ObjectKey, file: FileEntry): Promise<string> {
  const cached = context.texts.get(file.blob);
  if (cached !== undefined) return cached;
  const [content = Buffer.alloc(0)] = await context.repository
    .readBlobs([file.blob])
    .catch((error: unknown) => {
      throw error instanceof GitError && isUnreadable(file) ? conflictIn(key, file) : error;
    });
  // Bytes that are not UTF-8 would be changed by a write.
  const decoded = decodeUtf8(content);
  if ('problem' in decoded) throw conflictIn(key, file);
  context.texts.set(file.blob, decoded.text);
  return decoded.text;
}

/**
 * Too large, or not a file, such as a submodule: the catalog has a problem instead of documents.
 */
function isUnreadable(file: FileEntry): boolean {
  return file.documents.some(({ key, problems }) => key === undefined && problems.length > 0);
}

interface Splicing {
  edit: PlacedEdit;
  current: CatalogObject | undefined;
  file: FileEntry | undefined;
  text: string | undefined;
  /** Every document that names the object. */
  claims: readonly Place[];
}

interface Spliced {
  readonly edited: string;
  readonly removed: boolean;
  readonly dropped?: string | undefined;
}

/** Limit of places that an error lists. */
const MOST_PLACES = 5;

async function splice(context: EditContext, of: Splicing): Promise<Spliced> {
  const { edit, current, file, text, claims } = of;
  if (current === undefined || text === undefined) {
    const manifest = edit.manifest(undefined);
    if (manifest === null) throw conflictWithRepository(edit.key, 'it is not in git');
    const open = text === undefined ? undefined : await opened(context, edit.key, text);
    return {
      edited: await written(context, { ...of, open, index: undefined, manifest }),
      removed: false,
    };
  }
  const { index } = current.place;
  const open = edit.removes === true ? undefined : await opened(context, edit.key, text);
  const raw = await replacedManifest(context, edit, { current, file, text, open });
  const dropped = edit.text === undefined ? droppedBy(edit, current, file) : undefined;
  const manifest = edit.manifest(raw);
  if (manifest !== null) {
    const edited = await written(context, { ...of, open, index, manifest });
    return { edited, removed: false, dropped };
  }
  if (claims.length > 1) {
    const named = claims.slice(0, MOST_PLACES);
    const places = named.map(({ path, index: at }) => `${path} (document ${at + 1})`).join(', ');
    const left = claims.length - named.length;
    const more = left === 0 ? '' : ` and ${left} more places`;
    const why = `it is in git more than once; keep one of ${places}${more}`;
    throw conflictWithRepository(edit.key, why);
  }
  return { edited: await without(context, { ...of, text, index }), removed: true };
}

/** The text of the file with the document in it, encrypted if required. */
async function written(
  context: EditContext,
  of: Splicing & { open: OpenFile | undefined; index: number | undefined; manifest: JsonObject },
): Promise<string> {
  const { sealer, view, repository } = context;
  const { edit, text, open, index } = of;
  const former = index === undefined ? await formerDocument(context, edit) : undefined;
  const manifest = former?.saysNamespace === false ? withoutNamespace(of.manifest) : of.manifest;
  // An encrypted value of a past commit must not come back in plaintext.
  const restored = [...(edit.encrypted ?? []), ...(former?.encrypted ?? [])];
  const place = { path: edit.path, sealing: view.sealing, repository };
  const ruled = (await sealing(edit.key, async () => sealer?.placesOfRule(place, manifest))) ?? [];
  const isSealed =
    open !== undefined || ruled.length > 0 || mustBeSealed(context, manifest, restored);
  if (isSealed && edit.text !== undefined) {
    throw conflictWithRepository(edit.key, open === undefined ? refusedText(ruled) : SEALED_TEXT);
  }
  const write = {
    ...place,
    text,
    index,
    open,
    manifest,
    encrypted: [...restored, ...ruled],
    former,
  };
  assertEditable(manifest);
  if (sealer === undefined || !isSealed) {
    return await inPlaintext(context, { ...of, manifest }, former);
  }
  return await sealing(edit.key, () => sealer.write(write));
}

async function inPlaintext(
  { reader }: EditContext,
  { edit, text, index, manifest }: Parameters<typeof written>[1],
  former: FormerDocument | undefined,
): Promise<string> {
  if (index !== undefined && text !== undefined) {
    if (edit.text === undefined) return await editText(reader, { text, index, desired: manifest });
    const replaced = replaceDocument(text, { key: edit.key, index, edit: edit.text });
    if (edit.text.isVerbatim) return replaced;
    return await editText(reader, { text: replaced, index, desired: manifest });
  }
  // Comments that were encrypted with the values must not come back in plaintext.
  const clear = former !== undefined && mayBeSealed(former.text) ? undefined : former;
  if (text !== undefined) return appendDocument(text, manifest, clear);
  return (clear && formatLike(clear, manifest)) ?? formatManifest(manifest);
}

/** True if a plaintext file must not have the manifest. */
function mustBeSealed(
  { sealer, view }: EditContext,
  manifest: JsonObject,
  encrypted: SecretPaths,
): boolean {
  if (valuesAt([manifest], encrypted).length > 0) return true;
  return view.sealing !== undefined && sealer?.isSecret(manifest) === true;
}

/**
 * The file without a document. That needs its data key only if other documents have to stay
 * encrypted.
 */
async function without(
  context: EditContext,
  { edit, text, index }: Splicing & { text: string; index: number },
): Promise<string> {
  const edited = removeDocument(text, index);
  const { sealer, view, repository } = context;
  if (sealer === undefined || isEmptyStream(edited)) return edited;
  const open = await opened(context, edit.key, text);
  if (open === undefined) return edited;
  const removal = { path: edit.path, text, index, open, sealing: view.sealing, repository };
  return await sealing(edit.key, () => sealer.remove(removal));
}

function opened(
  { sealer }: EditContext,
  key: ObjectKey,
  text: string,
): Promise<OpenFile | undefined> {
  return sealing(key, async () => await sealer?.open(text));
}

async function sealing<T>(key: ObjectKey, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof SealingError ? conflictWithRepository(key, error.message) : error;
  }
}

/**
 * Problems of the manifest that the edit drops; undefined if the manifest is valid. Throws 409
 * unless the edit is forced: the manifest is its author's newest intent (invariant 18).
 */
function droppedBy(
  { key, force, removes }: ObjectEdit,
  current: CatalogObject,
  file: FileEntry | undefined,
): string | undefined {
  const document = file?.documents.find(({ index }) => index === current.place.index);
  if (document?.manifest !== undefined || removes === true) return undefined;
  const found = (document?.problems ?? current.problems).slice(0, SHOWN_PROBLEMS);
  const problems = found.map(formatProblem).join('; ') || current.place.path;
  if (force === true) return problems;
  const why = `its manifest in git is not valid, and the write would drop it: ${problems}`;
  throw conflictWithRepository(
    key,
    `${why}. Mend it in git, or go on from its last good version with ${FORCE_WAYS}`,
  );
}

const SEALED_TEXT =
  'its manifest is encrypted, comments included. Change fields through the API, or the text with "gitplane unseal" in a clone';
const SHOWN_PROBLEMS = 3;

/** `ruled`: paths that `.sops.yaml` encrypts in a plaintext file. */
function refusedText([first]: SecretPaths): string {
  if (first === undefined) return SEALED_TEXT;
  return `.sops.yaml encrypts ${first.join('.')} of it, and a text is written as it is. Change fields through the API, or the text with "gitplane edit" in a clone`;
}

const FORCE_WAYS = '?force=true (PUT, rollback) or kubectl apply --server-side --force-conflicts';

/**
 * The manifest that the edit starts from: the document in the file, or the text that replaces one that
 * is not valid.
 */
async function replacedManifest(
  { reader }: EditContext,
  { key, text: edit }: PlacedEdit,
  at: {
    current: CatalogObject;
    file: FileEntry | undefined;
    text: string;
    open: OpenFile | undefined;
  },
): Promise<JsonObject> {
  const { current, ...from } = at;
  const { path, index } = current.place;
  const there = at.file?.documents.find((document) => document.index === index)?.key;
  // Its own document may be gone, and another one in its place.
  if (edit !== undefined && there !== undefined && !sameKey(there, key)) {
    throw conflictWithRepository(key, `another object is in its place in ${path}`);
  }
  const value =
    edit !== undefined && current.problems.length > 0
      ? await valueIn(reader, edit.text, 0)
      : undefined;
  return isRecord(value)
    ? withoutServerFields(value)
    : await currentManifest(reader, { key, current, ...from });
}

/** A text may have fields that only the server writes. */
function withoutServerFields({ status: _status, metadata, ...manifest }: JsonObject): JsonObject {
  const own = isRecord(metadata) ? { ...metadata } : {};
  for (const field of SERVER_POPULATED_META) delete own[field];
  return { ...manifest, metadata: own };
}

/** The document in the file, or the last good one if the document parses but is not valid. */
async function currentManifest(
  reader: FileReader,
  at: {
    key: ObjectKey;
    current: CatalogObject;
    file: FileEntry | undefined;
    text: string;
    open: OpenFile | undefined;
  },
): Promise<JsonObject> {
  const { key, current } = at;
  const { index } = current.place;
  const entry = at.file?.documents.find((document) => document.index === index);
  const own = at.open?.file.documents.find((document) => document.index === index);
  const written = at.open === undefined ? await valueIn(reader, at.text, index) : own?.value;
  if (entry?.key === undefined || !isRecord(written)) {
    const [problem] = current.problems;
    const [flaw] = (own ?? parseDocument(at.text, index))?.problems ?? [];
    const said = flaw === undefined ? '' : `: ${flaw.message}`;
    const place = problem === undefined ? current.place.path + said : formatProblem(problem);
    throw conflictWithRepository(
      key,
      `its file cannot be edited until it is repaired in git: ${place}`,
    );
  }
  return (entry.manifest === undefined ? current.manifest : undefined) ?? written;
}

/** Last check before a commit: the written text parses back without problems. */
function refuseIfBroken(key: ObjectKey, entry: FileEntry, removed: boolean): void {
  const id = keyString(key);
  const mine = entry.documents.filter((document) => document.key && keyString(document.key) === id);
  const isThere = mine.length > 0 && mine.every(({ problems }) => problems.length === 0);
  if (removed ? mine.length === 0 : isThere) return;
  const judged = mine.length > 0 ? mine : entry.documents;
  const [problem] = judged.flatMap((document) => document.problems);
  const why = problem === undefined ? entry.path : formatProblem(problem);
  throw conflictWithRepository(key, `the file would not be valid: ${why}`);
}

function conflictIn(key: ObjectKey, file: FileEntry): StatusError {
  const [problem] = file.documents.flatMap((document) => document.problems);
  return conflictWithRepository(key, problem === undefined ? file.path : formatProblem(problem));
}

function withoutNamespace({ metadata, ...manifest }: JsonObject): JsonObject {
  const { namespace: _implied, ...rest } = isRecord(metadata) ? metadata : {};
  return { ...manifest, metadata: rest };
}
