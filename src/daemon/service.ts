/**
 * Everything that acts, without a listener: the platform, the clusters, signing in, and what the
 * server is handed of them. Opened in order; what was opened is put on a list, to be closed in
 * reverse.
 */
import { StatusError } from '../apimachinery/index.ts';
import type { Auditor } from '../audit/index.ts';
import { FailedLogins } from '../auth/index.ts';
import { administratorToken, hookSecret, OtherAdministratorError } from '../bootstrap/index.ts';
import {
  followRepository,
  type RepositoryFollower,
  startFetching,
  watchObjects,
} from '../controllers/index.ts';
import { PatchEngine } from '../endpoint-patches/index.ts';
import { RemoteError } from '../git/index.ts';
import { concealAccessKey } from '../kinds/index.ts';
import type { JobObserver } from '../scheduler/index.ts';
import type { HookService, ServerDependencies } from '../server/index.ts';
import { loadStateKey } from '../state/index.ts';
import { createTenantMetrics } from '../telemetry/index.ts';
import { VERSION } from '../version.ts';
import { runStateJobs } from './background/scheduled-jobs.ts';
import { openClientState } from './core/client-state.ts';
import { openFlowClassifier } from './network/flow-classification.ts';
import type { PushReception } from './network/push-reception.ts';
import { type RemoteNews, syncService } from './network/sync-service.ts';
import { openAudit } from './observability/open-audit.ts';
import { openPlatform, type Platform } from './platform.ts';
import type { PlatformContext } from './platform-context.ts';
import { collectGarbageAfter } from './runtime/garbage-collection.ts';
import { openOidcService } from './sign-in/oidc-service.ts';
import { openSignIn } from './sign-in/sign-in-service.ts';
import { redoLogIn } from './state/open-state.ts';
import { clusterSocket } from './tenants/cluster-socket.ts';
import { type Clusters, openClusters } from './tenants/clusters.ts';
import { planEffects } from './tenants/plan-effects.ts';
import { SyncTargets } from './tenants/sync-targets.ts';
import { TenantLoops } from './tenants/tenant-loops.ts';
import { TenantRoles } from './tenants/tenant-roles.ts';

export interface ServiceContext extends PlatformContext {
  readonly pushes: PushReception;
  /** The base URL that clients reach us by, unless --public-url says another. */
  readonly base: () => string;
  /** Absent: one is opened, with the configuration of this platform. */
  readonly audit?: Auditor | undefined;
  /** Told of scheduled jobs. Absent: the metrics of this platform are. */
  readonly jobs?: JobObserver | undefined;
  /** What to do, last first, to stop what was started. */
  readonly undo: (() => Promise<void>)[];
}

export interface Service {
  readonly platform: Platform;
  readonly dependencies: ServerDependencies;
  /** Of the first administrator; undefined where there could be none yet. */
  readonly token: string | undefined;
  /** To be called once clients can reach us. */
  start(): Promise<void>;
}

/** Throws with one line that names the place and the remedy when something is in the way. */
export async function openService(parts: ServiceContext): Promise<Service> {
  const { options, data, clock, logger, undo, pushes, base, steps } = parts;
  const platform = await openPlatform(parts);
  undo.push(() => platform.close());
  steps.begin('the services');
  await pushes.open(platform);
  const { config } = platform;
  const { metrics } = platform.observation;
  const directory = data.root;
  const audit =
    parts.audit ?? (await openAudit({ config, directory, clock, logger, metrics, undo }));
  const token = await administrator(parts, platform);
  const follower = await followRepository({ ...platform, logger });
  undo.push(() => follower.close());
  const objects = watchObjects({ ...platform, logger });
  undo.push(() => objects.close());
  const remote = await followRemote(parts, platform, follower);
  const clusters = await serveClusters(parts, platform);
  const root = `/${options.proxyPrefix}/management`;
  const signingIn = openSignIn({
    ...platform,
    publicUrl: () => options.publicUrl ?? base(),
    isPublicUrlGiven: options.publicUrl !== undefined,
    clock,
    logger,
  });
  undo.push(() => signingIn.close());
  const oidc = openOidcService({
    ...platform,
    baseUrl: () => signingIn.signIn.baseUrl,
    accounts: signingIn.signIn.accounts,
    keysIn: data.oidcKeys,
    signWith: options.oidcSigningAlg,
    clock,
    logger,
  });
  undo.push(async () => oidc.close());
  const dependencies = {
    ...platform,
    authenticate: signingIn.trackUse(platform.access.authenticate),
    failedLogins: new FailedLogins(clock),
    signIn: signingIn.signIn,
    authorizer: platform.access.authorizer,
    rights: platform.access.rules,
    git: pushes.service(follower),
    sync: syncService(platform, follower, remote?.news),
    hooks: remote?.hooks,
    oidc,
    tokenHolders: platform.tokens.holders,
    secretStore: platform.secretStore.sync,
    health: platform.observation.health,
    metrics,
    fairness: openFlowClassifier(metrics),
    audit,
    logger,
    clock,
    version: VERSION,
    root,
    clusters,
    clientState: openClientState({ clusters, clock }),
  };
  const tenants = syncTenants(parts, platform, { clusters, dependencies });
  const prefix = `/${options.proxyPrefix}`;
  await objects.begun;
  const effects = planEffects({ loops: tenants, clusters, prefix });
  const planner = platform.planner.foreseeing(effects);
  return {
    platform,
    dependencies: { ...dependencies, tenants, planner },
    token,
    start: async () => {
      signingIn.start();
      const { jobs: observer = metrics.jobs } = parts;
      undo.push(await runStateJobs({ platform, oidc, clusters, observer, logger }));
      const callOff = collectGarbageAfter(platform.store.filled());
      undo.push(async () => callOff());
    },
  };
}

async function serveClusters(
  { options, data, logger, clock, undo, replicated }: ServiceContext,
  platform: Platform,
): Promise<Clusters> {
  const clusters = openClusters({
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
    onError: (err) => logger.error({ err }, 'The clusters cannot be kept'),
    redo: redoLogIn(data.clusters, logger),
  });
  undo.push(() => clusters.close());
  await clusters.ready();
  return clusters;
}

function syncTenants(
  { options, data, logger, clock, undo, replicated }: ServiceContext,
  platform: Platform,
  of: { clusters: Clusters; dependencies: Omit<ServerDependencies, 'tenants'> },
): TenantLoops {
  const { clusters, dependencies } = of;
  const runner = new PatchEngine();
  undo.push(() => runner.close());
  const tenants = { states: () => undefined, preview: () => undefined };
  const socket = clusterSocket(data.root, { ...dependencies, tenants });
  undo.push(() => socket.close());
  const loops = new TenantLoops({
    ...platform,
    replicated,
    tenants: clusters.tenants,
    targets: () => clusters.syncTargets(),
    runner,
    referenceNames: options.referenceNames,
    prefix: `/${options.proxyPrefix}`,
    access: (root) => socket.access(root),
    kubeconfigs: data.kubeconfigs,
    metrics: createTenantMetrics(platform.observation.metrics.registry),
    logger,
    clock,
  });
  undo.push(() => loops.close());
  const roles = new TenantRoles({
    ...platform,
    replicated,
    tenants: clusters.tenants,
    targets: async () => new SyncTargets(await clusters.scopedStore('cluster-roles')),
    assignments: platform.access.assignments,
    kubeconfigs: data.kubeconfigs,
    logger,
    clock,
  });
  undo.push(() => roles.close());
  clusters.follow((name) => {
    loops.follow(name);
    roles.follow(name);
  });
  if (clusters.wasUsed) {
    const failed = (err: unknown): void => logger.error({ err }, 'Tenants are not followed');
    loops.resume(options.pruneBudget).catch(failed);
    roles.resume(options.pruneBudget).catch(failed);
  }
  return loops;
}

/** Undefined for a hosted repository. */
async function followRemote(
  { options, data, logger, undo }: ServiceContext,
  platform: Platform,
  follower: RepositoryFollower,
): Promise<{ hooks: HookService; news: RemoteNews } | undefined> {
  const { following: source } = platform;
  if (source === undefined || options.remote === undefined) return undefined;
  const { intervalMs, hookSecretFile } = options.remote;
  const secret = await hookSecret({ given: hookSecretFile, own: data.hookSecret });
  const { pending } = platform;
  const catchUp = async (): Promise<void> => {
    await follower.catchUp();
    // Whoever fetches waits for what is served, not for what may be merged.
    pending
      ?.sync()
      .catch((err: unknown) => logger.warn({ err }, 'Pending writes are not up to date'));
  };
  const fetching = startFetching({ source, follower: { catchUp }, intervalMs, logger });
  undo.push(() => fetching.close());
  return {
    hooks: { secret, notice: () => fetching.trigger() },
    news: {
      refresh: () => fetching.refresh().catch(unlessUntrusted),
      look: () => fetching.trigger(),
    },
  };
}

/** The remote answered: what it has is told as what is held. */
function unlessUntrusted(error: unknown): void {
  if (!(error instanceof RemoteError) || error.problem !== 'untrusted') throw error;
}

/**
 * A repository elsewhere need not take what we write, and a branch that is held takes nothing; the
 * access keys that are in it work all the same. The next start tries again.
 */
async function administrator(
  { data, logger }: ServiceContext,
  platform: Platform,
): Promise<string | undefined> {
  try {
    const isShared = platform.following !== undefined;
    const token = await administratorToken({ ...platform, isShared }, data.adminToken);
    if (platform.pending === undefined && !isKnown(platform, token)) {
      const remedy = 'remove it and start again to have a new key made, or put the right one there';
      logger.warn(
        { file: data.adminToken, remedy },
        'No access key of the repository has this text',
      );
    }
    return token;
  } catch (error) {
    if (error instanceof OtherAdministratorError) {
      logger.warn({ problem: error.message, remedy: error.remedy }, 'No administrator key here');
      return undefined;
    }
    const isElsewhere = platform.pending !== undefined || platform.branch.hold !== undefined;
    const isRefused = error instanceof StatusError && isElsewhere;
    if (!(error instanceof RemoteError) && !isRefused) throw error;
    logger.warn({ problem: error.message }, 'The first administrator could not be made');
    return undefined;
  }
}

function isKnown({ access }: Platform, token: string): boolean {
  return access.holderOf(concealAccessKey(token)) !== undefined;
}
