/** What the server is handed; it makes nothing of this itself. */
import type { IncomingMessage } from 'node:http';
import type { Authorizer, Clock, User } from '../apimachinery/index.ts';
import type { Auditor } from '../audit/index.ts';
import type { FailedLogins, ScopedAuthorizer } from '../auth/index.ts';
import type { PlatformConfigSource } from '../config/index.ts';
import type { History, Planner } from '../history/index.ts';
import type { KindTable } from '../kinds/index.ts';
import type { OidcServer } from '../oidc-server/index.ts';
import type { Approval, ObjectRegistry, SyncReport } from '../registry/index.ts';
import type { SecretSyncReport } from '../secret-store-sync/index.ts';
import type { SignIn } from '../sign-in/index.ts';
import type { Store } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import type { ObjectState, Previewed, PreviewRequest } from '../tenant-sync/index.ts';
import type { HealthChecks } from './documents/health.ts';
import type { TokenDocuments } from './documents/tokens.ts';
import type { FlowClassifier } from './filters/flow-classifier.ts';

/** Who a bearer token stands for, or why it stands for nobody. */
export type Authenticate = (token: string) => Holder | { readonly message: string };

export interface Holder {
  readonly user: User;
  /** When its access key ends, in milliseconds since the epoch; absent or Infinity: not known, or never. */
  readonly keyExpiresAt?: number;
}

/** What the server needs to know of the hosted repository. */
export interface GitService {
  readonly repository: { readonly gitDir: string };
  /** Why nobody can push here, and where to push instead; undefined where one can. */
  readonly readOnly: string | undefined;
  /** Begins a push of a user; its hook knows the user by the environment returned. */
  beginPush(user: User): {
    readonly env: Readonly<Record<string, string>>;
    /** Resolves when readers see what the push did. */
    end(): Promise<PushOutcome | undefined>;
  };
}

/** What a push did; undefined: it was never judged. */
export interface PushOutcome {
  readonly result: 'accepted' | 'refused';
  /** Where the branch was to go, and where it was. */
  readonly revision: string | undefined;
  readonly previous: string | undefined;
}

/** What the server needs to know of the branch. */
export interface SyncService {
  readonly report: SyncReport;
  /** Looks for news where the branch comes from, if that is elsewhere. */
  readonly refresh?: () => Promise<void>;
  /** The same in the background, however often it is asked for. Never rejects. */
  readonly look?: () => void;
  /** Follows the branch to where it is now. Never rejects. */
  catchUp(): Promise<void>;
  approve(approval: Approval): Promise<void>;
  /** When readers last saw a new revision, in milliseconds; undefined: not since the start. */
  lastApplied(): number | undefined;
  /** Why the branch cannot be followed now; undefined: it can. */
  problem(): string | undefined;
}

/** What the server needs to know of webhooks. */
export interface HookService {
  readonly secret: string;
  /** Somebody who knows the secret says that the branch may have moved. Returns at once. */
  notice(): void;
}

/** What the server needs to know of the provider. */
export interface OidcService extends Pick<OidcServer, 'isOn' | 'handle'> {
  /** Whoever is signed in in the browser that asks. */
  userOf(request: IncomingMessage): User | undefined;
}

/** What the server needs to know of the sync of secrets. */
export interface SecretStoreService {
  report(): SecretSyncReport;
  /** True if a store of the name is configured. */
  has(store: string): boolean;
  /** Resolves after a cycle over all secrets that began after this call, of one store or of all. Never rejects. */
  syncNow(options: {
    readonly allowDeletions: boolean;
    readonly store?: string | undefined;
  }): Promise<void>;
}

/** What reading takes. */
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
  readonly authenticate: Authenticate;
  readonly failedLogins: FailedLogins;
  readonly signIn: SignIn;
  readonly authorizer: Authorizer;
  /** The same rights as rules. */
  readonly rights: ScopedAuthorizer;
  readonly git: GitService;
  readonly sync: SyncService;
  /** Absent: no branch elsewhere is followed, and there are no webhooks. */
  readonly hooks?: HookService | undefined;
  readonly oidc: OidcService;
  readonly health: HealthChecks;
  /** One for all servers of the daemon. */
  readonly fairness: FlowClassifier;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly version: string;
  /** `/kubernetes/management`. */
  readonly root: string;
  readonly config: ServedConfig;
  /** What is recorded of requests. */
  readonly audit: Pick<Auditor, 'isOn' | 'begin' | 'relay' | 'find'>;
  readonly tokens: TokenDocuments & TokenReviewer;
  /** Absent: the clusters take no endpoint tokens. */
  readonly tokenHolders?: TokenAuthenticator | undefined;
  /** The clusters that are served beside the platform. */
  readonly clusters: ClusterRoots;
  readonly tenants: TenantService;
  readonly secretStore: SecretStoreService;
  /** Namespaces, and events of what controllers did. */
  readonly core: Pick<ClusterRoot, 'kinds' | 'store' | 'registry'>;
  readonly clientState: ClientStateRoot;
}

/** State that clients keep here: leases, releases of Helm, ConfigMaps. */
export interface ClientStateRoot extends Pick<ClusterRoot, 'kinds'> {
  /** What is kept is opened when somebody asks for it. */
  open(): Promise<Pick<ClusterRoot, 'store' | 'registry'>>;
}

/** What is known of the endpoint sync of tenants. */
export interface TenantService {
  /** Of each object of the tenant; undefined where nothing is synced. */
  states(tenant: string): readonly ObjectState[] | undefined;
  /** What Endpoints would become; undefined: there is no such tenant. */
  preview(tenant: string, request: PreviewRequest): Promise<readonly Previewed[]> | undefined;
}

/** A cluster that is served here: what of the dependencies is its own. */
export type ClusterRoot = Pick<
  ServerDependencies,
  'kinds' | 'store' | 'registry' | 'authorizer' | 'root'
>;

export interface ClusterRoots {
  /** Paths below which each cluster has a root with its name. */
  readonly prefixes: readonly string[];
  /** The cluster that a URL leads to; undefined for every other URL and for unknown clusters. */
  find(url: string): ClusterRoot | undefined;
}

export interface TokenReviewer {
  /** The claims of an endpoint token that counts; rejects for any other. */
  review(token: string, audiences: readonly string[]): Promise<Readonly<Record<string, unknown>>>;
}

export interface TokenAuthenticator {
  /** Resolves when `authenticate` can tell about the token; undefined: it can. Never rejects. */
  prepare(token: string): Promise<void> | undefined;
  /** Undefined: the text has not the form of an endpoint token. */
  authenticate(token: string): ReturnType<Authenticate> | undefined;
}

/** The configuration of the platform. */
export interface ServedConfig extends PlatformConfigSource {
  /** Whether it is read from a file beside git, so that writing a Config changes nothing. */
  readonly fromFile: boolean;
}
