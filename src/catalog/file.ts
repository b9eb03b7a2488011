/** One file of the repository, read: which documents it holds and what is wrong with them. */
import { type AdmittedManifest, admitManifest, type ManifestPlace } from '../admission/manifest.ts';
import type { ObjectKey } from '../apimachinery/key.ts';
import type { KubeObject } from '../apimachinery/object.ts';
import type { KindTable } from '../kinds/table.ts';
import { folderNamespace } from '../manifests/layout.ts';
import type { ManifestDocument, ManifestFile, Problem } from '../manifests/manifest.ts';
import { readManifests } from '../manifests/read.ts';

export interface DocumentEntry {
  readonly index: number;
  /** Absent when the document does not say what it is. */
  readonly key: ObjectKey | undefined;
  /** Set when the document is valid. */
  readonly manifest: KubeObject | undefined;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Where the document begins; for messages that are about the whole of it. */
  readonly line: number;
}

export interface FileEntry {
  readonly path: string;
  /** Id of the blob, so that an unchanged file is never read twice. */
  readonly blob: string;
  readonly documents: readonly DocumentEntry[];
}

export interface FileReader {
  read(path: string, blob: string, content: Buffer): FileEntry;
}

const LARGEST_FILE = 8 * 1024 * 1024;

/** Reads files below `under` with the kinds of the table. Never throws for what is in a file. */
export function fileReader(kinds: KindTable, under: string): FileReader {
  const whole = (path: string, message: string): DocumentEntry => ({
    index: 0,
    key: undefined,
    manifest: undefined,
    problems: [{ path, line: 1, col: 1, message }],
    warnings: [],
    line: 1,
  });
  return {
    read(path, blob, content) {
      if (content.length > LARGEST_FILE) {
        const message = `The file has ${content.length} bytes; the limit is ${LARGEST_FILE}`;
        return { path, blob, documents: [whole(path, message)] };
      }
      const file = readManifests(content);
      if (!('documents' in file)) {
        const documents = [{ ...whole(path, ''), problems: [{ path, ...file }] }];
        return { path, blob, documents };
      }
      return { path, blob, documents: entries(path, file) };
    },
  };

  function entries(path: string, file: ManifestFile): DocumentEntry[] {
    const place = { path, folderNamespace: folderNamespace(under, path) };
    return file.documents.map((document) => ({
      index: document.index,
      ...admitted(place, document),
      line: document.locate([]).line,
    }));
  }

  /** A rule that fails on a document must harm that document only, whatever is in it. */
  function admitted(place: ManifestPlace, document: ManifestDocument): AdmittedManifest {
    try {
      return admitManifest(kinds, place, document);
    } catch (error) {
      // The words of the error may quote a value.
      const why = error instanceof Error ? error.name : typeof error;
      const message = `The document cannot be judged (${why}): a fault of gitplane, please report it`;
      const problem = { path: place.path, ...document.locate([]), message };
      return { key: undefined, manifest: undefined, problems: [problem], warnings: [] };
    }
  }
}
