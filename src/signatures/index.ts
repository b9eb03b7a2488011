/** Public names of `signatures/`: other folders import this file alone. */
export { type CommitSigner, openCommitSigner } from './commit-signer.ts';
export { openGpgKeyring } from './gpg-keyring.ts';
export { SignatureFileError } from './signature-error.ts';
export { type CommitSignature, SignatureInspector } from './signature-inspector.ts';
export { type CommitRange, SignatureJudge } from './signature-judge.ts';
export { type PolicyFiles, PolicySource } from './signature-policy.ts';
export { isSignedBy } from './verify-signature.ts';
