/** Dependencies of the server. The daemon makes all of them. */
import type { IncomingMessage } from 'node:http';
import type { Authorizer, Clock, User } from '../apimachinery/index.ts';
import type { Auditor } from '../audit/index.ts';
import type { FailedLogins, ScopedAuthorizer } from '../auth/index.ts';
import type { PlatformConfigSource } from '../config/index.ts';
import type { TenantUsage } from '../costs/index.ts';
import type { OfferedTips, ServedHooks } from '../git/index.ts';
import type { History, Planner } from '../history/index.ts';
import type { KindTable } from '../kinds/index.ts';
import type { OidcServer } from '../oidc-server/index.ts';
import type {
  Approval,
  ObjectRegistry,
  PlannedEncryption,
  Suspensions,
  SyncReport,
} from '../registry/index.ts';
import type { SecretSyncReport } from '../secret-store-sync/index.ts';
import type { SignIn } from '../sign-in/index.ts';
import type { Store } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import type { ObjectState, Previewed, PreviewRequest } from '../tenant-sync/index.ts';
import type { HealthChecks } from './documents/health.ts';
import type { TokenDocuments } from './documents/tokens.ts';
import type { FlowClassifier } from './filters/flow-classifier.ts';

/** Returns the user of a bearer token, or the reason for a refusal. */
export type Authenticate = (token: string) => Holder | { readonly message: string };

export interface Holder {
  readonly user: User;
  /** End of the access key in milliseconds since the epoch. Absent: unknown. Infinity: never. */
  readonly keyExpiresAt?: number;
}

/** Users as their requests have them. Undefined: there is none, or it is disabled. */
export interface Identities {
  user(name: string): User | undefined;
  team(name: string): User | undefined;
  /** Holder of an access key that works, with its scope. */
  key(name: string): User | undefined;
  /** Users and groups of a team. */
  members(
    team: string,
  ): { readonly users: readonly string[]; readonly groups: readonly string[] } | undefined;
}

/** Signatures of commits of the repository. */
export interface SignatureService {
  /** In the order of the ids. */
  of(ids: readonly string[]): Promise<readonly CommitSignature[]>;
}

/** As judged with the keys of now. */
export interface CommitSignature {
  readonly state: 'unsigned' | 'trusted' | 'untrusted' | 'unchecked';
  readonly signer?: string;
  readonly message?: string;
}

/** The hosted repository. */
export interface GitService {
  readonly repository: { readonly gitDir: string };
  /** Reason for refusing pushes, with the place to push to instead; undefined: pushes are accepted. */
  readonly readOnly: string | undefined;
  /** Refs, or folders of refs, that the daemon lands in the place of git. */
  readonly procReceive: readonly string[];
  /** Tips that a pusher is offered in the place of the served branch. */
  offered(): Promise<OfferedTips>;
  /**
   * Begins a push of a user. `userNow`: the same user later; undefined: the request would not pass any
   * more.
   */
  beginPush(pusher: { readonly user: User; userNow(): User | undefined }): {
    readonly hooks: ServedHooks;
    /** Resolves when readers see the result of the push. */
    end(): Promise<PushOutcome | undefined>;
  };
}

/** Result of a push. */
export interface PushOutcome {
  readonly result: 'accepted' | 'refused';
  /** New commit of the branch. */
  readonly revision: string | undefined;
  /** Commit of the branch before the push. */
  readonly previous: string | undefined;
}

/** The sync of the branch into the state. */
export interface SyncService {
  readonly report: SyncReport;
  /** Fetches from the remote. Absent: the branch has no remote. */
  readonly refresh?: () => Promise<void>;
  /** Fetches in the background; calls during a fetch share it. Never rejects. */
  readonly look?: () => void;
  /** Applies the commits that the branch has by now. Never rejects. */
  catchUp(): Promise<void>;
  approve(approval: Approval): Promise<void>;
  /** Time of the last new revision that readers saw, in milliseconds; undefined: none since the start. */
  lastApplied(): number | undefined;
  /** Reason why the branch cannot be followed now; undefined: it can. */
  problem(): string | undefined;
  /** Address of the pull request of pending writes; undefined: none is known. */
  review?(): string | undefined;
}

/** Replicas that etcd lists now. */
export interface ReplicaSummary {
  readonly leader: string;
  readonly items: readonly {
    readonly id: string;
    readonly url: string;
    readonly version: string;
  }[];
}

/** Webhooks of a forge. */
export interface HookService {
  readonly secret: string;
  /** Called when a sender that knows the secret reports a push. Returns at once. */
  notice(): void;
}

/** The built-in OpenID provider. */
export interface OidcService extends Pick<OidcServer, 'isOn' | 'handle'> {
  /** The user whose session the browser has. */
  userOf(request: IncomingMessage): User | undefined;
}

/** The sync of secrets with secret stores. */
export interface SecretStoreService {
  report(): SecretSyncReport;
  /** True if a store of the name is configured. */
  has(store: string): boolean;
  /** Resolves after a cycle over the secrets of one store, or of all stores, that began after this call. Never rejects. */
  syncNow(options: {
    readonly allowDeletions: boolean;
    readonly store?: string | undefined;
  }): Promise<void>;
}

/** The part of the store that reads use. */
export type ServedStore = Pick<
  Store,
  'resourceVersion' | 'get' | 'list' | 'listAt' | 'watch' | 'observe'
>;

export interface ServerDependencies {
  readonly kinds: KindTable;
  readonly store: ServedStore;
  readonly registry: ObjectRegistry;
  readonly history: History;
  readonly planner: Planner;
  readonly signatures: SignatureService;
  readonly authenticate: Authenticate;
  readonly failedLogins: FailedLogins;
  readonly signIn: SignIn;
  readonly authorizer: Authorizer;
  /** The rights of `authorizer` as a list of rules. */
  readonly rights: ScopedAuthorizer;
  readonly identities: Identities;
  readonly git: GitService;
  /** Replicas of the platform, as the leader knows them. Absent: a single daemon. */
  readonly replicas?: (() => ReplicaSummary) | undefined;
  readonly sync: SyncService;
  /** Absent: the branch has no remote, and so no webhooks. */
  readonly hooks?: HookService | undefined;
  readonly oidc: OidcService;
  readonly health: HealthChecks;
  /** Shared by all servers of the daemon. */
  readonly fairness: FlowClassifier;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly version: string;
  /** `/kubernetes/management`. */
  readonly root: string;
  readonly config: ServedConfig;
  /** The audit log. */
  readonly audit: Pick<Auditor, 'isOn' | 'begin' | 'relay' | 'find'>;
  /** Values that writes encrypt by `.sops.yaml`. Absent: writes are decided elsewhere. */
  readonly encryption?: Pick<PlannedEncryption, 'pathsOf'> | undefined;
  readonly tokens: TokenDocuments & TokenReviewer;
  /** Absent: the clusters take no endpoint tokens. */
  readonly tokenHolders?: TokenAuthenticator | undefined;
  /** Clusters of tenants. */
  readonly clusters: ClusterRoots;
  readonly tenants: TenantService;
  readonly costs: CostService;
  readonly secretStore: SecretStoreService;
  /** Parts that a user has stopped for a time. */
  readonly suspensions: Pick<Suspensions, 'list' | 'suspend' | 'resume'>;
  /** Namespaces, and events of controllers. */
  readonly core: Pick<ClusterRoot, 'kinds' | 'store' | 'registry'>;
  readonly clientState: ClientStateRoot;
}

/** State of clients: leases, releases of Helm, ConfigMaps. */
export interface ClientStateRoot extends Pick<ClusterRoot, 'kinds'> {
  /** Opens the store at the first call. */
  open(): Promise<Pick<ClusterRoot, 'store' | 'registry'>>;
}

/** The endpoint sync of tenants. */
export interface TenantService {
  /** True if there is a tenant of the name. */
  has(tenant: string): boolean;
  /** State of each object of the tenant; undefined: the tenant syncs nothing. */
  states(tenant: string): readonly ObjectState[] | undefined;
  /** Applies the patches of a tenant to given objects; undefined: the tenant does not exist. */
  preview(tenant: string, request: PreviewRequest): Promise<readonly Previewed[]> | undefined;
}

/** Observations of the clusters of tenants that costs are computed from. */
export interface CostService {
  /** Names of all tenants, sorted. */
  names(): readonly string[];
  /** In the order of the names. Never rejects: `unknown` has the reason. */
  usage(names: readonly string[]): Promise<readonly TenantUsage[]>;
}

/** The dependencies that each cluster of a tenant has for itself. */
export interface ClusterRoot
  extends Pick<ServerDependencies, 'kinds' | 'store' | 'registry' | 'authorizer' | 'root'> {
  /** True if the user may do nothing in the cluster. */
  isHiddenFrom(user: User): boolean;
}

export interface ClusterRoots {
  /** Path above `virtualcluster/<name>` and `cluster/<name>`. */
  readonly prefix: string;
  /** The cluster that a URL leads to; undefined for every other URL and for unknown clusters. */
  find(url: string): ClusterRoot | undefined;
}

export interface TokenReviewer {
  /** Returns the claims of a valid endpoint token; rejects for any other token. */
  review(token: string, audiences: readonly string[]): Promise<Readonly<Record<string, unknown>>>;
}

export interface TokenAuthenticator {
  /** Resolves when `authenticate` can judge the token; undefined: it can already. Never rejects. */
  prepare(token: string): Promise<void> | undefined;
  /** Undefined: the text does not have the form of an endpoint token. */
  authenticate(token: string): ReturnType<Authenticate> | undefined;
}

/** The configuration of the platform. */
export interface ServedConfig extends PlatformConfigSource {
  /** True if a file beside git has the configuration. A write to a Config then changes nothing. */
  readonly fromFile: boolean;
}
