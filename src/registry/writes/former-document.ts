/** The bytes of an object in a past commit, for a manifest that restores it. */
import { isRecord, keyString, type ObjectKey } from '../../apimachinery/index.ts';
import type { FileReader } from '../../catalog/index.ts';
import type { Repository } from '../../git/index.ts';
import type { SecretPaths } from '../../kinds/index.ts';
import { decodeUtf8, documentValue, type FormerDocument } from '../../manifests/index.ts';

/** A file of a past commit. */
export interface FormerFile {
  readonly path: string;
  readonly blob: string;
}

interface Reading {
  readonly repository: Pick<Repository, 'readBlobs'>;
  readonly reader: FileReader;
}

interface Return {
  readonly key: ObjectKey;
  readonly path: string;
  readonly former?: FormerFile | undefined;
}

interface StatedDocument extends FormerDocument {
  /** False: its new folder implies the namespace. */
  readonly saysNamespace: boolean;
  /** Values that the file encrypted beside the secret fields of the kind. */
  readonly encrypted: SecretPaths;
}

/** The document of the object in a past file; undefined if it cannot be read. */
export async function formerDocument(
  { repository, reader }: Reading,
  { key, path: newPath, former }: Return,
): Promise<StatedDocument | undefined> {
  if (former === undefined) return undefined;
  const { path, blob } = former;
  const [content = Buffer.alloc(0)] = await repository.readBlobs([blob]);
  const decoded = decodeUtf8(content);
  if ('problem' in decoded) return undefined;
  await reader.prepare([content]);
  const id = keyString(key);
  const { documents } = reader.read(path, blob, content);
  const own = documents.find((document) => document.key && keyString(document.key) === id);
  if (own === undefined) return undefined;
  const { index, encrypted = [] } = own;
  const value = documentValue(decoded.text, index);
  const metadata = isRecord(value) ? value['metadata'] : undefined;
  // In the same folder the namespace stays implied.
  const saysNamespace = path !== newPath || (isRecord(metadata) && 'namespace' in metadata);
  return { text: decoded.text, index, saysNamespace, encrypted };
}
