/**
 * Persists the catalog between runs, so that a warm start reads no history. The persisted catalog
 * is a cache: if it does not fit the rules or the repository, it is dropped and history is replayed.
 *
 * An object is persisted as provenance beside its served form, without its manifest if the served
 * form implies it. Only files with more than their objects have documents of their own in the state
 * store.
 */
import type { JsonObject, JsonValue, KubeObject, ObjectKey } from '../apimachinery/index.ts';
import type { SecretPaths } from '../kinds/index.ts';
import type { Problem } from '../manifests/index.ts';
import { Catalog } from './catalog.ts';
import { CatalogObject, type ManifestSource } from './catalog-object.ts';
import { type DocumentEntry, type FileEntry, unplacedDocuments } from './file.ts';
import {
  type FileDocuments,
  obsoleteFileDocuments,
  persistedFiles,
  type StateDocuments,
} from './file-documents.ts';
import { type CommitPoint, Identity } from './identity.ts';
import type { ObjectFacts } from './provenance.ts';
import {
  type Flaws,
  type PersistedObject,
  persistedBinding,
  persistedManifest,
} from './provenance.ts';
import type { ObjectChange } from './step.ts';
import type { Sealing } from './tree.ts';

/** Methods of the state store for the persisted catalog. */
export interface DocumentStore {
  document(name: string): JsonObject | undefined;
  documents(prefix: string): Iterable<[string, JsonObject]>;
  provenanceFacts(): Iterable<readonly [PersistedObject, JsonValue]>;
}

const HEAD_DOCUMENT = 'catalog';

/** Increased when the persisted form changes. */
const FORMAT = 8;

interface HeadDocument {
  format?: number;
  revision: string;
  committerTime: number;
  rootCommit: string;
  /** Inputs of the verdicts beside the commits: version, schemas, group, folder. */
  rules: string;
  ignoreBlob?: string;
  sealing?: Sealing;
}

const json = (value: unknown): JsonObject => value as JsonObject;

/**
 * Documents of the state store that update a persisted catalog with `changes` and their files.
 * Yields between its steps, during which the catalog must not change.
 */
export function* catalogDocuments(of: {
  catalog: Catalog;
  changes: readonly ObjectChange[];
  paths: Iterable<string>;
  fileDocuments: FileDocuments;
  rules: string;
  ignoreBlob: string | undefined;
  sealing: Sealing | undefined;
}): Generator<void, StateDocuments> {
  const { catalog } = of;
  const paths = new Set(of.paths);
  // Another file may now be, or no longer be, the place of the object.
  for (const { key } of of.changes) {
    yield;
    for (const place of catalog.claims(key)) paths.add(place.path);
  }
  const entries = yield* of.fileDocuments.of(paths, documentedIn(catalog));
  const head: HeadDocument = {
    format: FORMAT,
    revision: catalog.revision ?? '',
    committerTime: catalog.at?.committerTime ?? 0,
    rootCommit: catalog.rootCommit,
    rules: of.rules,
    ...(of.ignoreBlob === undefined ? {} : { ignoreBlob: of.ignoreBlob }),
    ...(of.sealing === undefined ? {} : { sealing: of.sealing }),
  };
  entries[HEAD_DOCUMENT] = json(head);
  return entries;
}

/** Paths of the files that need documents of their own. */
export function pathsWithDocuments(catalog: Catalog): string[] {
  return [...catalog.files()].filter((file) => !isPlain(catalog, file)).map(({ path }) => path);
}

/** The files of a catalog that need documents of their own, by path. */
export function documentedIn(catalog: Catalog): (path: string) => FileEntry | undefined {
  return (path) => {
    const file = catalog.file(path);
    return file === undefined || isPlain(catalog, file) ? undefined : file;
  };
}

/** True if every document of the file is an object, so that their provenance covers the file. */
function isPlain(catalog: Catalog, file: FileEntry): boolean {
  // A file without documents has no trace in the provenance of objects.
  const documents = unplacedDocuments(file);
  if (documents.length === 0) return false;
  return documents.every(({ key, index, problems }) => {
    if (key === undefined || problems.length > 0) return false;
    const place = catalog.object(key)?.place;
    return place?.path === file.path && place.index === index;
  });
}

interface PersistedCatalog {
  readonly catalog: Catalog;
  readonly ignoreBlob: string | undefined;
  readonly sealing: Sealing | undefined;
}

/** The persisted catalog; undefined if there is none or it was made under other rules. */
export function restore(store: DocumentStore, rules: string): PersistedCatalog | undefined {
  const head = store.document(HEAD_DOCUMENT) as HeadDocument | undefined;
  if (head?.format !== FORMAT || head.rules !== rules || head.revision === '') return undefined;
  const births = new Births();
  const objects: CatalogObject[] = [];
  const files = new Map<string, RestoredFile>();
  for (const [stored, value] of store.provenanceFacts()) {
    if (!isObjectFacts(value))
      throw new TypeError('the state has an object without its place in git');
    const [path, index, line, blob, birth, birthTime, generation, problems, flaws] = value;
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
    const ownerBinding = persistedBinding(key, flaws?.tie);
    objects.push(
      new CatalogObject({ key, place, identity, source: document, problems, ownerBinding }),
    );
    if (file.documents.push(document) === 1) files.set(path, file);
  }
  for (const file of files.values()) {
    if (file.documents.length > 1) file.documents.sort((a, b) => a.index - b.index);
  }
  const flawed = [...persistedFiles(store)];
  for (const { path } of flawed) files.delete(path);
  const catalog = new Catalog(head.rootCommit);
  const at = { id: head.revision, committerTime: head.committerTime };
  catalog.load(at, [...files.values(), ...flawed], objects);
  return { catalog, ignoreBlob: head.ignoreBlob, sealing: head.sealing };
}

/** True for the facts that this file writes; the format of the state says so too. */
function isObjectFacts(value: unknown): value is ObjectFacts {
  return Array.isArray(value) && typeof value[0] === 'string' && typeof value[1] === 'number';
}

interface RestoredFile extends FileEntry {
  readonly documents: DocumentEntry[];
}

/** A document that is an object, with its manifest in the state store. */
class RestoredDocument implements DocumentEntry, ManifestSource {
  readonly index: number;
  readonly line: number;
  readonly blob: string;
  readonly partial: boolean;
  readonly clear: readonly Problem[];
  readonly encrypted: SecretPaths | undefined;
  readonly #stored: PersistedObject;

  constructor(at: { index: number; line: number; blob: string } & Flaws, stored: PersistedObject) {
    this.index = at.index;
    this.line = at.line;
    this.blob = at.blob;
    this.partial = at.partial ?? false;
    this.clear = at.clear ?? NONE;
    this.encrypted = at.encrypted;
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

/** True if there is a persisted catalog, under any rules. */
export function isPersisted(store: DocumentStore): boolean {
  return store.document(HEAD_DOCUMENT) !== undefined;
}

/** Revision of the persisted catalog, under any rules. */
export function persistedRevision(store: DocumentStore): string | undefined {
  return (store.document(HEAD_DOCUMENT) as HeadDocument | undefined)?.revision;
}

/** Removals of all documents of a persisted catalog, before a new one replaces it. */
export function obsoleteDocuments(store: DocumentStore): StateDocuments {
  return { [HEAD_DOCUMENT]: undefined, ...obsoleteFileDocuments(store) };
}
