/**
 * Changes of encryption by a push that affect who can read an object: the push encrypts an
 * unchanged object for others, or gives an object the encrypted values of another one.
 */
import {
  flatMapYielding,
  isRecord,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  type ObjectKey,
  sameKey,
} from '../../apimachinery/index.ts';
import type { CatalogObject, ObjectChange } from '../../catalog/index.ts';
import type { Repository } from '../../git/index.ts';
import { readManifests } from '../../manifests/index.ts';
import { ciphertextOf, ciphertextsIn, mapLeaves, SOPS } from '../../sealing/index.ts';
import { isAnew, isVisible } from '../writes/change-verbs.ts';
import type { Sealer } from '../writes/sealer.ts';

interface Versions {
  readonly before: Buffer | undefined;
  readonly after: Buffer | undefined;
}

const NO_VALUES: ReadonlySet<string> = new Set();

/** Bounds the memory of a push of many files. */
const OBJECTS_PER_BATCH = 64;

/**
 * Changes that affect only the encryption of an object: another data key, other recipients or
 * another rule. They need the right to update the object.
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

interface Copying {
  readonly source: Pick<Repository, 'readBlobs'>;
  readonly sealer: Sealer;
  /** Objects of the branch that may hold encrypted values. */
  readonly current: () => Iterable<CatalogObject>;
}

/**
 * Changes that bring values which may have been encrypted for another object: values with a data
 * key that this platform generated, but not for this object or not for its present state, or values
 * that another object of the branch has. The daemon can decrypt a copied file, so a reader of the copy
 * would read the original. A holder of a key of the original can encrypt the copy again.
 */
export async function copiedValues(
  { source, sealer, current }: Copying,
  changes: readonly ObjectChange[],
): Promise<ObjectChange[]> {
  /** Values with a data key that a person generated. */
  const foreign = new Map<ObjectChange, ReadonlySet<string>>();
  // A recreated object is another object, even if its file ends up the same.
  const candidates = changes.filter(
    (change) =>
      change.after !== undefined &&
      (isAnew(change) || change.before?.source.blob !== change.after.source.blob),
  );
  const copied = await filtered(source, candidates, async (change, { before: old, after }) => {
    if (after === undefined) return false;
    const brought = await sealer.dataKeyOf(after);
    if (brought === undefined) return false;
    const before = isAnew(change) ? undefined : old;
    const own = before && (await sealer.dataKeyOf(before));
    const isOwnKey = before !== undefined && own?.dataKey.equals(brought.dataKey) === true;
    if (brought.isGenerated && !isOwnKey) return true;
    const values = encryptedValues(after, change.after);
    const had = isOwnKey ? encryptedValues(before, change.before) : NO_VALUES;
    const news = [...values].filter((value) => !had.has(value));
    // History has values of neighbours and of removed objects with the same data key.
    if (brought.isGenerated) return news.length > 0;
    if (news.length > 0) foreign.set(change, new Set(news));
    return false;
  });
  return [...copied, ...(await heldByOthers(source, foreign, current))];
}

/** Changes with a value that another object of the branch has. */
async function heldByOthers(
  source: Pick<Repository, 'readBlobs'>,
  foreign: ReadonlyMap<ObjectChange, ReadonlySet<string>>,
  current: () => Iterable<CatalogObject>,
): Promise<ObjectChange[]> {
  if (foreign.size === 0) return [];
  const wanted = new Set([...foreign.values()].flatMap((values) => [...values]));
  const holders = new Map<string, ObjectKey[]>();
  const objects = [...current()];
  for (let from = 0; from < objects.length; from += OBJECTS_PER_BATCH) {
    const batch = objects.slice(from, from + OBJECTS_PER_BATCH);
    const blobs = [...new Set(batch.map((object) => object.source.blob))];
    const contents = await source.readBlobs(blobs);
    // Searching the text is much faster than parsing.
    const hits = new Set(blobs.filter((_, at) => hasOneOf(contents[at], wanted)));
    for (const object of batch) {
      const content = contents[blobs.indexOf(object.source.blob)];
      if (content === undefined || !hits.has(object.source.blob)) continue;
      for (const value of encryptedValues(content, object)) {
        if (wanted.has(value)) holders.set(value, [...(holders.get(value) ?? []), object.key]);
      }
    }
  }
  return [...foreign].flatMap(([change, values]) => {
    const isOther = (key: ObjectKey): boolean => isAnew(change) || !sameKey(key, change.key);
    return [...values].some((value) => holders.get(value)?.some(isOther)) ? [change] : [];
  });
}

function hasOneOf(content: Buffer | undefined, wanted: ReadonlySet<string>): boolean {
  if (content === undefined) return false;
  return [...ciphertextsIn(content.toString('latin1'))].some((value) => wanted.has(value));
}

/** Encrypted values in a file, or of one object in it. */
function encryptedValues(content: Buffer, object?: CatalogObject): ReadonlySet<string> {
  const file = readManifests(content);
  const documents = 'documents' in file ? file.documents : [];
  const found = new Set<string>();
  for (const { index, value } of documents) {
    if (!isRecord(value) || (object !== undefined && index !== object.place.index)) continue;
    const { [SOPS]: _block, ...rest } = value as JsonObject;
    mapLeaves(rest, ({ value: leaf }) => {
      const ciphertext = ciphertextOf(String(leaf));
      if (ciphertext !== undefined) found.add(ciphertext);
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
  for (let from = 0; from < changes.length; from += OBJECTS_PER_BATCH) {
    const batch = changes.slice(from, from + OBJECTS_PER_BATCH);
    const blobs = [...new Set(batch.flatMap(({ before, after }) => blobsOf(before, after)))];
    const contents = await source.readBlobs(blobs);
    const contentOf = (object: CatalogObject | undefined): Buffer | undefined =>
      object && contents[blobs.indexOf(object.source.blob)];
    for (const change of batch) {
      const versions = { before: contentOf(change.before), after: contentOf(change.after) };
      if (await isMeant(change, versions)) found.push(change);
    }
  }
  return found;
}

function blobsOf(...objects: readonly (CatalogObject | undefined)[]): string[] {
  return objects.flatMap((object) => object?.source.blob ?? []);
}

/** SOPS metadata in the document of an object; null: it is not encrypted. */
function blockOf(content: Buffer | undefined, object: CatalogObject | undefined): JsonValue {
  if (content?.includes(SOPS) !== true) return null;
  const file = readManifests(content);
  const documents = 'documents' in file ? file.documents : [];
  const value = documents.find(({ index }) => index === object?.place.index)?.value;
  const block = isRecord(value) ? (value as JsonObject)[SOPS] : undefined;
  if (!isRecord(block)) return block ?? null;
  // These fields follow from the values of every document of the file, and do not affect who reads
  // it.
  const { mac: _mac, lastmodified: _time, version: _version, ...rest } = block;
  return rest;
}
