/** A configuration of the secret store that cannot be used: a reason for conditions, and one sentence without secrets. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly reason: 'AddressInvalid' | 'FileUnreadable' | 'CredentialMissing';

  constructor(reason: SettingsError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}
