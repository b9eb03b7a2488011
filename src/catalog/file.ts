/** One file of the repository, read: which documents it holds and what is wrong with them. */
import { admitManifest } from '../admission/manifest.ts';
import type { ManifestPlace } from '../admission/manifest-envelope.ts';
import type { AdmittedManifest, SealedParts } from '../admission/manifest-report.ts';
import type { ObjectKey } from '../apimachinery/key.ts';
import type { KubeObject } from '../apimachinery/object.ts';
import { ownText, TextPool } from '../apimachinery/text.ts';
import { findAccessKey } from '../kinds/access-key-secret.ts';
import type { KindTable } from '../kinds/table.ts';
import { folderNamespace, relativeTo } from '../manifests/layout.ts';
import type { ManifestDocument, ManifestFile, Problem } from '../manifests/manifest.ts';
import { positionAt } from '../manifests/positions.ts';
import { readManifests } from '../manifests/read.ts';
import type { Keyring } from '../sealing/data-keys.ts';
import type { Crew } from './crew/crew.ts';
import { needsKeys, openKeys, openManifests } from './sealed-files.ts';

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

/** What is read from a text may keep all of the text in memory; these are kept for long. */
function ownKey({ group, kind, namespace, name }: ObjectKey): ObjectKey {
  return { group, kind, namespace: namespaces.own(namespace), name: ownText(name) };
}

const namespaces = new TextPool(10_000);

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

export interface FileReader {
  /** Whether the bytes can be read as they are; others have to be prepared first. */
  isReady(content: Buffer): boolean;
  /** Opens the keys of sealed files; to be awaited before the same bytes are read. */
  prepare(contents: readonly (Buffer | undefined)[]): Promise<void>;
  read(path: string, blob: string, content: Buffer): FileEntry;
  /** Reads many files elsewhere, with the same results. */
  readonly crew?: Pick<Crew, 'read'>;
}

const LFS_START = Buffer.from('version https://git-lfs.github.com/spec/');
const LFS_POINTER =
  'The file is a pointer of Git LFS and its content is elsewhere; take *.yaml out of LFS and commit the file itself';

function isLfsPointer(content: Buffer): boolean {
  return content.length < 1024 && content.subarray(0, LFS_START.length).equals(LFS_START);
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

const LARGEST_FILE = 8 * 1024 * 1024;

/**
 * Where a document does not say what it is, nobody knows which of its fields are secret; a key of
 * ours is known by its looks.
 */
function withLeak(path: string, content: Buffer, documents: DocumentEntry[]): DocumentEntry[] {
  const text = content.toString('utf8');
  const at = findAccessKey(text);
  const [first, ...others] = documents;
  if (at === undefined || first === undefined) return documents;
  const place = positionAt(text, at);
  const problem = { path, ...place, message: ACCESS_KEY_IN_CLEAR, inClear: true as const };
  const { index, key, manifest, warnings, line, blob } = first;
  const problems = [...first.problems, problem];
  return [{ index, key, manifest, warnings, line, blob, problems }, ...others];
}

const ACCESS_KEY_IN_CLEAR =
  'An access key must not be in git in the clear; remove it, and make a new one, since this one has been in a commit';

/** How a reader deals with secrets; absent: it opens none, and minds none. */
export interface SecretReading {
  readonly keyring: Keyring;
  /** Whether secrets in the clear are noted. */
  readonly mindsClear: boolean;
}

/** Reads files below `under` with the kinds of the table. Never throws for what is in a file. */
export function fileReader(kinds: KindTable, under: string, secrets?: SecretReading): FileReader {
  return {
    isReady: (content) => !needsKeys(content, secrets?.keyring),
    prepare: (contents) => openKeys(contents, secrets?.keyring),
    read(path, blob, content) {
      if (content.length > LARGEST_FILE) {
        const message = `The file has ${content.length} bytes; the limit is ${LARGEST_FILE}`;
        return unreadableFile(path, blob, { line: 1, col: 1, message });
      }
      if (isLfsPointer(content)) {
        return unreadableFile(path, blob, { line: 1, col: 1, message: LFS_POINTER });
      }
      const file = readManifests(content);
      if (!('documents' in file)) return unreadableFile(path, blob, file);
      const own = ownText(blob);
      const documents = entries({ path, blob: own, content }, file);
      const isUnclear = documents.some(({ key, problems }) => !key && problems.length > 0);
      return {
        path,
        blob: own,
        documents: isUnclear ? withLeak(path, content, documents) : documents,
      };
    },
  };

  function entries(
    { path, blob, content }: { path: string; blob: string; content: Buffer },
    file: ManifestFile,
  ): DocumentEntry[] {
    const claim = kinds.byFile(relativeTo(under, path) ?? path);
    const ignoresClear = secrets?.mindsClear !== true;
    const place = { path, folderNamespace: folderNamespace(under, path), claim, ignoresClear };
    const opened = openManifests(file, content, secrets?.keyring);
    return file.documents.map((document, i) => {
      const { line } = document.locate([]);
      const sealed = opened?.[i];
      const value = sealed === undefined ? document : { ...document, value: sealed.value };
      const verdict = admitted(place, value, sealed);
      const { key, manifest, json, problems, warnings, clear, partial } = verdict;
      const facts: ReadFacts = {
        key: key && ownKey(key),
        manifest: json ?? (manifest && JSON.stringify(manifest)),
        problems,
        warnings,
        clear,
        partial,
      };
      return new ReadDocument({ index: document.index, line, blob }, facts);
    });
  }

  /** A rule that fails on a document must harm that document only, whatever is in it. */
  function admitted(
    place: ManifestPlace,
    document: ManifestDocument,
    sealed: SealedParts | undefined,
  ): AdmittedManifest {
    try {
      return admitManifest(kinds, place, document, sealed);
    } catch (error) {
      // The words of the error may quote a value.
      const why = error instanceof Error ? error.name : typeof error;
      const message = `The document cannot be judged (${why}): a fault of gitplane, please report it`;
      const problem = { path: place.path, ...document.locate([]), message };
      const nothing = { key: undefined, manifest: undefined, warnings: [], clear: [] };
      return { ...nothing, problems: [problem], partial: false };
    }
  }
}
