/** One file of the repository, read: which documents it holds and what is wrong with them. */
import type { AdmittedManifest } from '../admission/index.ts';
import type { KubeObject, ObjectKey } from '../apimachinery/index.ts';
import type { Problem } from '../manifests/index.ts';

export interface DocumentEntry {
  readonly index: number;
  /** Absent when the document does not say what it is. */
  readonly key: ObjectKey | undefined;
  /** Set when the document is valid. Parsed anew at every reading. */
  readonly manifest: KubeObject | undefined;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Secrets in the clear: problems where the repository seals. */
  readonly clear?: readonly Problem[];
  /** There is a manifest although there are problems: it lacks what nobody here can open. */
  readonly partial?: boolean;
  /** Where the document begins; for messages that are about the whole of it. */
  readonly line: number;
  /** Id of the file's blob. */
  readonly blob: string;
}

/** Whoever has the manifest for good. */
export interface ManifestKeeper {
  readonly manifest: KubeObject;
}

/** What is known of a document that was read; the manifest as JSON, or with its keeper. */
export interface ReadFacts extends Omit<AdmittedManifest, 'manifest' | 'json'> {
  readonly manifest: string | ManifestKeeper | undefined;
}

/** A document that was read: a manifest takes a fifth as JSON of what it takes parsed. */
export class ReadDocument implements DocumentEntry {
  readonly index: number;
  readonly key: ObjectKey | undefined;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly clear: readonly Problem[];
  readonly partial: boolean;
  readonly line: number;
  readonly blob: string;
  #manifest: string | ManifestKeeper | undefined;

  constructor(at: { index: number; line: number; blob: string }, facts: ReadFacts) {
    const { key, manifest, problems, warnings, clear, partial } = facts;
    this.index = at.index;
    this.key = key;
    this.problems = problems.length === 0 ? NONE : problems;
    this.warnings = warnings.length === 0 ? NONE : warnings;
    this.clear = clear.length === 0 ? NONE : clear;
    this.partial = partial;
    this.line = at.line;
    this.blob = at.blob;
    this.#manifest = manifest;
  }

  get manifest(): KubeObject | undefined {
    if (typeof this.#manifest !== 'string') return this.#manifest?.manifest;
    return JSON.parse(this.#manifest) as KubeObject;
  }

  /** The manifest as JSON, as long as it is here. */
  text(): string | undefined {
    return typeof this.#manifest === 'string' ? this.#manifest : undefined;
  }

  /** Somebody else keeps the manifest from now on. */
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

/** Whether the document is the manifest of an object. Does not parse it. */
export function isValid({ key, problems }: DocumentEntry): boolean {
  return key !== undefined && problems.length === 0;
}

/** Whether a document of the file may be of any object: nobody can tell. */
export function hasUnnamed(file: FileEntry): boolean {
  return file.documents.some(({ key, problems }) => key === undefined && problems.length > 0);
}

/** The file where the repository seals: secrets in the clear are problems, and no manifests. */
export function refuseClear(file: FileEntry): FileEntry {
  if (file.documents.every(({ clear = NONE }) => clear.length === 0)) return file;
  return { ...file, documents: file.documents.map(refused) };
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

/** A file of which nothing can be said but that it is there. */
export function unreadableFile(
  path: string,
  blob: string,
  problem: Omit<Problem, 'path'>,
): FileEntry {
  const document = { index: 0, key: undefined, manifest: undefined, warnings: [], line: 1, blob };
  return { path, blob, documents: [{ ...document, problems: [{ path, ...problem }] }] };
}
