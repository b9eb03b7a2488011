/** Encryption of the documents of a file, as it is written: nothing is decrypted. */
import { isRecord, type JsonObject, type JsonValue } from '../apimachinery/index.ts';
import { readManifests } from '../manifests/index.ts';
import { ciphertextOf, mapLeaves, SOPS } from '../sealing/index.ts';

/** A document with encryption metadata or encrypted values. */
export interface DocumentEncryption {
  readonly index: number;
  /** Undefined: the document has no metadata. */
  readonly metadata: JsonValue | undefined;
  /** `ciphertextOf` each encrypted value. */
  readonly values: readonly string[];
}

/** Takes as long as reading the file: large files are read in a thread, see `encryptionOf`. */
export function encryptionIn(content: Buffer): DocumentEncryption[] {
  const file = readManifests(content);
  const documents = 'documents' in file ? file.documents : [];
  return documents.flatMap(({ index, value }) => {
    if (!isRecord(value)) return [];
    const { [SOPS]: metadata, ...rest } = value as JsonObject;
    const values: string[] = [];
    mapLeaves(rest, ({ value: leaf }) => {
      const ciphertext = ciphertextOf(String(leaf));
      if (ciphertext !== undefined) values.push(ciphertext);
      return leaf;
    });
    return metadata === undefined && values.length === 0 ? [] : [{ index, metadata, values }];
  });
}
