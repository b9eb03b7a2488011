/**
 * The configuration of the platform as it is in force (spec section 2.8), with defaults.
 * Generated from schemas/config-status.json by `npx tsx scripts/docs.ts`.
 */
/** The structured configuration: what `spec.raw` of a Config holds. */
export interface PlatformConfig {
  /** How people sign in. */
  readonly auth: AuthConfig;
  /** Configure clients in the user interface or in secrets instead. The built-in OpenID provider. */
  readonly oidc?: {
    /** If true the platform is an OpenID provider. */
    readonly enabled?: boolean;
    /** If true `*` is allowed in the redirect URIs of clients. */
    readonly wildcardRedirect?: boolean;
    /** Clients that may use the provider. */
    readonly clients?: readonly {
      /** Name of the client. */
      readonly name?: string;
      /** Client id. */
      readonly clientId?: string;
      /** Client secret. `$NAME` takes it from the environment. */
      readonly clientSecret?: string;
      /** Where people may be sent back to. Matched exactly, unless the client is public. */
      readonly redirectURIs?: readonly string[];
    }[];
  };
  /** Applications that people can install. */
  readonly apps?: {
    /** If true the prepared applications are left out. */
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
      /** If true the certificate of the repository is not checked. */
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
      /** URL of an icon. Absent: the icon of the chart. */
      readonly iconUrl?: string;
      /** URL of a readme. Absent: worked out from a public chart hub. */
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
  /** If true the configuration cannot be changed through the user interface and the config endpoint. */
  readonly disableConfigEndpoint?: boolean;
  /** If true `/version` needs authentication. Tenant clusters need version 0.27 or later. */
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
    /** If false such builds are not possible. */
    readonly enabled?: boolean;
    /** Number of replicas. */
    readonly replicas?: number;
    /** Compute resources of a container. */
    readonly resources?: ComputeResourcesConfig;
  };
  /** An external database for the platform. */
  readonly database?: {
    /** If true the external database is used. */
    readonly enabled?: boolean;
    /** How to reach the database, credentials included. `$NAME` takes it from the environment. */
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

/** The dashboard of costs and savings. */
export interface CostControlConfig {
  /** If true the dashboard is shown and its metrics are collected. */
  readonly enabled?: boolean;
  /** What runs once for the platform. */
  readonly global?: {
    /** Collects the metrics of all connected clusters. */
    readonly metrics?: CostControlMetrics;
  };
  /** What runs in each connected cluster; a cluster may override it. */
  readonly cluster?: {
    /** Collects the metrics of the cluster. */
    readonly metrics?: CostControlMetrics;
    /** Computes the costs of the cluster. */
    readonly costBackend?: {
      /** Number of replicas. */
      readonly replicas?: number;
      /** Compute resources of a container. */
      readonly resources?: ComputeResourcesConfig;
    };
  };
  /** Prices to calculate with. */
  readonly settings?: {
    /** Currency of all prices. */
    readonly priceCurrency?: string;
    /** Average price of the processors of a node. */
    readonly averageCPUPricePerNode?: CostControlPrice;
    /** Average price of the memory of a node. */
    readonly averageRAMPricePerNode?: CostControlPrice;
    /** Graphics processors. */
    readonly gpuSettings?: {
      /** If true the dashboard shows graphics processors. */
      readonly enabled?: boolean;
      /** Average price of a graphics processor. */
      readonly averageGPUPrice?: CostControlPrice;
    };
    /** Price of the control plane of one cluster. */
    readonly controlPlanePricePerCluster?: CostControlPrice;
  };
}

/** A price for a span of time. */
export interface CostControlPrice {
  /** The amount. */
  readonly price?: number;
  /** The span of time, such as `Monthly`. */
  readonly timePeriod?: string;
}

/** Storage of metrics. */
export interface CostControlMetrics {
  /** Number of replicas. */
  readonly replicas?: number;
  /** Compute resources of a container. */
  readonly resources?: ComputeResourcesConfig;
  /** How long metrics are kept, as in `30d` or `1y`. */
  readonly retention: string;
  /** The volume that holds the metrics. */
  readonly storage?: {
    /** Storage class. `-` or empty turns dynamic provisioning off; absent or null takes the default of the cluster. */
    readonly storageClass?: string | null;
    /** Size of the volume, as in `50Gi`. */
    readonly size?: string;
  };
}

/** Compute resources of a container. */
export interface ComputeResourcesConfig {
  /** The most that may be used, by resource name: `cpu: 500m`, `memory: 1Gi`. */
  readonly limits?: Readonly<Record<string, string | number>>;
  /** The least that is needed, by resource name. Takes the limits where it is absent; must not exceed them. */
  readonly requests?: Readonly<Record<string, string | number>>;
  /** Entries of the pod's resource claims that the container uses. */
  readonly claims?: readonly {
    /** Name of an entry in the resource claims of the pod. */
    readonly name: string;
    /** One request within that claim. Empty makes all of the claim available. */
    readonly request?: string;
  }[];
}

/** Settings of the hosted edition. */
export interface CloudConfig {
  /** Channel that decides which versions apply. */
  readonly releaseChannel?: string;
  /** When maintenance may happen. */
  readonly maintenanceWindow?: {
    /** Day of the week. */
    readonly dayOfWeek?:
      | 'Monday'
      | 'Tuesday'
      | 'Wednesday'
      | 'Thursday'
      | 'Friday'
      | 'Saturday'
      | 'Sunday';
    /** Hours of that day in UTC, as in `02:00-03:00`. */
    readonly timeWindow?: string;
  };
}

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

/** Look of the user interface. */
export interface UISettingsConfig {
  /** Logo. Browsers must be able to load it. */
  readonly logoURL?: string;
  /** Icon of the page. Browsers must be able to load it. */
  readonly faviconURL?: string;
  /** Small logo. Browsers must be able to load it. */
  readonly smallLogoURL?: string;
  /** Background of the logo, as a CSS color value. */
  readonly logoBackgroundColor?: string;
  /** HTML that people see when they sign in. */
  readonly legalTemplate?: string;
  /** Primary color, as a CSS color value. */
  readonly primaryColor?: string;
  /** Color of the sidebar, as a CSS color value. */
  readonly sidebarColor?: string;
  /** Accent color, as a CSS color value. */
  readonly accentColor?: string;
  /** URLs of further CSS files. */
  readonly customCss?: readonly string[];
  /** URLs of further JavaScript files. */
  readonly customJavaScript?: readonly string[];
  /** Further buttons of the navigation bar. */
  readonly navBarButtons?: readonly {
    /** Where the button is. */
    readonly position: 'TopStart' | 'TopEnd' | 'BottomStart' | 'BottomEnd';
    /** Text on the button. */
    readonly text?: string;
    /** Where the button leads. */
    readonly link?: string;
    /** URL of an icon. */
    readonly icon?: string;
  }[];
  /** What the user interface may load from elsewhere. */
  readonly externalURLs?: {
    /** If true requests of the user interface to other hosts are blocked. */
    readonly block?: boolean;
    /** URLs, or the names of prepared modules (features and licenses, tag manager, changelog), that may be called all the same. Only matters when `block` is true. */
    readonly allow?: readonly string[];
  };
}

/** The audit log. */
export interface AuditConfig {
  /** If true requests are logged as the policy says. */
  readonly enabled?: boolean;
  /** If true agents do not send their audit logs to the platform. */
  readonly disableAgentSyncBack?: boolean;
  /** Prepared policy, from 1 (little) to 4 (bodies of requests and answers); 0 is none. Not together with `policy`. */
  readonly level?: number;
  /** What is logged. Without a policy nothing is. */
  readonly policy?: {
    /** The first rule that matches a request decides. A request that none matches is not logged. */
    readonly rules?: readonly AuditRule[];
    /** Stages that no event is made for. */
    readonly omitStages?: readonly (
      | 'RequestReceived'
      | 'ResponseStarted'
      | 'ResponseComplete'
      | 'Panic'
    )[];
  };
  /** Where events are stored, credentials included. `$NAME` takes it from the environment. */
  readonly dataStoreEndpoint?: string;
  /** Hours that events are kept in the data store. */
  readonly dataStoreTTL?: number;
  /** Directory or file of the log. Needed when auditing is enabled. Older files stay beside it. */
  readonly path?: string;
  /** Days that older files are kept, by the time in their name. Absent: for ever. */
  readonly maxAge?: number;
  /** Older files that are kept. Absent: all. */
  readonly maxBackups?: number;
  /** Megabytes at which a new file begins. */
  readonly maxSize: number;
  /** If true older files are compressed with gzip. */
  readonly compress: boolean;
}

/** Which requests are logged, and how much of them. */
export interface AuditRule {
  /** How much is logged. */
  readonly level: 'None' | 'Metadata' | 'Request' | 'RequestResponse';
  /** User names. Empty means everyone. */
  readonly users?: readonly string[];
  /** Groups of the user. Empty means all. */
  readonly userGroups?: readonly string[];
  /** Verbs. Empty means every verb. */
  readonly verbs?: readonly string[];
  /** Kinds of resources. Empty means every kind. */
  readonly resources?: readonly AuditResourcesConfig[];
  /** Namespaces. The empty text stands for objects that have none; an empty list means every namespace. */
  readonly namespaces?: readonly string[];
  /** URL paths. `*` is allowed only as the whole last step. */
  readonly nonResourceURLs?: readonly string[];
  /** Stages that no event is made for, in addition to those of the policy. */
  readonly omitStages?: readonly (
    | 'RequestReceived'
    | 'ResponseStarted'
    | 'ResponseComplete'
    | 'Panic'
  )[];
  /** Where requests go. Empty means everywhere. */
  readonly requestTargets?: readonly (
    | 'Management'
    | 'Cluster'
    | 'VCluster'
    | 'ProjectSpace'
    | 'ProjectVCluster'
  )[];
  /** Clusters. If set, only requests to these clusters are logged. Empty means no restriction. */
  readonly clusters?: readonly string[];
}

/** Kinds of resources in one API group. */
export interface AuditResourcesConfig {
  /** API group. Empty is the core group, `*` every group. */
  readonly group?: string;
  /** Plural names. `*` stands for all, `pods/*` for the subresources of pods, `*\/scale` for every scale subresource. Empty means every resource in the group. */
  readonly resources?: readonly string[];
  /** Names of single objects. Needs `resources`; empty means every object. */
  readonly resourceNames?: readonly string[];
}

/** How people sign in. */
export interface AuthConfig {
  /** An OpenID Connect provider. */
  readonly oidc?: OIDCConfig;
  /** A hosted code-collaboration identity provider with organizations and teams. */
  readonly providerA?: ProviderAConfig;
  /** A hosted code-collaboration identity provider with groups. */
  readonly providerB?: ProviderBConfig;
  /** An identity provider with hosted domains and a directory of groups. */
  readonly providerC?: ProviderCConfig;
  /** An identity provider with tenants. */
  readonly providerD?: ProviderDConfig;
  /** A SAML 2.0 identity provider. */
  readonly saml?: SAMLConfig;
  /** A cluster manager whose users sign in with their API keys. */
  readonly providerE?: {
    /** Host name of the cluster manager. */
    readonly host?: string;
    /** API key of the form name:secret. `$NAME` takes it from the environment. */
    readonly bearerToken?: string;
    /** If true the certificate of the endpoint is not checked. */
    readonly insecure?: boolean;
  };
  /** Signing in with a password. */
  readonly password?: {
    /** If true nobody can sign in with a password. */
    readonly disabled?: boolean;
  };
  /** Further providers. */
  readonly connectors?: readonly {
    /** Part of the login URL; unique. */
    readonly id: string;
    /** Name that the login page shows. */
    readonly displayName?: string;
    /** An OpenID Connect provider. */
    readonly oidc?: OIDCConfig;
    /** A hosted code-collaboration identity provider with organizations and teams. */
    readonly providerA?: ProviderAConfig;
    /** A hosted code-collaboration identity provider with groups. */
    readonly providerB?: ProviderBConfig;
    /** An identity provider with hosted domains and a directory of groups. */
    readonly providerC?: ProviderCConfig;
    /** An identity provider with tenants. */
    readonly providerD?: ProviderDConfig;
    /** A SAML 2.0 identity provider. */
    readonly saml?: SAMLConfig;
  }[];
  /** If true a login does not make teams for groups that have none. */
  readonly disableTeamCreation: boolean;
  /** If true a login does not make users: whoever has no user object does not get in. */
  readonly disableUserCreation: boolean;
  /** Longest life of any access key, in seconds. 0 or absent: no limit. */
  readonly accessKeyMaxTTLSeconds?: number;
  /** Life of the keys that logins make, in seconds. Absent: 20 days; 0: no limit. */
  readonly loginAccessKeyTTLSeconds: number;
  /** Further headers of answers from the authentication endpoints. */
  readonly customHttpHeaders?: Readonly<Record<string, string>>;
  /** Regular expressions (RE2). Only groups that match one are saved with the user. Empty keeps all. */
  readonly groupsFilters?: readonly string[];
}

/** A SAML 2.0 identity provider. */
export interface SAMLConfig {
  /** Where responses arrive: `https://<platform host>/auth/saml/callback`. The Destination of a response must be exactly this. */
  readonly redirectURI?: string;
  /** Where login requests are posted to. */
  readonly ssoURL?: string;
  /** Signing certificates of the provider, as base64 of PEM: several while it changes them. Exactly one of `caData`, `ca` and `insecureSkipSignatureValidation`. */
  readonly caData?: string;
  /** Path of a PEM file with the signing certificates of the provider. It is read at every login. */
  readonly ca?: string;
  /** If true signatures are not checked. Anyone can then log in as anyone. */
  readonly insecureSkipSignatureValidation?: boolean;
  /** Attribute that holds the user name. */
  readonly usernameAttr?: string;
  /** Attribute that holds the mail address. */
  readonly emailAttr?: string;
  /** Attribute that holds the groups. */
  readonly groupsAttr?: string;
  /** Issuer of login requests, and the audience that responses must name. Both are `redirectURI` if it is not set. */
  readonly entityIssuer?: string;
  /** Issuer that responses must name. */
  readonly ssoIssuer?: string;
  /** If set, the groups are one text that is split at this; white space around them is left out. */
  readonly groupsDelim?: string;
  /** Only members of these groups get in. Needs `groupsAttr`. */
  readonly allowedGroups?: readonly string[];
  /** If true only the groups in `allowedGroups` are kept. */
  readonly filterGroups?: boolean;
  /** Format of the NameID to ask for: a whole URI or its last part, as in `emailAddress`. */
  readonly nameIDPolicyFormat: string;
}

/** An identity provider with tenants. */
export interface ProviderDConfig {
  /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
  readonly clientId?: string;
  /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
  readonly clientSecret?: string;
  /** Where the provider sends people back to: `https://<platform host>/auth/providerD/callback`. */
  readonly redirectURI?: string;
  /** Which accounts get in: `common` (personal, business and school), `consumers` (personal), `organizations` (business and school), or the uuid or name of one tenant. */
  readonly tenant: string;
  /** People must be members of one of these groups, which are named by display name or object id. Needs a single tenant. */
  readonly groups?: readonly string[];
  /** If true only security groups count. */
  readonly onlySecurityGroups?: boolean;
  /** If true only the groups in `groups` are kept. */
  readonly useGroupsAsWhitelist?: boolean;
}

/** An identity provider with hosted domains and a directory of groups. */
export interface ProviderCConfig {
  /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
  readonly clientId?: string;
  /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
  readonly clientSecret?: string;
  /** Where the provider sends people back to: `https://<platform host>/auth/providerC/callback`. */
  readonly redirectURI?: string;
  /** Scopes to ask for. */
  readonly scopes: readonly string[];
  /** If not empty, only users of these domains get in. */
  readonly hostedDomains?: readonly string[];
  /** If not empty, only members of these groups get in. Needs `serviceAccountFilePath`. */
  readonly groups?: readonly string[];
  /** Path of a service account file, used to read groups from the directory. */
  readonly serviceAccountFilePath?: string;
  /** Administrator that the service account stands in for when it reads groups. Needed with `serviceAccountFilePath`. */
  readonly adminEmail?: string;
}

/** A hosted code-collaboration identity provider with groups. */
export interface ProviderBConfig {
  /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
  readonly clientId?: string;
  /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
  readonly clientSecret?: string;
  /** Where the provider sends people back to: `https://<platform host>/auth/providerB/callback`. */
  readonly redirectURI?: string;
  /** Address of a self-hosted edition. Absent: the public one. */
  readonly baseURL?: string;
  /** Full paths of groups. Only these are kept, and whoever is in none of them does not get in. Absent: everybody gets in, with all groups. */
  readonly groups?: readonly string[];
}

/** A hosted code-collaboration identity provider with organizations and teams. */
export interface ProviderAConfig {
  /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
  readonly clientId?: string;
  /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
  readonly clientSecret?: string;
  /** Where the provider sends people back to: `https://<platform host>/auth/providerA/callback`. */
  readonly redirectURI?: string;
  /** Organizations to ask for groups, which are then named `organization:team`. If set, people must be members of at least one. Absent: everybody gets in, without groups. */
  readonly orgs?: readonly {
    /** Name of the organization as its address has it. */
    readonly name: string;
    /** Teams, by their names and not their slugs, of which one is enough to get in. Absent: any member of the organization. */
    readonly teams?: readonly string[];
  }[];
  /** Host of a self-hosted edition. */
  readonly hostName?: string;
  /** Root certificate of a self-hosted edition: a path, PEM, or base64 of PEM. */
  readonly rootCA?: string;
}

/** An OpenID Connect provider. */
export interface OIDCConfig {
  /** URL that the provider signs ID tokens with (the `iss` claim). Its configuration is discovered from there. */
  readonly issuerUrl?: string;
  /** Client that the tokens must be issued for. Only this one is trusted; the authorized-party claim is honoured. `$NAME` takes it from the environment. */
  readonly clientId?: string;
  /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
  readonly clientSecret?: string;
  /** Where the provider sends people back to: `https://<platform host>/auth/oidc/callback`. */
  readonly redirectURI?: string;
  /** Where the provider sends people after they logged out. */
  readonly postLogoutRedirectURI?: string;
  /** Path of a PEM file with the root certificate of the provider. */
  readonly caFile?: string;
  /** If true the certificate of the provider is not checked. */
  readonly insecureCa?: boolean;
  /** Claim that holds the preferred user name. */
  readonly preferredUsername?: string;
  /** Claim that becomes the name of the user on the platform. */
  readonly platformUsernameClaim?: string;
  /** Claim that becomes the id of the user. */
  readonly usernameClaim?: string;
  /** Claim that holds the mail address. */
  readonly emailClaim?: string;
  /** Further claims to keep. */
  readonly allowedExtraClaims?: readonly string[];
  /** Put in front of user names that come from claims. */
  readonly usernamePrefix?: string;
  /** Claim that holds the groups: a text or a list of texts. */
  readonly groupsClaim?: string;
  /** If not empty, only members of at least one of these groups get in. */
  readonly groups?: readonly string[];
  /** Scopes to ask for. Empty means `email` and `profile`. */
  readonly scopes: readonly string[];
  /** If true further data is read from the UserInfo endpoint. */
  readonly getUserInfo?: boolean;
  /** Put in front of group names that come from claims. */
  readonly groupsPrefix?: string;
  /** Label of the provider in the user interface; changes nothing else. */
  readonly type?: string;
  /** Value of the `resource` parameter of requests to the token endpoint. */
  readonly resource?: string;
}
