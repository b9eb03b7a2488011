/**
 * A part of the configuration, with defaults.
 * Generated from schemas/notification.json by `npx tsx scripts/docs.ts`.
 */
/** A receiver of notifications: one of `webhook`, `slack` and `email`. */
export interface NotificationConfig {
  /** Name of the receiver, for the log and metrics. */
  readonly name: string;
  /** Events to send. Absent: all but `Applied`. */
  readonly events?: readonly ('Held' | 'Degraded' | 'StoreOutOfStep' | 'KeyExpired' | 'Applied')[];
  /** Sends each notification as a CloudEvent. */
  readonly webhook?: {
    /** Address of the receiver. `$NAME` takes it from the environment. */
    readonly url: string;
    /** Key of the signature: `whsec_` and base64, or any text of at least 16 characters. `$NAME` takes it from the environment. */
    readonly secret?: string;
    /** Path of a file with the key, in a folder for credentials, in place of `secret`. Read at each use. */
    readonly secretFile?: string;
  };
  /** Sends each notification as a message to an incoming webhook of Slack, or of a chat with the same interface. */
  readonly slack?: {
    /** Address of the incoming webhook. `$NAME` takes it from the environment. */
    readonly url?: string;
    /** Path of a file with the address, in a folder for credentials, in place of `url`. Read at each use. */
    readonly urlFile?: string;
  };
  /** Sends each notification as mail over SMTP. */
  readonly email?: {
    /** Host name of the mail server. */
    readonly host: string;
    /** Port of the mail server. Absent: 587, or 465 with `Implicit`. */
    readonly port?: number;
    /** Encryption. Absent: `StartTLS`, which the server must offer. `None` takes no password. */
    readonly tls?: 'StartTLS' | 'Implicit' | 'None';
    /** User name. Absent: no authentication. */
    readonly username?: string;
    /** Password. `$NAME` takes it from the environment. */
    readonly password?: string;
    /** Path of a file with the password, in a folder for credentials, in place of `password`. Read at each use. */
    readonly passwordFile?: string;
    /** Path of a file with certificates of authorities (PEM), in a folder for credentials, trusted beside those of Node. Read at each use. */
    readonly caFile?: string;
    /** Address of the sender. */
    readonly from: string;
    /** Addresses of the recipients. */
    readonly to: readonly string[];
  };
}
