/**
 * A part of the configuration, with defaults.
 * Generated from schemas/secret-store.json by `npx tsx scripts/docs.ts`.
 */
/** The external secret store. */
export interface SecretStoreConfig {
  /** If true secrets are synchronised with the store. Authentication methods and engines for virtual clusters are not set up. */
  readonly enabled?: boolean;
  /** Address of the store, as in `https://store.example.com:8200`; a path that follows is a prefix of every request. Absent: taken from the environment. */
  readonly address?: string;
  /** If true the certificate of the store is not checked. */
  readonly skipTLSVerify?: boolean;
  /** Path of a PEM file with the authorities of the store, in place of those of the system. Read again when it changes. Absent, like `caData`: `BAO_CACERT`, else `VAULT_CACERT`, in the environment. */
  readonly caFile?: string;
  /** The authorities of the store as PEM, or base64 of PEM, in place of `caFile`. */
  readonly caData?: string;
  /** Path of a PEM file with the client certificate and its chain. Read again when it changes. Absent, like `clientCertData`: `BAO_CLIENT_CERT`, else `VAULT_CLIENT_CERT`, in the environment. */
  readonly clientCertFile?: string;
  /** The client certificate and its chain as PEM, or base64 of PEM, in place of `clientCertFile`. */
  readonly clientCertData?: string;
  /** Path of a PEM file with the private key of the client certificate, in a folder for credentials. Read again when it changes. Absent, like `clientKeyData`: `BAO_CLIENT_KEY`, else `VAULT_CLIENT_KEY`, in the environment. */
  readonly clientKeyFile?: string;
  /** The private key of the client certificate as PEM, or base64 of PEM, in place of `clientKeyFile`. `$NAME` takes it from the environment. */
  readonly clientKeyData?: string;
  /** Namespace inside the store. */
  readonly namespace?: string;
  /** How the platform authenticates to the store. */
  readonly auth?: {
    /** Token. `$NAME` takes it from the environment. */
    readonly token?: string;
    /** Secret that holds the token; used when `token` is absent. */
    readonly tokenSecretRef?: {
      /** Name of the secret. */
      readonly name?: string;
      /** Key inside the secret. */
      readonly key: string;
      /** If true the secret may be absent. */
      readonly optional?: boolean;
    };
  };
  /** How often the store is read, as in `30s` or `1m`. */
  readonly syncInterval: string;
}
