/**
 * Keeps the catalog from one run to the next, so that a warm start reads no history. What is kept
 * is a cache: when it does not fit the rules or the repository, it is dropped and history is read.
 *
 * An object is kept as a remark beside its served form, and its manifest not at all where the
 * served form tells it. Only files that are more than their objects have notes of their own.
 */
import { hash } from 'node:crypto';
import type { JsonObject, JsonValue, KubeObject, ObjectKey } from '../apimachinery/index.ts';
import { encodePath } from '../git/index.ts';
import type { Problem } from '../manifests/index.ts';
import { Catalog } from './catalog.ts';
import { CatalogObject, type ManifestSource } from './catalog-object.ts';
import type { DocumentEntry, FileEntry } from './file.ts';
import { type CommitPoint, Identity } from './identity.ts';
import {
  type Flaws,
  type ObjectFacts,
  type PersistedObject,
  persistedManifest,
  persistedTie,
} from './provenance.ts';
import type { ObjectChange } from './step.ts';
import type { Sealing } from './tree.ts';

/** The part of the state store's interface that keeps a catalog. */
export interface NoteReader {
  document(name: string): JsonObject | undefined;
  documents(prefix: string): Iterable<[string, JsonObject]>;
  provenanceFacts(): Iterable<readonly [PersistedObject, JsonValue]>;
}

export type Notes = Record<string, JsonObject | undefined>;

const HEAD_NOTE = 'catalog';
const FILE_PREFIX = 'file:';

/** Grows when what is kept gets another form. */
const FORMAT = 4;

interface HeadNote {
  format?: number;
  revision: string;
  committerTime: number;
  rootCommit: string;
  /** What the verdicts depend on beside the commits: version, schemas, group, folder. */
  rules: string;
  ignoreBlob?: string;
  sealing?: Sealing;
}

interface FileNote {
  path: string;
  blob: string;
  documents: readonly DocumentEntry[];
}

const json = (value: unknown): JsonObject => value as JsonObject;

/**
 * The notes that bring a kept catalog up to date with `changes` and the files they touched. Yields
 * between its steps, during which the catalog must stay as it is.
 */
export function* notesFor(of: {
  catalog: Catalog;
  changes: readonly ObjectChange[];
  paths: Iterable<string>;
  /** Paths of files that may have notes already; those that get one are added. */
  noted: Set<string>;
  rules: string;
  ignoreBlob: string | undefined;
  sealing: Sealing | undefined;
}): Generator<void, Notes> {
  const { catalog } = of;
  const notes: Notes = {};
  const paths = new Set(of.paths);
  // Another file may have become, or ceased to be, the place of the object.
  for (const { key } of of.changes) {
    yield;
    for (const place of catalog.claims(key)) paths.add(place.path);
  }
  for (const path of paths) {
    yield;
    const file = catalog.file(path);
    const plain = file === undefined || isPlain(catalog, file);
    // Most files never have one, and there may be many.
    if (plain && !of.noted.has(path)) continue;
    of.noted.add(path);
    notes[fileNoteName(path)] = plain
      ? undefined
      : json({ path, blob: file.blob, documents: file.documents.map(plainDocument) });
  }
  const head: HeadNote = {
    format: FORMAT,
    revision: catalog.revision ?? '',
    committerTime: catalog.at?.committerTime ?? 0,
    rootCommit: catalog.rootCommit,
    rules: of.rules,
    ...(of.ignoreBlob === undefined ? {} : { ignoreBlob: of.ignoreBlob }),
    ...(of.sealing === undefined ? {} : { sealing: of.sealing }),
  };
  notes[HEAD_NOTE] = json(head);
  return notes;
}

function plainDocument(document: DocumentEntry): DocumentEntry {
  const { index, key, manifest, problems, warnings, line, blob, partial, clear } = document;
  const flaws = { ...(partial === true && { partial }), ...(clear?.length && { clear }) };
  return { index, key, manifest, problems, warnings, line, blob, ...flaws };
}

/** Paths may be longer than the names of notes. */
function fileNoteName(path: string): string {
  // By the bytes: as text, all names that are no UTF-8 would be the same.
  return FILE_PREFIX + hash('sha256', encodePath(path));
}

/** Paths of the files that have notes in a store. */
export function* persistedPaths(notes: Pick<NoteReader, 'documents'>): Iterable<string> {
  for (const [, value] of notes.documents(FILE_PREFIX)) yield (value as unknown as FileNote).path;
}

/** Paths of the files that have notes of their own. */
export function notedPaths(catalog: Catalog): string[] {
  return [...catalog.files()].filter((file) => !isPlain(catalog, file)).map(({ path }) => path);
}

/** A file whose documents all are objects needs no note of its own: the provenance of the objects say it. */
function isPlain(catalog: Catalog, file: FileEntry): boolean {
  // A file without documents leaves no trace in the provenance of the objects.
  if (file.documents.length === 0) return false;
  return file.documents.every(({ key, index, problems }) => {
    if (key === undefined || problems.length > 0) return false;
    const place = catalog.object(key)?.place;
    return place?.path === file.path && place.index === index;
  });
}

interface KeptCatalog {
  readonly catalog: Catalog;
  readonly ignoreBlob: string | undefined;
  readonly sealing: Sealing | undefined;
}

/** The kept catalog, or undefined when there is none or it was made under other rules. */
export function restore(notes: NoteReader, rules: string): KeptCatalog | undefined {
  const head = notes.document(HEAD_NOTE) as HeadNote | undefined;
  if (head?.format !== FORMAT || head.rules !== rules || head.revision === '') return undefined;
  const births = new Births();
  const objects: CatalogObject[] = [];
  const files = new Map<string, RestoredFile>();
  for (const [stored, value] of notes.provenanceFacts()) {
    const facts = value as unknown as ObjectFacts;
    const [path, index, line, blob, birth, birthTime, generation, problems, flaws] = facts;
    const { key } = stored;
    const file = files.get(path) ?? { path, blob, documents: [] };
    const document = new RestoredDocument({ index, line, blob: file.blob, ...flaws }, stored);
    const identity = new Identity({
      rootCommit: head.rootCommit,
      key,
      birth: births.at(birth, birthTime),
      generation,
    });
    const place = { path: file.path, index };
    const tie = persistedTie(key, flaws?.tie);
    objects.push(new CatalogObject({ key, place, identity, source: document, problems, tie }));
    if (file.documents.push(document) === 1) files.set(path, file);
  }
  for (const file of files.values()) {
    if (file.documents.length > 1) file.documents.sort((a, b) => a.index - b.index);
  }
  for (const [, value] of notes.documents(FILE_PREFIX)) {
    const { path, blob, documents } = value as unknown as FileNote;
    files.set(path, { path, blob, documents: [...documents] });
  }
  const catalog = new Catalog(head.rootCommit);
  catalog.load({ id: head.revision, committerTime: head.committerTime }, files.values(), objects);
  return { catalog, ignoreBlob: head.ignoreBlob, sealing: head.sealing };
}

interface RestoredFile extends FileEntry {
  readonly documents: DocumentEntry[];
}

/** A document that is an object, and whose manifest is where that is kept. */
class RestoredDocument implements DocumentEntry, ManifestSource {
  readonly index: number;
  readonly line: number;
  readonly blob: string;
  readonly partial: boolean;
  readonly clear: readonly Problem[];
  readonly #stored: PersistedObject;

  constructor(at: { index: number; line: number; blob: string } & Flaws, stored: PersistedObject) {
    this.index = at.index;
    this.line = at.line;
    this.blob = at.blob;
    this.partial = at.partial ?? false;
    this.clear = at.clear ?? NONE;
    this.#stored = stored;
  }

  get key(): ObjectKey {
    return this.#stored.key;
  }

  get problems(): readonly Problem[] {
    return NONE;
  }

  get warnings(): readonly Problem[] {
    return NONE;
  }

  get manifest(): KubeObject {
    return persistedManifest(this.#stored);
  }
}

const NONE: readonly Problem[] = [];

/** Few commits introduce many objects. */
class Births {
  readonly #points = new Map<string, CommitPoint>();

  at(id: string, committerTime: number): CommitPoint {
    let point = this.#points.get(id);
    if (point === undefined) {
      point = { id, committerTime };
      this.#points.set(id, point);
    }
    return point;
  }
}

/** Whether there is a kept catalog, made under whatever rules. */
export function isPersisted(notes: NoteReader): boolean {
  return notes.document(HEAD_NOTE) !== undefined;
}

/** The revision of the kept catalog, made under whatever rules. */
export function persistedRevision(notes: NoteReader): string | undefined {
  return (notes.document(HEAD_NOTE) as HeadNote | undefined)?.revision;
}

/** Names of every note of a kept catalog: what to remove when it is replaced by a new one. */
export function obsoleteNotes(notes: NoteReader): Notes {
  const gone: Notes = { [HEAD_NOTE]: undefined };
  for (const [name] of notes.documents(FILE_PREFIX)) gone[name] = undefined;
  return gone;
}
