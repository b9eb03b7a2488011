/** Public names of `sealing/`: other folders import this file alone. */
export { clearComments } from './comments.ts';
export { type FileKey, Keyring, makeIdentity, parseIdentities, wrapDataKey } from './data-keys.ts';
export { mayBeSealed, type SealMetadata, SOPS, saysOnly } from './metadata.ts';
export { metadataOf, type OpenedFile, openStream } from './open.ts';
export { missingKey, type PgpKeys, wrapForPgp } from './pgp.ts';
export { documentsOf, Reuse, sealDocument, sealedComments, sealText, unsealText } from './seal.ts';
export { ciphertextOf, ciphertextsIn, isSealed } from './sealed-value.ts';
export { SealingError } from './sealing-error.ts';
export { type Rule, type Selection, selectionOf } from './selection.ts';
export {
  type CreationRule,
  changeRecipients,
  creationRuleFor,
  formatSopsConfig,
  parseSopsConfig,
  type ReadSopsConfig,
  readSopsConfig,
  ruleOfKeys,
  type SopsConfig,
  usable,
} from './sops-config.ts';
export { rulesFor, sopsConfigProblems } from './sops-config-check.ts';
export { mapLeaves } from './tree.ts';
