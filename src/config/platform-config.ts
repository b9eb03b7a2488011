/**
 * The configuration of the platform as it is in force (spec section 2.8), with defaults.
 * Generated from schemas/config-status.json by `npx tsx scripts/docs.ts`.
 */
import type { AuditConfig } from './sections/audit.ts';
import type { AuthConfig } from './sections/auth.ts';
import type { CloudConfig } from './sections/cloud.ts';
import type { ComputeResourcesConfig } from './sections/compute-resources.ts';
import type { CostControlConfig } from './sections/cost-control.ts';
import type { NotificationConfig } from './sections/notification.ts';
import type { SecretStoreConfig } from './sections/secret-store.ts';
import type { UISettingsConfig } from './sections/ui-settings.ts';

/** The structured configuration: what `spec.raw` of a Config holds. */
export interface PlatformConfig {
  /** Sign-in of users. */
  readonly auth: AuthConfig;
  /** Configure clients in the user interface or in secrets instead. The built-in OpenID provider. */
  readonly oidc?: {
    /** If true, the platform is an OpenID provider. */
    readonly enabled?: boolean;
    /** If true, `*` is allowed in the redirect URIs of clients. */
    readonly wildcardRedirect?: boolean;
    /** Clients that may use the provider. */
    readonly clients?: readonly {
      /** Name of the client. */
      readonly name?: string;
      /** Client id. */
      readonly clientId?: string;
      /** Client secret. `$NAME` takes it from the environment. */
      readonly clientSecret?: string;
      /** Addresses that users may be redirected to. Matched exactly, unless the client is public. */
      readonly redirectURIs?: readonly string[];
    }[];
  };
  /** Applications that people can install. */
  readonly apps?: {
    /** If true, the prepared applications are left out. */
    readonly noDefault?: boolean;
    /** Chart repositories. */
    readonly repositories?: readonly {
      /** Name of the repository. */
      readonly name?: string;
      /** Address of the repository. */
      readonly url?: string;
      /** User name. */
      readonly username?: string;
      /** Password. `$NAME` takes it from the environment. */
      readonly password?: string;
      /** If true, the certificate of the repository is not verified. */
      readonly insecure?: boolean;
    }[];
    /** Applications to show first. */
    readonly predefinedApps?: readonly {
      /** Repository and name of the chart, as in `repository/chart`. */
      readonly chart?: string;
      /** Version that is selected at first. */
      readonly initialVersion?: string;
      /** Values that are filled in at first. */
      readonly initialValues?: string;
      /** Clusters that the application is shown for. Empty means all. */
      readonly clusters?: readonly string[];
      /** Title. Absent: the name of the chart. */
      readonly title?: string;
      /** URL of an icon. The icon of the chart is not read: a write without one is warned. */
      readonly iconUrl?: string;
      /** URL of a readme. Absent: the page of the chart on Artifact Hub. */
      readonly readmeUrl?: string;
    }[];
  };
  /** The audit log. */
  readonly audit?: AuditConfig;
  /** Host name of the platform, without a scheme. */
  readonly platformHost?: string;
  /** Prefix of the namespaces of projects. */
  readonly projectNamespacePrefix: string;
  /** No longer used. Sub-domain of the form `*.workspace.<domain>`. */
  readonly workspaceSubDomain?: string;
  /** Look of the user interface. */
  readonly uiSettings?: UISettingsConfig;
  /** The external secret store. */
  readonly secretStore?: SecretStoreConfig;
  /** Further secret stores by name, each with the fields of `secretStore`. A secret names its store with the annotation `gitplane.dev/secret-store`. */
  readonly secretStores?: readonly SecretStoreConfig[];
  /** Receivers of notifications about the platform. */
  readonly notifications?: readonly NotificationConfig[];
  /** If true, the user interface and the config endpoint cannot change the configuration. */
  readonly disableConfigEndpoint?: boolean;
  /** If true, `/version` needs authentication. Tenant clusters need version 0.27 or later. */
  readonly authenticateVersionEndpoint?: boolean;
  /** Settings of the hosted edition. */
  readonly cloud?: CloudConfig;
  /** The dashboard of costs and savings. */
  readonly costControl?: CostControlConfig;
  /** The database of the platform. */
  readonly platformDB?: {
    /** Storage class of its volume. */
    readonly storageClass?: string;
  };
  /** Builds images from devcontainer definitions. */
  readonly imageBuilder?: {
    /** If false, such builds are not possible. */
    readonly enabled?: boolean;
    /** Number of replicas. */
    readonly replicas?: number;
    /** Compute resources of a container. */
    readonly resources?: ComputeResourcesConfig;
  };
  /** An external database for the platform. */
  readonly database?: {
    /** If true, the external database is used. */
    readonly enabled?: boolean;
    /** Address of the database, credentials included. `$NAME` takes it from the environment. */
    readonly dataSource?: string;
    /** Identity provider to authenticate to the database with. */
    readonly identityProvider?: string;
    /** Path of the client key. */
    readonly keyFile?: string;
    /** Path of the client certificate. */
    readonly certFile?: string;
    /** Path of the root certificate. */
    readonly caFile?: string;
    /** Further arguments. */
    readonly extraArgs?: readonly string[];
  };
}
