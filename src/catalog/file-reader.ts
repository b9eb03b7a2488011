/**
 * Reads a file of the repository by the rules of its kinds: from bytes to documents and problems.
 */
import {
  type AdmittedManifest,
  admitManifest,
  type ManifestPlace,
  type SealedParts,
} from '../admission/index.ts';
import {
  type JsonObject,
  type JsonValue,
  type ObjectKey,
  ownText,
  TextPool,
} from '../apimachinery/index.ts';
import type { Counter } from '../concurrency/index.ts';
import type { GitContext } from '../git/index.ts';
import { type FileClaim, findAccessKey, type KindTable } from '../kinds/index.ts';
import {
  folderNamespace,
  type ManifestDocument,
  type ManifestFile,
  positionAt,
  readManifests,
  relativeTo,
} from '../manifests/index.ts';
import type { Keyring } from '../sealing/index.ts';
import type { DocumentEncryption } from './encryption.ts';
import {
  type DocumentEntry,
  type FileEntry,
  ReadDocument,
  type ReadFacts,
  unreadableFile,
} from './file.ts';
import { needsKeys, openKeys, openManifests } from './sealed-files.ts';

/** A path of a file, with the id of its blob. */
export interface WantedFile {
  readonly path: string;
  readonly id: string;
  readonly mode: string;
}

/** Readers in other threads. */
export interface Readers {
  /**
   * Calls back once for each file that it could read, in no particular order, and resolves to those
   * that it could not.
   */
  read(
    context: GitContext,
    files: readonly WantedFile[],
    take: (file: WantedFile, entry: FileEntry) => void,
  ): Promise<readonly WantedFile[]>;
  /** Resolves to the contents of large files, in their order. */
  readLarge(files: readonly LargeFile[]): Promise<readonly FileEntry[]>;
  /** Reads the encryption of a large file. Rejects when it exceeds a limit. */
  encryptionIn(content: Buffer): Promise<readonly DocumentEncryption[]>;
  readonly edits: LargeEdits;
}

/** Edits of large files in another thread, one at a time. They do not wait for `readLarge`. */
export interface LargeEdits {
  /** `documentValue`. Rejects with a ManifestEditError when it exceeds a limit. */
  documentValue(text: string, index: number): Promise<JsonValue | undefined>;
  /** `editDocument`, with its errors; one too when it exceeds a limit. */
  editDocument(text: string, index: number, desired: JsonObject): Promise<string>;
  /** Reads the result. */
  readFile(path: string, blob: string, content: Buffer): Promise<FileEntry>;
}

export interface LargeEdit {
  readonly text: string;
  readonly index: number;
  /** Absent: the value of the document is read. */
  readonly desired?: JsonObject;
}

export interface LargeFile extends WantedFile {
  readonly content: Buffer;
}

export interface FileReader {
  /** True if the bytes can be read now; others need `prepare` first. */
  isReady(content: Buffer): boolean;
  /** Decrypts the data keys of encrypted files; must be awaited before the same bytes are read. */
  prepare(contents: readonly (Buffer | undefined)[]): Promise<void>;
  read(path: string, blob: string, content: Buffer): FileEntry;
  /** Name of the defaults that a path gives to manifests. Undefined: they are its own. */
  defaultsOf(path: string): string | undefined;
  /** With the same results. */
  readonly pool?: Readers;
  /** Counts the files that are read. */
  readonly counter?: Counter;
}

const LFS_START = Buffer.from('version https://git-lfs.github.com/spec/');
const LFS_POINTER =
  'The file is a pointer of Git LFS and its content is elsewhere; take *.yaml out of LFS and commit the file itself';

function isLfsPointer(content: Buffer): boolean {
  return content.length < 1024 && content.subarray(0, LFS_START.length).equals(LFS_START);
}

/**
 * Copies the strings: slices of a text can keep the whole text in memory, and keys live long. Frozen, so that
 * the store shares it.
 */
function ownKey({ group, kind, namespace, name }: ObjectKey): ObjectKey {
  return Object.freeze({ group, kind, namespace: namespaces.own(namespace), name: ownText(name) });
}

const namespaces = new TextPool(10_000);

/** A larger file is refused by its size alone. */
export const LARGEST_FILE = 8 * 1024 * 1024;

/**
 * In a document without a key, the secret fields are unknown; an access key of gitplane is
 * recognized by its format.
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
  'An access key must not be in git as plaintext; remove it, and make a new one, since this one has been in a commit';

/** Decryption of secrets; absent: nothing is decrypted, and plaintext is not reported. */
export interface SecretReading {
  readonly keyring: Keyring;
  /** True if plaintext secrets are recorded. */
  readonly mindsClear: boolean;
}

/** Reads files below `under` with the kinds of the table. Never throws because of file contents. */
export function fileReader(kinds: KindTable, under: string, secrets?: SecretReading): FileReader {
  return {
    isReady: (content) => !needsKeys(content, secrets?.keyring),
    prepare: (contents) => openKeys(contents, secrets?.keyring),
    defaultsOf: (path) =>
      claimOf(path) === undefined ? (folderNamespace(under, path) ?? '') : undefined,
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

  function claimOf(path: string): FileClaim | undefined {
    return kinds.byFile(relativeTo(under, path) ?? path);
  }

  function entries(
    { path, blob, content }: { path: string; blob: string; content: Buffer },
    file: ManifestFile,
  ): DocumentEntry[] {
    const claim = claimOf(path);
    const ignoresClear = secrets?.mindsClear !== true;
    const place = { path, folderNamespace: folderNamespace(under, path), claim, ignoresClear };
    const opened = openManifests(file, content, secrets?.keyring);
    return file.documents.map((document, i) => {
      const { line } = document.locate([]);
      const sealed = opened?.[i];
      const value = sealed === undefined ? document : { ...document, value: sealed.value };
      const verdict = admitted(place, value, sealed);
      const { key, manifest, json, problems, warnings, clear, partial, encrypted } = verdict;
      const facts: ReadFacts = {
        key: key && ownKey(key),
        manifest: json ?? (manifest && JSON.stringify(manifest)),
        problems,
        warnings,
        clear,
        partial,
        encrypted,
      };
      return new ReadDocument({ index: document.index, line, blob }, facts);
    });
  }

  /** A rule that throws must affect only its own document. */
  function admitted(
    place: ManifestPlace,
    document: ManifestDocument,
    sealed: SealedParts | undefined,
  ): AdmittedManifest {
    try {
      return admitManifest(kinds, place, document, sealed);
    } catch (error) {
      // The message of the error may quote a value.
      const why = error instanceof Error ? error.name : typeof error;
      const message = `The document cannot be judged (${why}): a fault of gitplane, please report it`;
      const problem = { path: place.path, ...document.locate([]), message };
      const nothing = { key: undefined, manifest: undefined, warnings: [], clear: [] };
      return { ...nothing, problems: [problem], partial: false };
    }
  }
}
