/**
 * Documents of the state store for files that have more than their objects: one per file, or one for many
 * small files without a manifest, of which a few trees can have a million.
 */
import { hash } from 'node:crypto';
import { isRecord, type JsonObject } from '../apimachinery/index.ts';
import { encodePath } from '../git/index.ts';
import type { Problem } from '../manifests/index.ts';
import {
  type DocumentEntry,
  FileCopy,
  type FileEntry,
  isValid,
  unplacedDocuments,
} from './file.ts';

/** Methods of the state store for documents. */
export interface DocumentReader {
  documents(prefix: string): Iterable<[string, JsonObject]>;
}

export type StateDocuments = Record<string, JsonObject | undefined>;

const FILE_PREFIX = 'file:';
const GROUP_PREFIX = 'files:';
/** Files per group: each of them writes all of it. */
const GROUP_FILES = 256;
/** Documents of a file in a group. */
const MAX_DOCUMENTS = 4;
/** Characters of their names and messages: some messages quote a text as long as a file. */
const MAX_CHARACTERS = 4096;

interface FileDocument {
  path: string;
  blob: string;
  documents: readonly DocumentEntry[];
}

/** Files that differ in their paths alone, with documents as those of a file without a path. */
interface AlikeFiles extends Omit<FileDocument, 'path'> {
  paths: string[];
}

interface GroupDocument {
  files: readonly AlikeFiles[];
}

const json = (value: unknown): JsonObject => value as JsonObject;

/** Documents that exist, or existed earlier: others need no removal. */
export class FileDocuments {
  /** Paths of files with documents of their own. */
  readonly #own = new Set<string>();
  /** Paths by number of the group, and the reverse. */
  readonly #groups = new Map<number, string[]>();
  readonly #groupOf = new Map<string, number>();
  /** Paths whose documents a step removes: it may fail, and the document stay. */
  readonly #left = new Set<string>();
  #newest = 0;

  constructor(store: DocumentReader) {
    for (const [, value] of store.documents(FILE_PREFIX)) {
      if (isFileDocument(value)) this.#own.add(value.path);
    }
    for (const [name, value] of store.documents(GROUP_PREFIX)) {
      const group = Number(name.slice(GROUP_PREFIX.length));
      if (!isGroupDocument(value)) continue;
      for (const { paths } of value.files) for (const path of paths) this.#join(path, group);
      this.#newest = Math.max(this.#newest, group);
    }
  }

  /**
   * Documents that record the present files of the paths. `fileAt` has the file that needs a document.
   * Yields between parts.
   */
  *of(
    paths: Iterable<string>,
    fileAt: (path: string) => FileEntry | undefined,
  ): Generator<void, StateDocuments> {
    const entries: StateDocuments = {};
    const changed = new Set<number>();
    for (const path of paths) {
      yield;
      const file = fileAt(path);
      if (file === undefined) this.#leave(path);
      const isGrouped = file !== undefined && isSmall(file);
      const group = this.#groupOf.get(path) ?? (isGrouped ? this.#take(path) : undefined);
      if (group !== undefined) changed.add(group);
      const isOwn = file !== undefined && !isGrouped;
      // Most files never have a document, and there may be many files.
      if (!isOwn && !this.#own.has(path)) continue;
      this.#own.add(path);
      entries[fileDocumentName(path)] = isOwn
        ? json({ path, blob: file.blob, documents: file.documents.map(plainDocument) })
        : undefined;
    }
    for (const group of changed) {
      yield;
      const files = (this.#groups.get(group) ?? []).flatMap((path) => fileAt(path) ?? []);
      entries[`${GROUP_PREFIX}${group}`] = groupOf(files.filter(isSmall));
    }
    return entries;
  }

  /**
   * Forgets the paths whose documents are gone, so that their number follows the files that are there. Called
   * when the store has the documents of every step. Yields between parts.
   */
  *settle(fileAt: (path: string) => FileEntry | undefined): Generator<void> {
    const changed = new Set<number>();
    for (const path of this.#left) {
      yield;
      if (fileAt(path) !== undefined) continue;
      this.#own.delete(path);
      const group = this.#groupOf.get(path);
      if (group !== undefined) changed.add(group);
      this.#groupOf.delete(path);
    }
    this.#left.clear();
    for (const group of changed) {
      yield;
      const paths = (this.#groups.get(group) ?? []).filter((path) => this.#groupOf.has(path));
      if (paths.length === 0) this.#groups.delete(group);
      else this.#groups.set(group, paths);
    }
  }

  #leave(path: string): void {
    if (this.#own.has(path) || this.#groupOf.has(path)) this.#left.add(path);
  }

  /** Adds a path to the newest group. It stays there: a step that adds it may fail. */
  #take(path: string): number {
    if ((this.#groups.get(this.#newest)?.length ?? 0) >= GROUP_FILES) this.#newest += 1;
    this.#join(path, this.#newest);
    return this.#newest;
  }

  #join(path: string, group: number): void {
    this.#groupOf.set(path, group);
    const paths = this.#groups.get(group);
    if (paths === undefined) this.#groups.set(group, [path]);
    else paths.push(path);
  }
}

/** Removals of all documents of files. */
export function obsoleteFileDocuments(store: DocumentReader): StateDocuments {
  const gone: StateDocuments = {};
  for (const prefix of [FILE_PREFIX, GROUP_PREFIX]) {
    for (const [name] of store.documents(prefix)) gone[name] = undefined;
  }
  return gone;
}

/** Files with documents in a store. */
export function* persistedFiles(store: DocumentReader): Iterable<FileEntry> {
  for (const [, value] of store.documents(FILE_PREFIX)) {
    if (!isFileDocument(value)) continue;
    const { path, blob, documents } = value;
    yield { path, blob, documents: [...documents] };
  }
  for (const [, value] of store.documents(GROUP_PREFIX)) {
    if (!isGroupDocument(value)) continue;
    for (const { paths, ...alike } of value.files) {
      const original = { path: '', ...alike };
      for (const path of paths) yield new FileCopy(path, original);
    }
  }
}

/** Undefined: it has no files. */
function groupOf(files: readonly FileEntry[]): JsonObject | undefined {
  if (files.length === 0) return undefined;
  const alike = new Map<string, AlikeFiles>();
  const byOriginal = new Map<FileEntry, AlikeFiles>();
  for (const file of files) {
    const { path, blob } = file;
    const original = file instanceof FileCopy ? file.original : file;
    const one = byOriginal.get(original);
    if (one !== undefined) {
      one.paths.push(path);
      continue;
    }
    const documents = original.documents.map((document) => withoutPath(plainDocument(document)));
    const id = JSON.stringify([blob, documents]);
    const known = alike.get(id) ?? { blob, documents, paths: [] };
    known.paths.push(path);
    alike.set(id, known);
    byOriginal.set(original, known);
  }
  const group: GroupDocument = { files: [...alike.values()] };
  return json(group);
}

function withoutPath(document: DocumentEntry): DocumentEntry {
  const { problems, warnings, clear } = document;
  const bare = (list: readonly Problem[]): Problem[] => list.map((one) => ({ ...one, path: '' }));
  const lists = { problems: bare(problems), warnings: bare(warnings) };
  return { ...document, ...lists, ...(clear && { clear: bare(clear) }) };
}

/** True if the file may be in a group: it has few and small documents, and no manifest. */
function isSmall(file: FileEntry): boolean {
  const documents = unplacedDocuments(file);
  return (
    documents.length <= MAX_DOCUMENTS &&
    documents.every((one) => !isValid(one) && one.partial !== true && !one.encrypted) &&
    documents.reduce((sum, one) => sum + charactersOf(one), 0) <= MAX_CHARACTERS
  );
}

function charactersOf({ key, problems, warnings, clear = [] }: DocumentEntry): number {
  const own = key === undefined ? 0 : key.namespace.length + key.name.length;
  return [problems, warnings, clear].flat().reduce((sum, { message }) => sum + message.length, own);
}

function plainDocument(document: DocumentEntry): DocumentEntry {
  const { index, key, manifest, problems, warnings, line, blob, partial, clear, encrypted } =
    document;
  const flaws = {
    ...(partial === true && { partial }),
    ...(clear?.length && { clear }),
    ...(encrypted && { encrypted }),
  };
  return { index, key, manifest, problems, warnings, line, blob, ...flaws };
}

function isFileDocument(value: unknown): value is FileDocument {
  return isRecord(value) && typeof value['path'] === 'string' && Array.isArray(value['documents']);
}

function isGroupDocument(value: unknown): value is GroupDocument {
  return isRecord(value) && Array.isArray(value['files']);
}

/** Paths may be longer than the names of documents. */
function fileDocumentName(path: string): string {
  // Digest of the bytes: as text, all names with invalid UTF-8 would be equal.
  return FILE_PREFIX + hash('sha256', encodePath(path));
}
