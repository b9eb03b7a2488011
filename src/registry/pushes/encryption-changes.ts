/**
 * Encryption of objects by a push, as far as it decides who reads them: it leaves an object as it is and
 * encrypts it for others, or gives an object the encrypted values of another one.
 */
import {
  flatMapYielding,
  isRecord,
  type JsonObject,
  type JsonValue,
  jsonEqual,
} from '../../apimachinery/index.ts';
import type { CatalogObject, ObjectChange } from '../../catalog/index.ts';
import type { Repository } from '../../git/index.ts';
import { readManifests } from '../../manifests/index.ts';
import { isSealed, mapLeaves, SOPS } from '../../sealing/index.ts';
import { isAnew, isVisible } from '../writes/change-verbs.ts';
import type { Sealer } from '../writes/sealer.ts';

interface Versions {
  readonly before: Buffer | undefined;
  readonly after: Buffer | undefined;
}

/** Bound what a push of many files takes in memory. */
const OBJECTS_IN_LOT = 64;

/**
 * Those of the changes that change nothing but how the object is encrypted: with another data key,
 * for other recipients or by another rule. It takes the right to update the object.
 */
export async function encryptionChanges(
  source: Pick<Repository, 'readBlobs'>,
  changes: readonly ObjectChange[],
): Promise<ObjectChange[]> {
  const candidates = await flatMapYielding(changes, (change) => {
    const isMoved = change.before?.source.blob !== change.after?.source.blob;
    return isMoved && !isVisible(change) ? [change] : [];
  });
  return await filtered(source, candidates, ({ before, after }, contents) => {
    const [was, is] = [blockOf(contents.before, before), blockOf(contents.after, after)];
    return Promise.resolve(!jsonEqual(was, is));
  });
}

/**
 * Those of the changes that bring values which may have been encrypted for something else: with a data
 * key that this platform generated, and not for this object or not in its present state, or those of its
 * neighbour in the file. A copied file opens for the daemon, so that a reader of the copy would read the
 * original. A holder of a key of the original can encrypt the copy anew.
 */
export async function copiedValues(
  { source, sealer }: { source: Pick<Repository, 'readBlobs'>; sealer: Sealer },
  changes: readonly ObjectChange[],
): Promise<ObjectChange[]> {
  // An object that begins anew is another one, also where its file ends up as it was.
  const candidates = changes.filter(
    (change) =>
      change.after !== undefined &&
      (isAnew(change) || change.before?.source.blob !== change.after.source.blob),
  );
  return await filtered(source, candidates, async (change, { before: old, after }) => {
    if (after === undefined) return false;
    const brought = await sealer.dataKeyOf(after);
    if (brought === undefined) return false;
    const before = isAnew(change) ? undefined : old;
    const own = before && (await sealer.dataKeyOf(before));
    if (before === undefined || own?.dataKey.equals(brought.dataKey) !== true) {
      return brought.isGenerated;
    }
    const values = encryptedValues(after, change.after);
    const had = encryptedValues(before, change.before);
    // History has values of neighbours too, and of objects that are gone, with the same data key.
    if (brought.isGenerated) return [...values].some((value) => !had.has(value));
    const inFile = encryptedValues(before);
    return [...values].some((value) => inFile.has(value) && !had.has(value));
  });
}

/** Encrypted values in a file, of one object where it is given. */
function encryptedValues(content: Buffer, object?: CatalogObject): ReadonlySet<string> {
  const file = readManifests(content);
  const documents = 'documents' in file ? file.documents : [];
  const found = new Set<string>();
  for (const { index, value } of documents) {
    if (!isRecord(value) || (object !== undefined && index !== object.place.index)) continue;
    const { [SOPS]: _block, ...rest } = value as JsonObject;
    mapLeaves(rest, ({ value: leaf }) => {
      if (isSealed(leaf)) found.add(String(leaf));
      return leaf;
    });
  }
  return found;
}

async function filtered(
  source: Pick<Repository, 'readBlobs'>,
  changes: readonly ObjectChange[],
  isMeant: (change: ObjectChange, contents: Versions) => Promise<boolean>,
): Promise<ObjectChange[]> {
  const found: ObjectChange[] = [];
  for (let from = 0; from < changes.length; from += OBJECTS_IN_LOT) {
    const lot = changes.slice(from, from + OBJECTS_IN_LOT);
    const blobs = [...new Set(lot.flatMap(({ before, after }) => blobsOf(before, after)))];
    const contents = await source.readBlobs(blobs);
    const contentOf = (object: CatalogObject | undefined): Buffer | undefined =>
      object && contents[blobs.indexOf(object.source.blob)];
    for (const change of lot) {
      const versions = { before: contentOf(change.before), after: contentOf(change.after) };
      if (await isMeant(change, versions)) found.push(change);
    }
  }
  return found;
}

function blobsOf(...objects: readonly (CatalogObject | undefined)[]): string[] {
  return objects.flatMap((object) => object?.source.blob ?? []);
}

/** Encryption facts in the document of an object; null: it is not encrypted. */
function blockOf(content: Buffer | undefined, object: CatalogObject | undefined): JsonValue {
  if (content?.includes(SOPS) !== true) return null;
  const file = readManifests(content);
  const documents = 'documents' in file ? file.documents : [];
  const value = documents.find(({ index }) => index === object?.place.index)?.value;
  const block = isRecord(value) ? (value as JsonObject)[SOPS] : undefined;
  if (!isRecord(block)) return block ?? null;
  // They follow from the values of every document of the file, and do not say who reads it.
  const { mac: _mac, lastmodified: _time, version: _version, ...rest } = block as JsonObject;
  return rest;
}
