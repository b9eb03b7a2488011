/** Files with encrypted secrets: from their bytes to plaintext manifests, in memory only. */

import type { SealedParts } from '../admission/index.ts';
import { isRecord, type JsonObject, type JsonValue, valueAt } from '../apimachinery/index.ts';
import type { SecretPaths } from '../kinds/index.ts';
import {
  decodeUtf8,
  type ManifestFile,
  type Position,
  placesIn,
  readManifests,
  splitStream,
} from '../manifests/index.ts';
import {
  clearComments,
  isSealed,
  type Keyring,
  mapLeaves,
  mayBeSealed,
  metadataOf,
  openStream,
  SealingError,
  type SealMetadata,
  SOPS,
  selectionOf,
} from '../sealing/index.ts';

export interface OpenedManifest extends SealedParts {
  /** Without the encryption metadata. */
  readonly value: JsonValue | undefined;
}

function isSealedFile({ documents }: ManifestFile): boolean {
  return documents.some(({ value }) => isRecord(value) && Object.hasOwn(value, SOPS));
}

/** True if data keys have to be decrypted with the library before the bytes are read. */
export function needsKeys(content: Buffer, keyring: Keyring | undefined): boolean {
  return keyring !== undefined && !keyring.isQuick && mayBeSealed(content);
}

/**
 * Decrypts, off the event loop, the data keys that need the library. Does nothing without such an
 * identity.
 */
export async function openKeys(
  contents: readonly (Buffer | undefined)[],
  keyring: Keyring | undefined,
): Promise<void> {
  if (keyring === undefined || keyring.isQuick) return;
  for (const content of contents) {
    if (content === undefined || !needsKeys(content, keyring)) continue;
    const file = readManifests(content);
    if (!('documents' in file) || !isSealedFile(file)) continue;
    const metadata = quietly(() => metadataOf(file.documents));
    if (metadata !== undefined) await keyring.dataKey(metadata.age);
  }
}

/** The documents of an encrypted file, in their order; undefined if nothing in it is encrypted. */
export function openManifests(
  file: ManifestFile,
  content: Buffer,
  keyring: Keyring | undefined,
): OpenedManifest[] | undefined {
  if (!isSealedFile(file)) return undefined;
  const decoded = decodeUtf8(content);
  if ('problem' in decoded) return undefined;
  const metadata = quietly(() => metadataOf(file.documents));
  const dataKey = metadata && keyring?.known(metadata.age);
  if (metadata !== undefined && keyring !== undefined && dataKey === undefined) {
    throw new Error('A sealed file is read before its key was opened');
  }
  const opened = openStream(
    { text: decoded.text, documents: file.documents },
    dataKey ?? undefined,
  );
  const unreadable = opened.unreadable !== undefined;
  const comments = commentsIn(decoded.text, file, opened.metadata);
  return opened.documents.map(({ value, problems }, i) => ({
    value,
    problems,
    unreadable: unreadable && problems.length > 0,
    isSealed: (path) => isSealed(valueAt(file.documents[i]?.value, path)),
    paths: sealedPathsIn(file.documents[i]?.value),
    comments: comments.get(file.documents[i]?.index ?? -1) ?? [],
  }));
}

/** Paths of the encrypted values of a document as it is written, with `*` for places in lists. */
function sealedPathsIn(value: JsonValue | undefined): SecretPaths {
  if (!isRecord(value)) return [];
  const { [SOPS]: _metadata, ...rest } = value as JsonObject;
  const found = new Map<string, string[]>();
  mapLeaves(rest, ({ at, value: leaf }) => {
    if (!isSealed(leaf)) return leaf;
    const path = at.map((step) => (typeof step === 'number' ? '*' : step));
    found.set(JSON.stringify(path), path);
    return leaf;
  });
  return [...found.values()];
}

/** Positions of plaintext comments beside encrypted values, by document. */
function commentsIn(
  text: string,
  { documents }: ManifestFile,
  metadata: SealMetadata | undefined,
): Map<number, Position[]> {
  const found = new Map<number, Position[]>();
  const selection = metadata && quietly(() => selectionOf(metadata.rule));
  if (selection === undefined) return found;
  const offsets = clearComments(text, selection);
  if (offsets.length === 0) return found;
  const slices = splitStream(text);
  const placeOf = placesIn(text);
  let next = 0;
  for (const { index } of documents) {
    const { start = 0, end = 0 } = slices[index] ?? {};
    while ((offsets[next] ?? start) < start) next += 1;
    const own: Position[] = [];
    for (let at = offsets[next]; at !== undefined && at < end; at = offsets[next]) {
      own.push(placeOf(at));
      next += 1;
    }
    found.set(index, own);
  }
  return found;
}

/** Problems of the metadata are reported when the file is read. */
function quietly<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof SealingError) return undefined;
    throw error;
  }
}
