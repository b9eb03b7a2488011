/** Why something cannot be sealed or opened. The message holds no value, no key and no MAC. */
export class SealingError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SealingError';
  }
}
