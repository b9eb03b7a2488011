/**
 * An unusable configuration of the secret store: a condition reason, and a message without secrets.
 */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly reason: 'AddressInvalid' | 'FileUnreadable' | 'CredentialMissing';

  constructor(reason: SettingsError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}
