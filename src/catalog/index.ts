/** Door of `catalog/`: other folders import this file alone. */

export { Catalog, type PinnedCatalog } from './catalog.ts';
export { CatalogObject, type Place, sameSources } from './catalog-object.ts';
export { encryptedPathsOf, encryptedValuesOf } from './encrypted-values.ts';
export type { DocumentEncryption } from './encryption.ts';
export {
  type DocumentEntry,
  type FileEntry,
  ReadDocument,
  refuseClear,
  unplacedDocuments,
} from './file.ts';
export { FileDocuments, type StateDocuments } from './file-documents.ts';
export { type FileReader, fileReader, LARGEST_FILE } from './file-reader.ts';
export { type FoldAheadContext, type FoldedAhead, foldAhead } from './fold-ahead.ts';
export { Footprint } from './footprint.ts';
export { type CommitPoint, Identity } from './identity.ts';
export { catalogDifference } from './object-changes.ts';
export { isRebound } from './owner-binding.ts';
export { sortProblems } from './problems.ts';
export {
  encryptedIn,
  isProvenanceOf,
  persistedManifest,
  persistedProvenance,
  provenanceFacts,
  provenanceOf,
} from './provenance.ts';
export { ReaderPool } from './reader-pool/reader-pool.ts';
export {
  encryptionOf,
  readEach,
  readPaths,
  readReadable,
  type SeenPath,
  SUBMODULE,
} from './reading.ts';
export {
  type Folded,
  type FoldedStep,
  type ReplayContext,
  replay,
} from './replay.ts';
export {
  catalogDocuments,
  documentedIn,
  isPersisted,
  obsoleteDocuments,
  pathsWithDocuments,
  persistedRevision,
  restore,
} from './restore.ts';
export type { ObjectChange, StepResult } from './step.ts';
export {
  followedPaths,
  linkWarnings,
  lookalikeProblems,
  type Sealing,
  sealingConfigPaths,
  TreeView,
} from './tree.ts';
