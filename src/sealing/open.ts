/**
 * Decryption of a file. It is all or nothing: one MAC covers all documents, so one tampered value
 * makes all of them invalid. The content of a file never causes an exception.
 */

import type { ParsedNode } from 'yaml';
import { isAlias, isMap, isScalar, isSeq } from 'yaml';
import {
  type FieldPath,
  isRecord,
  type JsonObject,
  type JsonValue,
} from '../apimachinery/index.ts';
import {
  compose,
  evaluate,
  type ManifestDocument,
  type StreamSlice,
  splitStream,
} from '../manifests/index.ts';
import { untaggedScalar } from './go-scalar.ts';
import { Mac, storedMac } from './mac.ts';
import { parseMetadata, type SealMetadata, SOPS } from './metadata.ts';
import { boundTo, type ClearValue, clearValueOf, isSealed, openValue } from './sealed-value.ts';
import { SealingError } from './sealing-error.ts';
import { type Selection, selectionOf } from './selection.ts';
import { type Leaf, mapLeaves, OrderedMap, TextScalar, type Tree } from './tree.ts';

/** A key that JavaScript moves to the front of an object. */
const INDEX = /^(?:0|[1-9]\d{0,9})$/;

/** Problem at a place of an encrypted document. */
export interface SealProblem {
  readonly path: FieldPath;
  /** Holds no value. */
  readonly message: string;
  /** The place holds a plaintext value that the rule of the file selects for encryption. */
  readonly inClear?: true;
}

export interface OpenedDocument {
  readonly index: number;
  /** Without `sops`. If decryption failed: without the encrypted values. */
  readonly value: JsonValue;
  readonly problems: readonly SealProblem[];
}

export interface OpenedFile {
  readonly metadata: SealMetadata | undefined;
  /** Undefined: no identity here can decrypt the file. */
  readonly dataKey: Buffer | undefined;
  readonly documents: readonly OpenedDocument[];
  /** Reason for which the file cannot be decrypted. Holds no data. */
  readonly unreadable: string | undefined;
  /** The plaintext MAC over the current values. Do not show it. */
  readonly mac: string | undefined;
  /** Each encrypted value of the file. */
  readonly sealed: readonly SealedPlace[];
}

export interface SealedPlace {
  /** Index of its document. */
  readonly index: number;
  readonly bound: string;
  readonly clear: ClearValue;
  readonly text: string;
}

/** The metadata of a stream of documents. Undefined: none is encrypted. Throws SealingError. */
export function metadataOf(
  documents: readonly Pick<ManifestDocument, 'value'>[],
): SealMetadata | undefined {
  for (const { value } of documents) {
    if (isRecord(value) && Object.hasOwn(value, SOPS)) return parseMetadata(value[SOPS]);
  }
  return undefined;
}

export interface Stream {
  readonly text: string;
  readonly documents: readonly Pick<ManifestDocument, 'index' | 'value'>[];
}

/** Decrypts a stream. `dataKey` undefined: no identity here can decrypt its data key. */
export function openStream(stream: Stream, dataKey: Buffer | undefined): OpenedFile {
  const nothing = { mac: undefined, sealed: [], dataKey: undefined };
  let metadata: SealMetadata | undefined;
  let selection: Selection;
  try {
    metadata = metadataOf(stream.documents);
    if (metadata === undefined) {
      const documents = stream.documents.map(({ index, value }) => plain(index, value));
      return { ...nothing, metadata, documents, unreadable: undefined };
    }
    selection = selectionOf(metadata.rule);
  } catch (error) {
    const problem = { path: [SOPS], message: wordsOf(error) };
    return { ...nothing, metadata: undefined, ...closed(stream, problem), unreadable: undefined };
  }
  if (dataKey === undefined) {
    const unreadable = whyUnreadable(metadata);
    const problem = { path: [SOPS], message: unreadable };
    return { ...nothing, metadata, ...closed(stream, problem), unreadable };
  }
  const opener = new Opener(metadata, selection, dataKey);
  const documents = stream.documents.map((document) => opener.document(stream, document));
  return { ...opener.result(documents), unreadable: undefined };
}

function wordsOf(error: unknown): string {
  if (error instanceof SealingError) return error.message;
  throw error;
}

function whyUnreadable({ age, pgp = [] }: SealMetadata): string {
  const names = age.map(({ recipient }) => recipient.slice(0, 80)).join(', ');
  if (names === '' && pgp.length > 0) {
    const keys = pgp.map(({ fp }) => fp.slice(0, 80)).join(', ');
    return `is sealed for the PGP keys ${keys} alone, whose holders can read it elsewhere; name the age recipient of this platform beside them in .sops.yaml, and run "sops updatekeys" on the file`;
  }
  if (names === '') {
    return 'is sealed for no age recipient; other kinds of keys are not supported: add one with sops';
  }
  return `is sealed for ${names}, and the key of none of them is here; restore the key file, or have the file sealed for this platform too`;
}

function plain(index: number, value: JsonValue = null): OpenedDocument {
  return { index, value, problems: [] };
}

/** Documents without their encrypted values. */
function closed(stream: Stream, problem: SealProblem): { documents: OpenedDocument[] } {
  const documents = stream.documents.map(({ index, value }) => {
    if (!isRecord(value)) return plain(index, value);
    const { [SOPS]: own, ...rest } = value;
    const redacted = mapLeaves(rest, ({ value: leaf }) => (isSealed(leaf) ? undefined : leaf));
    return { index, value: redacted, problems: own === undefined ? [] : [problem] };
  });
  return { documents };
}

class Opener {
  readonly #metadata: SealMetadata;
  readonly #selection: Selection;
  readonly #dataKey: Buffer;
  readonly #mac: Mac;
  readonly #sealed: SealedPlace[] = [];
  #slices: readonly StreamSlice[] | undefined;
  #failed = false;

  constructor(metadata: SealMetadata, selection: Selection, dataKey: Buffer) {
    this.#metadata = metadata;
    this.#selection = selection;
    this.#dataKey = dataKey;
    this.#mac = new Mac(metadata.macOnlyEncrypted);
  }

  document(stream: Stream, { index, value }: Stream['documents'][number]): OpenedDocument {
    if (!isRecord(value)) return plain(index, value);
    const problems: SealProblem[] = [];
    const opened = mapLeaves(this.#treeOf(stream, index, value), (leaf) =>
      this.#leaf(leaf, { index, problems }),
    );
    if (problems.length > 0) this.#failed = true;
    const { [SOPS]: _metadata, ...rest } = isRecord(opened) ? opened : {};
    return { index, value: rest, problems };
  }

  /** The JSON value, or a tree of the text if JSON would lose the order or the types. */
  #treeOf({ text }: Stream, index: number, value: JsonObject): Tree {
    if (this.#metadata.macOnlyEncrypted && !losesOrder(value)) return value;
    this.#slices ??= splitStream(text);
    const slice = this.#slices[index];
    return (slice && orderedTree(text.slice(slice.start, slice.end))) ?? value;
  }

  #leaf(
    leaf: Leaf,
    { index, problems }: { readonly index: number; readonly problems: SealProblem[] },
  ): JsonValue {
    const { path, at, value, bytes } = leaf;
    if (path[0] === SOPS || value === null || value === '') return value;
    const refuse = (error: unknown): null => {
      problems.push({ path: at, message: wordsOf(error) });
      return null;
    };
    if (!this.#selection(path)) {
      this.#mac.clear(bytes ?? clearValueOf(value).bytes);
      return value;
    }
    if (typeof value !== 'string' || !isSealed(value)) {
      problems.push({ path: at, message: IN_CLEAR, inClear: true });
      return null;
    }
    try {
      const bound = boundTo(path);
      const clear = openValue(value, this.#dataKey, bound);
      this.#mac.sealed(clear.bytes);
      this.#sealed.push({ index, bound, clear, text: value });
      return jsonOf(clear);
    } catch (error) {
      return refuse(error);
    }
  }

  result(documents: readonly OpenedDocument[]): Omit<OpenedFile, 'unreadable'> {
    const mac = this.#mac.digest();
    const shared = {
      metadata: this.#metadata,
      dataKey: this.#dataKey,
      mac,
      sealed: this.#sealed,
    };
    const problem = this.#failed ? undefined : this.#macProblem(mac);
    if (problem === undefined) return { ...shared, documents };
    return {
      ...shared,
      documents: documents.map((document) => ({ ...document, problems: [problem] })),
    };
  }

  #macProblem(mac: string): SealProblem | undefined {
    try {
      if (storedMac(this.#metadata, this.#dataKey) === mac) return undefined;
    } catch (error) {
      return { path: [SOPS, 'mac'], message: wordsOf(error) };
    }
    return { path: [SOPS, 'mac'], message: MISMATCH };
  }
}

/** The tree of a document. Undefined: it does not parse. */
function orderedTree(source: string): Tree | undefined {
  const { contents, flaws } = compose(source, { tokens: false });
  if (contents === null || flaws.length > 0) return undefined;
  const { targets, flaws: others } = evaluate(contents);
  return others.length > 0 ? undefined : treeOf(contents, targets);
}

function treeOf(node: ParsedNode | null, targets: ReadonlyMap<ParsedNode, ParsedNode>): Tree {
  const real = isAlias(node) ? (targets.get(node) ?? null) : node;
  if (isSeq(real)) return real.items.map((item) => treeOf(item, targets));
  if (isMap(real)) {
    return new OrderedMap(
      real.items.map(({ key, value }) => {
        const name = isAlias(key) ? targets.get(key) : key;
        return [isScalar(name) ? String(name.source) : '', treeOf(value, targets)];
      }),
    );
  }
  return isScalar(real) ? untagged(real) : null;
}

/** The JSON value of a plaintext. Throws SealingError if JSON cannot hold it exactly. */
function jsonOf({ type, bytes }: ClearValue): string | number | boolean {
  const text = bytes.toString('utf8');
  switch (type) {
    case 'bool':
      return text.toLowerCase() === 'true';
    case 'int':
    case 'float': {
      const value = Number(text);
      const exact = type === 'float' ? Number.isFinite(value) : Number.isSafeInteger(value);
      if (!exact)
        throw new SealingError('is a number that cannot be kept exactly; seal it as text');
      return value;
    }
    default:
      if (!Buffer.from(text, 'utf8').equals(bytes)) {
        throw new SealingError('is not text; write it in base64 before it is sealed');
      }
      return text;
  }
}

/** True if the JSON value does not keep the order of the text. */
function losesOrder(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(losesOrder);
  if (!isRecord(value)) return false;
  return Object.keys(value).some((key) => INDEX.test(key)) || Object.values(value).some(losesOrder);
}

const IN_CLEAR =
  'must be encrypted: the "sops" block of this file selects this value; run "gitplane seal" on the file';
const MISMATCH =
  'the MAC does not fit the values: one was added, removed or moved without the key; edit sealed files with "gitplane edit" or sops';

function untagged(node: Extract<ParsedNode, { source: string }>): TextScalar {
  const { value, bytes } = untaggedScalar(node.source, isScalar(node) ? node : undefined);
  return new TextScalar(value, bytes);
}
