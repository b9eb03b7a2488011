/** One parsed file of the repository: its documents and problems. */
import type { AdmittedManifest } from '../admission/index.ts';
import { type KubeObject, type ObjectKey, shownPath } from '../apimachinery/index.ts';
import type { SecretPaths } from '../kinds/index.ts';
import type { Problem } from '../manifests/index.ts';

export interface DocumentEntry {
  readonly index: number;
  /** Absent if the document has no valid kind and name. */
  readonly key: ObjectKey | undefined;
  /** Set if the document is valid. Parsed at each access. */
  readonly manifest: KubeObject | undefined;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Plaintext secrets: problems if the repository encrypts. */
  readonly clear?: readonly Problem[];
  /** There is a manifest despite the problems: it lacks values that the daemon cannot decrypt. */
  readonly partial?: boolean;
  /** Values that the file encrypts beside the secret fields of the kind; absent: none. */
  readonly encrypted?: SecretPaths | undefined;
  /** First line of the document, for messages about all of it. */
  readonly line: number;
  /** Id of the file's blob. */
  readonly blob: string;
}

/** Permanent store of a manifest. */
export interface ManifestKeeper {
  readonly manifest: KubeObject;
}

/** Facts about a parsed document; the manifest as JSON, or in its permanent store. */
export interface ReadFacts extends Omit<AdmittedManifest, 'manifest' | 'json'> {
  readonly manifest: string | ManifestKeeper | undefined;
}

/** A parsed document. A manifest takes five times as much memory parsed as it does as JSON. */
export class ReadDocument implements DocumentEntry {
  readonly index: number;
  readonly key: ObjectKey | undefined;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly clear: readonly Problem[];
  readonly partial: boolean;
  readonly encrypted: SecretPaths | undefined;
  readonly line: number;
  readonly blob: string;
  #manifest: string | ManifestKeeper | undefined;

  constructor(at: { index: number; line: number; blob: string }, facts: ReadFacts) {
    const { key, manifest, problems, warnings, clear, partial, encrypted } = facts;
    this.index = at.index;
    this.key = key;
    this.problems = problems.length === 0 ? NONE : problems;
    this.warnings = warnings.length === 0 ? NONE : warnings;
    this.clear = clear.length === 0 ? NONE : clear;
    this.partial = partial;
    this.encrypted = encrypted;
    this.line = at.line;
    this.blob = at.blob;
    this.#manifest = manifest;
  }

  get manifest(): KubeObject | undefined {
    if (typeof this.#manifest !== 'string') return this.#manifest?.manifest;
    return JSON.parse(this.#manifest) as KubeObject;
  }

  /** The manifest as JSON, while it is stored here. */
  text(): string | undefined {
    return typeof this.#manifest === 'string' ? this.#manifest : undefined;
  }

  /** Drops the JSON: from now on `keeper` has the manifest. */
  entrust(keeper: ManifestKeeper): void {
    this.#manifest = keeper;
  }
}

const NONE: readonly Problem[] = [];

export interface FileEntry {
  readonly path: string;
  /** Id of the blob, so that an unchanged file is never read twice. */
  readonly blob: string;
  readonly documents: readonly DocumentEntry[];
}

/**
 * A file with the bytes of another one, none of which is a manifest: the documents are those of the other
 * file, at another path, and made at each access. A few trees can be a million such files.
 */
export class FileCopy implements FileEntry {
  readonly path: string;
  readonly original: FileEntry;

  constructor(path: string, original: FileEntry) {
    this.path = path;
    this.original = original;
  }

  get blob(): string {
    return this.original.blob;
  }

  get documents(): readonly DocumentEntry[] {
    return this.original.documents.map((document) => this.placed(document));
  }

  /** A document of the original at this path. */
  placed({ index, key, line, blob, problems, warnings, clear }: DocumentEntry): DocumentEntry {
    const { path } = this;
    const moved = (list: readonly Problem[] = NONE): readonly Problem[] =>
      list.length === 0 ? NONE : list.map((problem) => ({ ...problem, path }));
    const lists = { problems: moved(problems), warnings: moved(warnings), clear: moved(clear) };
    return { index, key, manifest: undefined, line, blob, ...lists };
  }
}

/** Documents of a file, with problems that may name the path of another one. Makes none. */
export function unplacedDocuments(file: FileEntry): readonly DocumentEntry[] {
  return (file instanceof FileCopy ? file.original : file).documents;
}

/** The document with an index. Makes no other one: a file has thousands, each asked for in turn. */
export function documentOf(file: FileEntry, index: number): DocumentEntry | undefined {
  const found = documentAt(unplacedDocuments(file), index);
  return found && file instanceof FileCopy ? file.placed(found) : found;
}

function documentAt(documents: readonly DocumentEntry[], index: number): DocumentEntry | undefined {
  // They are in the order of their indexes, and most files have no empty document between them.
  const guess = documents[index];
  if (guess?.index === index) return guess;
  let [low, high] = [0, Math.min(index, documents.length)];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((documents[middle]?.index ?? 0) < index) low = middle + 1;
    else high = middle;
  }
  const found = documents[low];
  return found?.index === index ? found : undefined;
}

/** True if a file with the same bytes, and the same defaults of its path, can be a copy of this one. */
export function canBeCopied({ path, documents }: FileEntry): boolean {
  const isNamed = ({ message }: Problem): boolean =>
    message.includes(path) || message.includes(shownPath(path));
  return documents.every((document) => {
    if (isValid(document) || document.partial === true || document.encrypted) return false;
    const { problems, warnings, clear = NONE } = document;
    return ![problems, warnings, clear].some((list) => list.some(isNamed));
  });
}

/** True if the document is the manifest of an object. Does not parse it. */
export function isValid({ key, problems }: DocumentEntry): boolean {
  return key !== undefined && problems.length === 0;
}

/** True if the file has a document without a key, which may be of any object. */
export function hasUnnamed(file: FileEntry): boolean {
  return unplacedDocuments(file).some(({ key, problems }) => !key && problems.length > 0);
}

/** The file in a repository that encrypts: plaintext secrets are problems, not manifests. */
export function refuseClear(file: FileEntry): FileEntry {
  if (unplacedDocuments(file).every(({ clear = NONE }) => clear.length === 0)) return file;
  const { path, blob, documents } = file;
  return { path, blob, documents: documents.map(refused) };
}

function refused(document: DocumentEntry): DocumentEntry {
  const { index, key, warnings, line, blob, problems, clear = NONE } = document;
  if (clear.length === 0) return document;
  return {
    index,
    key,
    manifest: undefined,
    warnings,
    line,
    blob,
    problems: [...problems, ...clear],
  };
}

/** A file that exists but cannot be read. */
export function unreadableFile(
  path: string,
  blob: string,
  problem: Omit<Problem, 'path'>,
): FileEntry {
  const document = { index: 0, key: undefined, manifest: undefined, warnings: [], line: 1, blob };
  return { path, blob, documents: [{ ...document, problems: [{ path, ...problem }] }] };
}
