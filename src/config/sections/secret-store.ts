/**
 * A part of the configuration, with defaults.
 * Generated from schemas/secret-store.json by `npx tsx scripts/docs.ts`.
 */
/** The external secret store. */
export interface SecretStoreConfig {
  /** If true secrets are synchronised with the store. Authentication methods and engines for virtual clusters are not set up. */
  readonly enabled?: boolean;
  /** Address of the store. Absent: taken from the environment. */
  readonly address?: string;
  /** If true the certificate of the store is not checked. */
  readonly skipTLSVerify?: boolean;
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
