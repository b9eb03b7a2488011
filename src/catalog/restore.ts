/**
 * Keeps the catalog from one run to the next, so that a warm start reads no history. What is kept
 * is a cache: when it does not fit the rules or the repository, it is dropped and history is read.
 */
import { createHash } from 'node:crypto';
import { keyString, type ObjectKey } from '../apimachinery/key.ts';
import type { JsonObject, KubeObject } from '../apimachinery/object.ts';
import type { Problem } from '../manifests/manifest.ts';
import { Catalog, type ObjectChange } from './catalog.ts';
import { CatalogObject } from './catalog-object.ts';
import type { DocumentEntry, FileEntry } from './file.ts';
import { type CommitPoint, Identity } from './identity.ts';

/** Small facts kept beside the objects, by name; a part of the state store's interface. */
export interface NoteReader {
  note(name: string): JsonObject | undefined;
  notes(prefix: string): Iterable<[string, JsonObject]>;
}

export type Notes = Record<string, JsonObject | undefined>;

const HEAD_NOTE = 'catalog';
const OBJECT_PREFIX = 'object:';
const FILE_PREFIX = 'file:';

interface HeadNote {
  revision: string;
  committerTime: number;
  rootCommit: string;
  /** What the verdicts depend on beside the commits: version, schemas, group, folder. */
  rules: string;
  ignoreBlob?: string;
}

interface ObjectNote {
  key: ObjectKey;
  path: string;
  index: number;
  line: number;
  blob: string;
  birth: CommitPoint;
  generation: number;
  manifest: KubeObject;
  problems?: readonly Problem[];
}

interface FileNote {
  path: string;
  blob: string;
  documents: readonly DocumentEntry[];
}

const json = (value: unknown): JsonObject => value as JsonObject;

/** The notes that bring a kept catalog up to date with `changes` and the files they touched. */
export function notesFor(of: {
  catalog: Catalog;
  changes: readonly ObjectChange[];
  paths: Iterable<string>;
  rules: string;
  ignoreBlob: string | undefined;
}): Notes {
  const { catalog } = of;
  const notes: Notes = {};
  const paths = new Set(of.paths);
  for (const { key, after } of of.changes) {
    notes[OBJECT_PREFIX + keyString(key)] = after && objectNote(catalog, after);
    // Another file may have become, or ceased to be, the place of the object.
    for (const place of catalog.claims(key)) paths.add(place.path);
  }
  for (const path of paths) {
    const file = catalog.file(path);
    for (const { key } of file?.documents ?? []) {
      const object = key && catalog.object(key);
      if (object?.place.path === path) {
        notes[OBJECT_PREFIX + keyString(object.key)] = objectNote(catalog, object);
      }
    }
    const plain = file === undefined || isPlain(catalog, file);
    notes[fileNoteName(path)] = plain
      ? undefined
      : json({ path, blob: file.blob, documents: file.documents.map(plainDocument) });
  }
  const head: HeadNote = {
    revision: catalog.revision ?? '',
    committerTime: catalog.at?.committerTime ?? 0,
    rootCommit: catalog.rootCommit,
    rules: of.rules,
    ...(of.ignoreBlob === undefined ? {} : { ignoreBlob: of.ignoreBlob }),
  };
  notes[HEAD_NOTE] = json(head);
  return notes;
}

function plainDocument(document: DocumentEntry): DocumentEntry {
  const { index, key, manifest, problems, warnings, line } = document;
  return { index, key, manifest, problems, warnings, line };
}

/** Paths may be longer than the names of notes. */
function fileNoteName(path: string): string {
  return FILE_PREFIX + createHash('sha256').update(path).digest('hex');
}

/** Paths of the files that have notes of their own. */
export function notedPaths(catalog: Catalog): string[] {
  return [...catalog.files()].filter((file) => !isPlain(catalog, file)).map(({ path }) => path);
}

/** A file whose documents all are objects needs no note of its own: the objects' notes say it. */
function isPlain(catalog: Catalog, file: FileEntry): boolean {
  // A file without documents leaves no trace in the objects' notes.
  if (file.documents.length === 0) return false;
  return file.documents.every(({ key, manifest, index }) => {
    if (key === undefined || manifest === undefined) return false;
    const place = catalog.object(key)?.place;
    return place?.path === file.path && place.index === index;
  });
}

function objectNote(catalog: Catalog, object: CatalogObject): JsonObject {
  const file = catalog.file(object.place.path);
  const line = file?.documents.find(({ index }) => index === object.place.index)?.line ?? 1;
  const note: ObjectNote = {
    key: object.key,
    path: object.place.path,
    index: object.place.index,
    line,
    blob: file?.blob ?? '',
    birth: object.identity.birth,
    generation: object.identity.generation,
    manifest: object.manifest,
    ...(object.problems.length === 0 ? {} : { problems: object.problems }),
  };
  return json(note);
}

/** The kept catalog, or undefined when there is none or it was made under other rules. */
export function restore(
  notes: NoteReader,
  rules: string,
): { catalog: Catalog; ignoreBlob: string | undefined } | undefined {
  const head = notes.note(HEAD_NOTE) as HeadNote | undefined;
  if (head === undefined || head.rules !== rules || head.revision === '') return undefined;
  const objects: CatalogObject[] = [];
  const documents = new Map<string, { blob: string; documents: DocumentEntry[] }>();
  for (const [, value] of notes.notes(OBJECT_PREFIX)) {
    const note = value as unknown as ObjectNote;
    const { key, path, index, line, blob, birth, generation, manifest, problems = [] } = note;
    const identity = new Identity({ rootCommit: head.rootCommit, key, birth, generation });
    const document = { index, key, manifest, problems: [], warnings: [], line };
    const place = { path, index };
    objects.push(new CatalogObject({ key, place, identity, source: document, problems }));
    const file = documents.get(path) ?? { blob, documents: [] };
    file.documents.push(document);
    documents.set(path, file);
  }
  for (const [, value] of notes.notes(FILE_PREFIX)) {
    const note = value as unknown as FileNote;
    documents.set(note.path, { blob: note.blob, documents: [...note.documents] });
  }
  const catalog = new Catalog(head.rootCommit);
  const files = [...documents].map(([path, file]) => ({
    path,
    blob: file.blob,
    documents: file.documents.sort((a, b) => a.index - b.index),
  }));
  catalog.load({ id: head.revision, committerTime: head.committerTime }, files, objects);
  return { catalog, ignoreBlob: head.ignoreBlob };
}

/** Whether there is a kept catalog, made under whatever rules. */
export function isKept(notes: NoteReader): boolean {
  return notes.note(HEAD_NOTE) !== undefined;
}

/** The revision of the kept catalog, made under whatever rules. */
export function keptRevision(notes: NoteReader): string | undefined {
  return (notes.note(HEAD_NOTE) as HeadNote | undefined)?.revision;
}

/** Names of every note of a kept catalog: what to remove when it is replaced by a new one. */
export function obsoleteNotes(notes: NoteReader): Notes {
  const gone: Notes = { [HEAD_NOTE]: undefined };
  for (const prefix of [OBJECT_PREFIX, FILE_PREFIX]) {
    for (const [name] of notes.notes(prefix)) gone[name] = undefined;
  }
  return gone;
}
