/** Why a signature is not one: half a sentence that follows "the signature cannot be used: ". */
export class SignatureError extends Error {}

/** A file of the operator's that cannot be used: names the file, the line and the remedy. */
export class SignatureFileError extends Error {}
