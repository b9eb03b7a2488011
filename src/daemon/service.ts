/**
 * The platform and its services, without a listener: clusters, sign-in, tenant syncs, and the
 * dependencies of the server.
 */
import type { Auditor } from '../audit/index.ts';
import { FailedLogins } from '../auth/index.ts';
import { StartError } from '../bootstrap/index.ts';
import { followRepository, type RepositoryFollower, watchObjects } from '../controllers/index.ts';
import { PatchEngine } from '../endpoint-patches/index.ts';
import { describeSuspension, PlannedEncryption } from '../registry/index.ts';
import type { JobObserver } from '../scheduler/index.ts';
import type { ServerDependencies } from '../server/index.ts';
import { loadStateKey } from '../state/index.ts';
import { createTenantMetrics } from '../telemetry/index.ts';
import { VERSION } from '../version.ts';
import { firstAdministrator } from './access/first-administrator.ts';
import { runStateJobs } from './background/scheduled-jobs.ts';
import { openClientState } from './core/client-state.ts';
import { openFlowClassifier } from './network/flow-classification.ts';
import { clientUrl } from './network/listener.ts';
import type { PushReception } from './network/push-reception.ts';
import { syncService } from './network/sync-service.ts';
import { emptyPlatform } from './observability/empty-platform.ts';
import { openAudit, type RunningAudit } from './observability/open-audit.ts';
import { openOutgoing } from './outgoing/outgoing.ts';
import { openPlatform, type Platform } from './platform.ts';
import type { PlatformContext } from './platform-context.ts';
import { followRemote, type RemoteFetching } from './repository/remote-fetching.ts';
import { collectGarbageAfter } from './runtime/garbage-collection.ts';
import { openOidcService, type RunningOidcService } from './sign-in/oidc-service.ts';
import { openSignIn, type SignInService } from './sign-in/sign-in-service.ts';
import { StartOrder } from './start-order.ts';
import { redoLogIn } from './state/open-state.ts';
import { type ClusterSocket, clusterSocket } from './tenants/cluster-socket.ts';
import { type Clusters, ServedClusters } from './tenants/clusters.ts';
import { followTenants } from './tenants/follow-tenants.ts';
import { planEffects } from './tenants/plan-effects.ts';
import { SyncTargets } from './tenants/sync-targets.ts';
import { TenantCosts } from './tenants/tenant-costs.ts';
import { TenantLoops } from './tenants/tenant-loops.ts';
import { TenantRoles } from './tenants/tenant-roles.ts';

export interface ServiceContext extends PlatformContext {
  readonly pushes: PushReception;
  /** Base URL of the listener, for clients without `--public-url`. */
  readonly base: () => string;
  /** Audit log of the replica. Absent: one is opened with the configuration of this platform. */
  readonly audit?: Auditor | undefined;
  /** Observer of scheduled jobs. Absent: the metrics of this platform. */
  readonly jobs?: JobObserver | undefined;
}

export interface Service {
  readonly platform: Platform;
  readonly dependencies: ServerDependencies;
  /** Token of the first administrator; undefined: this start could not make one. */
  readonly token: string | undefined;
  /** Reason why the platform has no object of its own; undefined: it has some, or is new. */
  readonly emptiness: string | undefined;
  /** Starts the work that needs a reachable server. Returns a handle that stops it. */
  start(): Promise<{ close(): Promise<void> }>;
  close(onError: (error: unknown) => void): Promise<void>;
}

const PARTS = StartOrder.with<ServiceContext>()
  .open('platform', openPlatform)
  .make('root', ({ options }) => `/${options.proxyPrefix}/management`)
  .make('prefix', ({ options }) => `/${options.proxyPrefix}`)
  .make('metrics', ({ platform }) => platform.observation.metrics)
  .open('pushesOpen', async ({ pushes, platform, steps }) => {
    steps.begin('starting the services');
    await pushes.open(platform);
    // Before the platform: a client may be gone, and its push go on.
    return { close: () => pushes.refuse() };
  })
  .open('auditLog', openAuditLog)
  .make('encryption', async ({ platform }) => {
    const encryption = new PlannedEncryption(platform);
    await encryption.read();
    return encryption;
  })
  .make('emptiness', warnOfEmptiness)
  .make('token', firstAdministrator)
  .open('follower', ({ platform, logger }) => followRepository({ ...platform, logger }))
  .open('objects', ({ platform, logger }) => watchObjects({ ...platform, logger }))
  .open('fetching', followRemote)
  .open('clusters', openTenantClusters)
  .make('clustersReady', ({ clusters }) => clusters.ready())
  .open('signIn', startSignIn)
  .open('oidc', openOidc)
  .make('dependencies', serverDependencies)
  .open('patchEngine', () => new PatchEngine())
  .open('trialEngine', () => new PatchEngine({ threads: 2 }))
  .open('socket', ({ data, dependencies }) =>
    clusterSocket(data.root, { ...dependencies, tenants: NO_TENANTS }),
  )
  .open('loops', openTenantLoops)
  .open('roles', openTenantRoles)
  .open('tenantsFollowed', followTenants)
  .open('outgoing', (given) => {
    const { report } = given.dependencies.sync;
    return openOutgoing({ ...given, report, onHook: given.fetching?.onHook });
  })
  .make('objectsRead', ({ objects }) => objects.begun);

/** Throws an error whose one line names the place and the remedy when a part cannot be opened. */
export async function openService(
  context: ServiceContext,
  onError?: (error: unknown) => void,
): Promise<Service> {
  const { parts, close } = await PARTS.start(context, onError);
  const { platform, clusters, oidc, loops, prefix, token, metrics, logger } = parts;
  const effects = planEffects({ loops, clusters, prefix });
  const planner = platform.planner.with({ effects, pulls: parts.outgoing.planOfPull });
  return {
    platform,
    dependencies: {
      ...parts.dependencies,
      tenants: loops,
      planner,
      sync: { ...parts.dependencies.sync, review: parts.outgoing.reviewUrl },
    },
    token,
    emptiness: parts.emptiness,
    start: async () => {
      parts.signIn.start();
      const { jobs: observer = metrics.jobs } = context;
      const stopJobs = await runStateJobs({ platform, oidc, clusters, observer, logger });
      const cancel = collectGarbageAfter(platform.store.filled());
      const closeStarted = async (): Promise<void> => {
        cancel();
        await stopJobs();
      };
      return { close: closeStarted };
    },
    close,
  };
}

const NO_TENANTS = { has: () => false, states: () => undefined, preview: () => undefined };

interface PlatformPart extends ServiceContext {
  readonly platform: Platform;
}

/** Before the first administrator is made: its objects are in the same folder and branch. */
async function warnOfEmptiness({
  platform,
  options,
  logger,
}: PlatformPart): Promise<string | undefined> {
  const reason = await emptyPlatform(platform, options);
  if (reason === undefined) return undefined;
  if (!options.allowEmpty && !hasAdministrator(platform)) {
    throw new StartError(
      `The platform is empty, and its first administrator would be committed there: ${reason}. Where a new platform is meant, start with --allow-empty`,
    );
  }
  logger.warn({ reason }, 'The platform is empty');
  return reason;
}

/** An earlier start made it here, so that the place is meant. */
function hasAdministrator({ branch, kinds }: Platform): boolean {
  for (const { key } of branch.state.catalog.objects()) {
    if (key.group === kinds.groups[0]) return true;
  }
  return false;
}

/** Opens the audit log, unless the replica has opened it. */
async function openAuditLog({
  audit,
  platform,
  data,
  ...given
}: PlatformPart): Promise<RunningAudit> {
  if (audit !== undefined) return { auditor: audit, close: () => Promise.resolve() };
  const { config, observation } = platform;
  const { clock, logger } = given;
  const { metrics } = observation;
  return await openAudit({ config, directory: data.root, clock, logger, metrics });
}

function openTenantClusters({ options, data, platform, ...given }: PlatformPart): Clusters {
  const { clock, logger, replicated } = given;
  const clusters = new ServedClusters({
    replicated,
    directory: data.clusters,
    stateKey: loadStateKey(data.stateKey),
    kinds: platform.kinds,
    store: platform.store,
    rights: platform.access.rules,
    authorizer: platform.access.authorizer,
    projectPrefix: () => platform.config.current.projectNamespacePrefix,
    prefix: `/${options.proxyPrefix}`,
    clock,
    onError: (err) => logger.error({ err }, 'The state of the clusters cannot be persisted'),
    redo: redoLogIn(data.clusters, logger),
  });
  platform.formerClusters.current = clusters;
  return clusters;
}

function startSignIn({ options, base, platform, clock, logger }: PlatformPart): SignInService {
  return openSignIn({
    ...platform,
    publicUrl: () => options.publicUrl ?? clientUrl(options, base()),
    isPublicUrlGiven: options.publicUrl !== undefined,
    clock,
    logger,
  });
}

function openOidc({
  options,
  data,
  platform,
  clock,
  logger,
  signIn: { signIn },
}: PlatformPart & SignInPart): RunningOidcService {
  return openOidcService({
    ...platform,
    baseUrl: () => signIn.baseUrl,
    accounts: signIn.accounts,
    keysIn: data.oidcKeys,
    signWith: options.oidcSigningAlg,
    clock,
    logger,
  });
}

interface SignInPart {
  readonly signIn: SignInService;
}

interface ServerParts extends PlatformPart, SignInPart {
  readonly root: string;
  readonly metrics: Platform['observation']['metrics'];
  readonly auditLog: RunningAudit;
  readonly encryption: PlannedEncryption;
  readonly follower: RepositoryFollower;
  readonly fetching: RemoteFetching | undefined;
  readonly clusters: Clusters;
  readonly oidc: RunningOidcService;
}

type PartialDependencies = Omit<ServerDependencies, 'tenants'>;

function serverDependencies(parts: ServerParts): PartialDependencies {
  const { platform, clock, signIn, fetching, clusters, follower, metrics } = parts;
  return {
    ...platform,
    authenticate: signIn.trackUse(platform.access.authenticate),
    failedLogins: new FailedLogins(clock),
    signIn: signIn.signIn,
    authorizer: platform.access.authorizer,
    rights: platform.access.rules,
    identities: platform.access.identities,
    git: parts.pushes.service(follower),
    sync: syncService(platform, follower, fetching?.news),
    hooks: fetching?.hooks,
    oidc: parts.oidc,
    tokenHolders: platform.tokens.holders,
    secretStore: platform.secretStore.sync,
    health: platform.observation.health,
    metrics,
    fairness: openFlowClassifier(metrics),
    audit: parts.auditLog.auditor,
    encryption: parts.encryption,
    logger: parts.logger,
    clock,
    version: VERSION,
    root: parts.root,
    clusters,
    costs: new TenantCosts({
      ...platform,
      tenants: clusters.tenants,
      kubeconfigs: parts.data.kubeconfigs,
      suspended: suspendedTenant(platform),
      clock,
    }),
    clientState: openClientState({ clusters, clock }),
  };
}

interface TenantParts extends PlatformPart {
  readonly clusters: Clusters;
  readonly patchEngine: PatchEngine;
  readonly trialEngine: PatchEngine;
  readonly socket: ClusterSocket;
  readonly prefix: string;
}

function openTenantLoops(parts: TenantParts): TenantLoops {
  const { platform, clusters, socket, options, data, prefix } = parts;
  const { replicated, logger, clock } = parts;
  return new TenantLoops({
    ...platform,
    replicated,
    suspended: suspendedTenant(platform),
    tenants: clusters.tenants,
    targets: () => clusters.syncTargets(),
    runner: parts.patchEngine,
    trialRunner: parts.trialEngine,
    referenceNames: options.referenceNames,
    prefix,
    access: (root) => socket.access(root),
    kubeconfigs: data.kubeconfigs,
    metrics: createTenantMetrics(platform.observation.metrics.registry),
    logger,
    clock,
  });
}

function openTenantRoles({ platform, clusters, data, ...given }: TenantParts): TenantRoles {
  const { replicated, logger, clock } = given;
  return new TenantRoles({
    ...platform,
    replicated,
    suspended: suspendedTenant(platform),
    tenants: clusters.tenants,
    targets: async () => new SyncTargets(await clusters.scopedStore('cluster-roles')),
    assignments: platform.access.assignments,
    kubeconfigs: data.kubeconfigs,
    logger,
    clock,
  });
}

function suspendedTenant({ suspensions }: Platform): (tenant: string) => string | undefined {
  return (tenant) => {
    const found = suspensions.find('tenants', tenant);
    return found && describeSuspension(found);
  };
}
