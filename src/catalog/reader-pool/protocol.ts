/**
 * Messages between the main thread and reader threads. Files travel as two parts: one text of
 * facts, and the bytes of all manifests, which are transferred without a copy.
 */
import {
  type JsonValue,
  type KubeObject,
  type ObjectKey,
  ownText,
  TextPool,
} from '../../apimachinery/index.ts';
import type { GitContext } from '../../git/index.ts';
import type { SecretPaths } from '../../kinds/index.ts';
import type { Problem } from '../../manifests/index.ts';
import type { DocumentEncryption } from '../encryption.ts';
import { type DocumentEntry, type FileEntry, type ManifestKeeper, ReadDocument } from '../file.ts';
import type { LargeEdit, WantedFile } from '../file-reader.ts';

/** Start parameters of a worker. */
export interface ReaderSetup {
  /** Absent: orders contain the contents of their files. */
  readonly context?: GitContext;
  readonly apiGroup: string;
  readonly under: string;
  /** Memory limit of the git process that a thread starts. */
  readonly gitMemoryMib: number;
  /** Keys that decrypt secrets; absent: nothing is decrypted. */
  readonly secrets?: { readonly identities: readonly string[]; readonly mindsClear: boolean };
}

export type Order =
  | ReadOrder
  | { readonly encryptionOf: Uint8Array }
  | { readonly edit: LargeEdit };

export interface ReadOrder {
  readonly files: readonly WantedFile[];
  /** Absent: git has them. */
  readonly contents?: readonly Uint8Array[];
}

export interface Delivery {
  /** Undefined: the files could not be read. The main thread reads them again, and reports why. */
  readonly packed?: PackedFiles | undefined;
  readonly encryption?: readonly DocumentEncryption[];
  readonly edited?: Edited;
}

export type Edited =
  | { readonly text: string }
  | { readonly value: JsonValue | undefined }
  | { readonly refusal: string };

export interface PackedFiles {
  /** JSON: a list of files, each a list of documents. */
  readonly facts: string;
  /** The manifests as JSON, concatenated. */
  readonly manifests: Uint8Array<ArrayBuffer>;
}

type DocumentFacts = readonly [
  group: string,
  kind: string,
  namespace: string,
  name: string,
  line: number,
  /** Bytes of the manifest; -1: there is none. */
  length: number,
  index?: number,
  problems?: readonly Problem[],
  warnings?: readonly Problem[],
  /** The document has no key. */
  nameless?: boolean,
  clear?: readonly Problem[],
  /** The manifest lacks values that cannot be decrypted. */
  partial?: boolean,
  encrypted?: SecretPaths,
];

export function packFiles(files: readonly FileEntry[]): PackedFiles {
  const texts: Buffer[] = [];
  const facts = files.map(({ documents }) =>
    documents.map((document): DocumentFacts => {
      const { key, line } = document;
      const text = document instanceof ReadDocument ? document.text() : undefined;
      const bytes = text === undefined ? undefined : Buffer.from(text);
      if (bytes !== undefined) texts.push(bytes);
      const { group = '', kind = '', namespace = '', name = '' } = key ?? {};
      const usual = [group, kind, namespace, name, line, bytes?.length ?? -1] as const;
      return [...usual, ...unusualFacts(document)];
    }),
  );
  const manifests = new Uint8Array(texts.reduce((sum, text) => sum + text.length, 0));
  let end = 0;
  for (const text of texts) {
    manifests.set(text, end);
    end += text.length;
  }
  return { facts: JSON.stringify(facts), manifests };
}

type UnusualFacts = DocumentFacts extends readonly [
  unknown,
  unknown,
  unknown,
  unknown,
  unknown,
  unknown,
  ...infer Rest,
]
  ? Rest
  : never;

/** Facts that most documents do not have. */
function unusualFacts(document: DocumentEntry): UnusualFacts {
  const { key, index, problems, warnings, clear = NONE, partial = false, encrypted } = document;
  if (key === undefined || clear.length > 0 || partial || encrypted !== undefined) {
    const rare = [index, problems, warnings, key === undefined, clear, partial] as const;
    return encrypted === undefined ? [...rare] : [...rare, encrypted];
  }
  if (index === 0 && problems.length === 0 && warnings.length === 0) return [];
  return [index, problems, warnings];
}

/** The files in the order of the request. */
export function unpackFiles(wanted: readonly WantedFile[], packed: PackedFiles): FileEntry[] {
  const { buffer, byteOffset, byteLength } = packed.manifests;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  const facts = JSON.parse(packed.facts) as DocumentFacts[][];
  let end = 0;
  return wanted.map(({ path, id }, i) => {
    const blob = ownText(id);
    const documents = (facts[i] ?? []).map((of) => {
      // By index: destructuring creates arrays, and there are many of these.
      const line = of[4];
      const length = of[5];
      const { 6: index = 0, 7: problems = NONE, 8: warnings = NONE } = of;
      const { 10: clear = NONE, 11: partial = false, 12: encrypted } = of;
      const start = end;
      if (length > 0) end += length;
      const manifest = length < 0 ? undefined : new PackedManifest(bytes, start, end);
      return new ReadDocument(
        { index, line, blob },
        { key: keyOf(of), manifest, problems, warnings, clear, partial, encrypted },
      );
    });
    return { path, blob, documents };
  });
}

function keyOf(of: DocumentFacts): ObjectKey | undefined {
  if (of[9] === true) return undefined;
  const group = kinds.own(of[0]);
  return { group, kind: kinds.own(of[1]), namespace: namespaces.own(of[2]), name: of[3] };
}

const kinds = new TextPool(100);
const namespaces = new TextPool(10_000);
const NONE: readonly Problem[] = [];

class PackedManifest implements ManifestKeeper {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
  }

  get manifest(): KubeObject {
    return JSON.parse(this.#bytes.toString('utf8', this.#start, this.#end)) as KubeObject;
  }
}
