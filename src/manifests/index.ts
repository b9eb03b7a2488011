/** Door of `manifests/`: other folders import this file alone. */
export { compose } from './compose.ts';
export { matchItems } from './edit/match.ts';
export {
  appendDocument,
  assertEditable,
  editDocument,
  type FormerDocument,
  formatLike,
  isEmptyStream,
  ManifestEditError,
  removeDocument,
} from './edit.ts';
export { evaluate, isMergeKey, setOwn } from './evaluate.ts';
export { fanOutMoves, type Move } from './fan-out.ts';
export { ignorePatterns } from './ignore-patterns.ts';
export { defaultPath, fanOutPaths, folderNamespace, isFull } from './layout.ts';
export {
  formatProblem,
  type ManifestDocument,
  type ManifestFile,
  type Position,
  type Problem,
} from './manifest.ts';
export { mergeDocument, mergeStream, mergeText } from './merge/texts.ts';
export { mergeValues } from './merge/values.ts';
export { decodeUtf8, documentValue, holdsNothing, parseDocument } from './parse.ts';
export {
  IGNORE_FILE,
  isControlFile,
  LARGEST_IGNORE_FILE,
  leavesTree,
  MANIFEST_ENDINGS,
  MANIFEST_EXTENSION,
  normalizeFolder,
  type PathFilter,
  pathFilter,
  relativeTo,
  SOPS_CONFIG,
} from './path-filter.ts';
export { parsePlainYaml } from './plain/plain-yaml.ts';
export { linesIn, placesIn, positionAt } from './positions.ts';
export { readManifests } from './read.ts';
export { resolvePlain } from './scalar-meaning.ts';
export { type StreamSlice, splitStream } from './stream.ts';
export { formatManifest } from './write.ts';
