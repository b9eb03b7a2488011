/** An invalid signature. The message continues the sentence "the signature cannot be used: ". */
export class SignatureError extends Error {}

/** A file of the operator that cannot be used. The message has the file, the line and the remedy. */
export class SignatureFileError extends Error {}
