/**
 * A part of the configuration, with defaults.
 * Generated from schemas/secret-store.json by `npx tsx scripts/docs.ts`.
 */
/** The external secret store. */
export interface SecretStoreConfig {
  /** Name of the store, which annotations of secrets refer to. Required in `secretStores`; the store of `secretStore` has the name `default`. */
  readonly name?: string;
  /** If true, secrets are synchronised with the store. Authentication methods and engines for virtual clusters are not set up. */
  readonly enabled?: boolean;
  /** Address of the store, as in `https://store.example.com:8200`; a path that follows is a prefix of every request. Absent: the value of the environment. */
  readonly address?: string;
  /** If true, the certificate of the store is not verified. */
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
  /** Authentication of the platform to the store: a token, or one login. Absent: `BAO_TOKEN`, else `VAULT_TOKEN`, in the environment. */
  readonly auth?: {
    /** Token. `$NAME` takes it from the environment. */
    readonly token?: string;
    /** Secret that holds the token; used when `token` is absent. */
    readonly tokenSecretRef?: {
      /** Name of the secret. */
      readonly name?: string;
      /** Key inside the secret. */
      readonly key: string;
      /** If true, the secret may be absent. */
      readonly optional?: boolean;
    };
    /** Path of a file with the token, in a folder for credentials. Read again when it changes. */
    readonly tokenFile?: string;
    /** Login with AppRole. */
    readonly appRole?: {
      /** Path of the auth method below `auth/`. Absent: `approle`. */
      readonly mount?: string;
      /** ID of the role. */
      readonly roleId: string;
      /** Secret ID. `$NAME` takes it from the environment. Absent, like the next two: the role needs none. */
      readonly secretId?: string;
      /** Path of a file with the secret ID, in a folder for credentials. Read again when it changes. */
      readonly secretIdFile?: string;
      /** SharedSecret of the namespace `default` that holds the secret ID. */
      readonly secretIdSecretRef?: {
        /** Name of the secret. */
        readonly name?: string;
        /** Key inside the secret. */
        readonly key: string;
        /** If true, the secret may be absent. */
        readonly optional?: boolean;
      };
    };
    /** Login with the token of the service account of the pod. */
    readonly kubernetes?: {
      /** Path of the auth method below `auth/`. Absent: `kubernetes`. */
      readonly mount?: string;
      /** Name of the role. */
      readonly role: string;
      /** Path of a file with the token of a service account, in a folder for credentials. Read for each login. Absent: where Kubernetes mounts it. */
      readonly tokenFile?: string;
    };
    /** Login with a JWT of another issuer. */
    readonly jwt?: {
      /** Path of the auth method below `auth/`. Absent: `jwt`. */
      readonly mount?: string;
      /** Name of the role. Absent: the default role of the auth method. */
      readonly role?: string;
      /** Path of a file with the JWT, in a folder for credentials. Read for each login. */
      readonly tokenFile?: string;
      /** SharedSecret of the namespace `default` that holds the JWT. */
      readonly tokenSecretRef?: {
        /** Name of the secret. */
        readonly name?: string;
        /** Key inside the secret. */
        readonly key: string;
        /** If true, the secret may be absent. */
        readonly optional?: boolean;
      };
    };
    /** Login with a user name and a password. */
    readonly userpass?: {
      /** Path of the auth method below `auth/`. Absent: `userpass`. */
      readonly mount?: string;
      /** Name of the user. */
      readonly username: string;
      /** Password. `$NAME` takes it from the environment. */
      readonly password?: string;
      /** Path of a file with the password, in a folder for credentials. Read again when it changes. */
      readonly passwordFile?: string;
      /** SharedSecret of the namespace `default` that holds the password. */
      readonly passwordSecretRef?: {
        /** Name of the secret. */
        readonly name?: string;
        /** Key inside the secret. */
        readonly key: string;
        /** If true, the secret may be absent. */
        readonly optional?: boolean;
      };
    };
  };
  /** Decision on a secret whose store was restored from an older copy. Absent: `Hold`, which leaves it to a person, `PreferGit` pushes what git has, `PreferStore` takes the older values. The annotation `gitplane.dev/secret-store-store-older` of a secret wins. */
  readonly onStoreOlder?: 'Hold' | 'PreferGit' | 'PreferStore';
  /** Interval between reads of the store, as in `30s` or `1m`. */
  readonly syncInterval: string;
  /** Whole paths of the store whose secrets become objects of a namespace, tied to the store. */
  readonly pulls?: readonly {
    /** Name of the pull, unique in the store. Objects that it makes have it as the label `gitplane.dev/secret-store-pull`. */
    readonly name: string;
    /** Path of the mount, as in `secret`. */
    readonly mount: string;
    /** Folder below the mount. Absent: the whole mount. */
    readonly path?: string;
    /** If false, folders below the path are left out. */
    readonly recursive: boolean;
    /** RE2 expression that has to match in the path of a secret below `path`. Absent: all secrets. */
    readonly match?: string;
    /** RE2 expression; a secret whose path below `path` it matches is left out. */
    readonly exclude?: string;
    /** Namespace of the objects. */
    readonly namespace: string;
    /** Kind of the objects. */
    readonly kind: 'SharedSecret' | 'ProjectSecret';
    /** Name of an object: `{path}` is the path below `path`, `{name}` its last part, in lower case and with `-` for what a name cannot have. */
    readonly nameTemplate: string;
    /** Labels of the objects. */
    readonly labels?: Readonly<Record<string, string>>;
    /** Least time between two listings, as in `10m`. Absent: each cycle lists. */
    readonly interval?: string;
    /** Deletion policy of the objects that are made from now on, for a secret that is deleted in the store. */
    readonly deletionPolicy: 'Retain' | 'Delete';
    /** Most objects of the pull. */
    readonly limit: number;
  }[];
}
