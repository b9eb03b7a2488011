/**
 * Changes of encryption by a push that affect who can read an object: the push encrypts an
 * unchanged object for others, or gives an object the encrypted values of another one.
 */
import {
  deadline,
  isRecord,
  type JsonValue,
  jsonEqual,
  type ObjectKey,
  sameKey,
} from '../../apimachinery/index.ts';
import {
  type CatalogObject,
  type DocumentEncryption,
  encryptionOf,
  type FileReader,
  type ObjectChange,
} from '../../catalog/index.ts';
import type { Repository } from '../../git/index.ts';
import { ciphertextsIn } from '../../sealing/index.ts';
import { isAnew } from '../writes/change-verbs.ts';
import type { Sealer } from '../writes/sealer.ts';
import { type FormerValues, MOST_VERSIONS } from './former-values.ts';

/** Encryption of the documents of a file, by their index. */
type FileEncryption = ReadonlyMap<number, DocumentEncryption>;

interface Versions {
  readonly before: FileEncryption;
  readonly after: FileEncryption;
}

/** Reads files of a push and of the branch. */
interface Reading {
  readonly source: Pick<Repository, 'readBlobs'>;
  readonly reader: Pick<FileReader, 'pool'>;
}

const NOTHING: FileEncryption = new Map();
const NO_VALUES: ReadonlySet<string> = new Set();

/** Time limit for former versions with values of a push. API writes may wait for it. */
const HOLDERS_WITHIN_MS = 10_000;

/** Bounds the memory of a push of many files. */
const OBJECTS_PER_BATCH = 64;

/**
 * Changes that affect only the encryption of an object: another data key, other recipients or
 * another rule. They need the right to update the object. `invisible`: changes that readers do not see.
 */
export async function encryptionChanges(
  reading: Reading,
  invisible: readonly ObjectChange[],
): Promise<ObjectChange[]> {
  const candidates = invisible.filter(
    ({ before, after }) => before?.source.blob !== after?.source.blob,
  );
  return await filtered(reading, candidates, async ({ before, after }, files) => {
    return !jsonEqual(blockOf(files.before, before), blockOf(files.after, after));
  });
}

interface Copying extends Reading {
  readonly sealer: Sealer;
  /** Objects of the branch that may hold encrypted values. */
  readonly current: () => Iterable<CatalogObject>;
  readonly former: Pick<FormerValues, 'versionsWith' | 'holders'>;
  /** Head of the branch; undefined: it has no commit. */
  readonly head: string | undefined;
  /** True if the pusher may read the object, and every former one of its name. */
  readonly mayRead: (key: ObjectKey) => boolean;
}

export interface CopiedValues {
  readonly copies: readonly ObjectChange[];
  /** Changes with values that cannot be compared: the history has too many. */
  readonly uncompared: readonly ObjectChange[];
}

/**
 * Changes that bring values which may have been encrypted for another object: values with a data
 * key that this platform generated, but not for this object or not for its present state, or values
 * that another object of the branch has, or that an object had which the pusher may not read. The daemon can
 * decrypt a copied file, so a reader of the copy would read the original. A holder of a key of the original
 * can encrypt the copy again.
 */
export async function copiedValues(
  { sealer, current, former, head, mayRead, ...reading }: Copying,
  changes: readonly ObjectChange[],
): Promise<CopiedValues> {
  /** Values with a data key that a person generated. */
  const foreign = new Map<ObjectChange, ReadonlySet<string>>();
  // A recreated object is another object, even if its file ends up the same.
  const candidates = changes.filter(
    (change) =>
      change.after !== undefined &&
      (isAnew(change) || change.before?.source.blob !== change.after.source.blob),
  );
  const copied = await filtered(reading, candidates, async (change, files) => {
    const { after } = files;
    const brought = await sealer.dataKeyOf([...after.values()]);
    if (brought === undefined) return false;
    const before = isAnew(change) ? NOTHING : files.before;
    const own = await sealer.dataKeyOf([...before.values()]);
    const isOwnKey = own?.dataKey.equals(brought.dataKey) === true;
    if (brought.isGenerated && !isOwnKey) return true;
    const values = encryptedValues(after, change.after);
    const had = isOwnKey ? encryptedValues(before, change.before) : NO_VALUES;
    const news = [...values].filter((value) => !had.has(value));
    // History has values of neighbours and of removed objects with the same data key.
    if (brought.isGenerated) return news.length > 0;
    if (news.length > 0) foreign.set(change, new Set(news));
    return false;
  });
  const held = await heldByOthers(reading, foreign, current);
  for (const change of held) foreign.delete(change);
  const formerly = await formerlyHeld({ former, head, mayRead }, foreign);
  const uncompared = formerly === undefined ? [...foreign.keys()] : [];
  return { copies: [...copied, ...held, ...(formerly ?? [])], uncompared };
}

/** Changes with a value that another object of the branch has. */
async function heldByOthers(
  { source, reader }: Reading,
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
    const files = await filesWith(wanted, blobs, { source, reader });
    for (const object of batch) {
      for (const value of encryptedValues(files.get(object.source.blob) ?? NOTHING, object)) {
        if (wanted.has(value)) holders.set(value, [...(holders.get(value) ?? []), object.key]);
      }
    }
  }
  return [...foreign].flatMap(([change, values]) => {
    const isOther = (key: ObjectKey): boolean => isAnew(change) || !sameKey(key, change.key);
    return [...values].some((value) => holders.get(value)?.some(isOther)) ? [change] : [];
  });
}

/**
 * Changes with a value of a version that the pusher may not read. All versions count, since a pusher may have
 * put the value into one of them. Undefined: the history has too many values.
 */
async function formerlyHeld(
  { former, head, mayRead }: Pick<Copying, 'former' | 'head' | 'mayRead'>,
  foreign: ReadonlyMap<ObjectChange, ReadonlySet<string>>,
): Promise<ObjectChange[] | undefined> {
  if (foreign.size === 0 || head === undefined) return [];
  const wanted = new Set([...foreign.values()].flatMap((values) => [...values]));
  const versions = await former.versionsWith(wanted, head);
  if (versions === undefined) return undefined;
  const signal = deadline(HOLDERS_WITHIN_MS);
  const mayReadAll = async (value: string): Promise<boolean> => {
    const having = versions.get(value) ?? [];
    if (having.length > MOST_VERSIONS) return false;
    for (const version of having) {
      const holders = await former.holders(version, value, signal);
      const isRead = holders.every((key) => key !== undefined && mayRead(key));
      if (!isRead || holders.length === 0) return false;
    }
    return true;
  };
  const found: ObjectChange[] = [];
  for (const [change, values] of foreign) {
    for (const value of values) {
      if (await mayReadAll(value)) continue;
      found.push(change);
      break;
    }
  }
  return found;
}

/** The files that have one of the values. Searching their text is much faster than parsing it. */
async function filesWith(
  wanted: ReadonlySet<string>,
  blobs: readonly string[],
  { source, reader }: Reading,
): Promise<ReadonlyMap<string, FileEncryption>> {
  const files = new Map<string, FileEncryption>();
  const contents = await source.readBlobs(blobs);
  for (const [at, blob] of blobs.entries()) {
    const content = contents[at];
    if (content === undefined || !hasOneOf(content, wanted)) continue;
    files.set(blob, await read(reader, content));
  }
  return files;
}

function hasOneOf(content: Buffer, wanted: ReadonlySet<string>): boolean {
  return [...ciphertextsIn(content.toString('latin1'))].some((value) => wanted.has(value));
}

/** Encrypted values of one object in a file. */
function encryptedValues(
  file: FileEncryption,
  object: CatalogObject | undefined,
): ReadonlySet<string> {
  return new Set(file.get(object?.place.index ?? -1)?.values);
}

async function read(reader: Reading['reader'], content: Buffer): Promise<FileEncryption> {
  const documents = await encryptionOf(reader, content);
  return new Map(documents.map((document) => [document.index, document]));
}

/** Reads each file once, however many objects are in it. */
async function filtered(
  { source, reader }: Reading,
  unsorted: readonly ObjectChange[],
  isMeant: (change: ObjectChange, files: Versions) => Promise<boolean>,
): Promise<ObjectChange[]> {
  const found: ObjectChange[] = [];
  const changes = [...unsorted].sort(byFile);
  let files = new Map<string, FileEncryption>();
  const fileOf = (object: CatalogObject | undefined): FileEncryption =>
    files.get(object?.source.blob ?? '') ?? NOTHING;
  for (let from = 0; from < changes.length; from += OBJECTS_PER_BATCH) {
    const batch = changes.slice(from, from + OBJECTS_PER_BATCH);
    const blobs = new Set(batch.flatMap(({ before, after }) => blobsOf(before, after)));
    files = new Map([...files].filter(([blob]) => blobs.has(blob)));
    const missing = [...blobs].filter((blob) => !files.has(blob));
    const contents = missing.length === 0 ? [] : await source.readBlobs(missing);
    for (const [at, blob] of missing.entries()) {
      const content = contents[at];
      files.set(blob, content === undefined ? NOTHING : await read(reader, content));
    }
    for (const change of batch) {
      const versions = { before: fileOf(change.before), after: fileOf(change.after) };
      if (await isMeant(change, versions)) found.push(change);
    }
  }
  return found;
}

/** Objects of one file beside each other. */
function byFile(one: ObjectChange, other: ObjectChange): number {
  const [a = '', b = ''] = [one, other].map(({ before, after }) => blobsOf(after, before)[0]);
  return a < b ? -1 : Number(a > b);
}

function blobsOf(...objects: readonly (CatalogObject | undefined)[]): string[] {
  return objects.flatMap((object) => object?.source.blob ?? []);
}

/** SOPS metadata of an object; null: it is not encrypted. */
function blockOf(file: FileEncryption, object: CatalogObject | undefined): JsonValue {
  const block = file.get(object?.place.index ?? -1)?.metadata;
  if (!isRecord(block)) return block ?? null;
  // These fields follow from the values of every document of the file, and do not affect who reads
  // it.
  const { mac: _mac, lastmodified: _time, version: _version, ...rest } = block;
  return rest;
}
