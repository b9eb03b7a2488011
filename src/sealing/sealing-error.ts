/** Failure to encrypt or decrypt. The message holds no value, no key and no MAC. */
export class SealingError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SealingError';
  }
}
