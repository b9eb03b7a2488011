/** The daemon: the platform with its network. Starts everything in order and stops it in reverse. */
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type Clock, systemClock } from '../apimachinery/clock.ts';
import { StatusError } from '../apimachinery/status-error.ts';
import { FailedLogins } from '../auth/failed-logins.ts';
import { replaceFile } from '../auth/secret-file.ts';
import { administratorToken } from '../bootstrap/administrator.ts';
import { type DataDirectory, openDataDirectory } from '../bootstrap/data-directory.ts';
import { hookSecret } from '../bootstrap/hook-secret.ts';
import { errnoOf, StartError } from '../bootstrap/start-error.ts';
import { startFetching } from '../controllers/fetch.ts';
import { followRepository, type RepositoryFollower } from '../controllers/repository.ts';
import { PatchEngine } from '../endpointsync/engine.ts';
import { RemoteError } from '../git/remote/remote-error.ts';
import type { ServerDependencies } from '../server/dependencies.ts';
import type { HookService } from '../server/hooks.ts';
import { buildServer, type ServerOptions } from '../server/server.ts';
import { loadStateKey } from '../state/state-key.ts';
import { createLogger, type Logger } from '../telemetry/logger.ts';
import { createTenantMetrics } from '../telemetry/tenant-metrics.ts';
import { formatKubeconfig } from '../tls/kubeconfig.ts';
import { ensureServerCertificate } from '../tls/server-certificate.ts';
import { VERSION } from '../version.ts';
import { openAudit } from './audit-service.ts';
import { clusterSocket } from './cluster-socket.ts';
import { type Clusters, openClusters } from './clusters.ts';
import { receivePushes } from './git-service.ts';
import { collectAfter } from './memory.ts';
import { openOidcService } from './oidc-service.ts';
import type { Address, DaemonOptions } from './options.ts';
import { planEffects } from './plan-effects.ts';
import { openPlatform, type Platform } from './platform.ts';
import { openSignIn } from './sign-in/sign-in-service.ts';
import { syncService } from './sync-service.ts';
import { TenantLoops } from './tenant-loops.ts';

export interface Daemon {
  /** `https://127.0.0.1:8443`. */
  readonly url: string;
  /** Where the API lives below it: `/kubernetes/management`. */
  readonly root: string;
  readonly data: DataDirectory;
  readonly platform: Platform;
  /** What clients must trust; undefined with a certificate of the operator's. */
  readonly caFile: string | undefined;
  /** Answers what is in flight, flushes, and lets go of everything. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly options: DaemonOptions;
  readonly clock?: Clock;
  /** Where log lines go; standard error when absent. */
  readonly log?: { write(line: string): void };
}

/** Throws with one line that names the place and the remedy when something is in the way. */
export async function startDaemon(start: StartOptions): Promise<Daemon> {
  const { options, clock = systemClock } = start;
  const logger = createLogger(options.logLevel, start.log ?? process.stderr);
  const data = openDataDirectory(options.dataDir);
  const undo: (() => Promise<void>)[] = [];
  try {
    return await startAll({ options, clock, logger, data, undo });
  } catch (error) {
    for (const step of undo.reverse()) await step().catch(() => undefined);
    throw error;
  }
}

interface Starting {
  readonly options: DaemonOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly data: DataDirectory;
  /** What to do, last first, to stop what was started. */
  readonly undo: (() => Promise<void>)[];
}

async function startAll(starting: Starting): Promise<Daemon> {
  const { options, clock, logger, data, undo } = starting;
  const url = `https://${shownHost(options.listen)}:${options.listen.port}`;
  const tls = await openTls(starting);
  const pushes = await receivePushes(data.root, logger);
  undo.push(() => pushes.close());
  const platform = await openPlatform({
    options,
    data,
    logger,
    clock,
    issuer: options.publicUrl ?? url,
  });
  undo.push(() => platform.close());
  await pushes.open(platform);
  const { config } = platform;
  const { metrics } = platform.observation;
  const audit = await openAudit({ config, directory: data.root, clock, logger, metrics, undo });
  const token = await administrator(starting, platform);
  const follower = await followRepository({ ...platform, logger });
  undo.push(() => follower.close());
  const remote = await followRemote(starting, platform, follower);
  const clusters = await serveClusters(starting, platform);
  const root = `/${options.proxyPrefix}/management`;
  let base = url;
  const signingIn = openSignIn({
    ...platform,
    publicUrl: () => options.publicUrl ?? base,
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
    authenticate: signingIn.watched(platform.access.authenticate),
    failedLogins: new FailedLogins(clock),
    signIn: signingIn.signIn,
    authorizer: platform.access.authorizer,
    rights: platform.access.rules,
    git: pushes.service(follower),
    sync: syncService(platform, follower, remote?.refresh),
    hooks: remote?.hooks,
    oidc,
    secretStore: platform.secretStore.sync,
    health: platform.observation.health,
    metrics,
    audit,
    logger,
    clock,
    version: VERSION,
    root,
    clusters,
  };
  const loops = syncTenants(starting, platform, { clusters, dependencies });
  const prefix = `/${options.proxyPrefix}`;
  const planner = platform.planner.foreseeing(planEffects({ loops, clusters, prefix }));
  const listen = async (address: Address, server: ServerOptions): Promise<number> => {
    const app = buildServer({ ...dependencies, tenants: loops, planner }, server);
    undo.push(() => app.close());
    return await listenOn(app, address);
  };
  const port = await listen(options.listen, { tls: { cert: tls.cert, key: tls.key } });
  if (options.listenHttp !== undefined) await listen(options.listenHttp, {});
  base = `https://${shownHost(options.listen)}:${port}`;
  signingIn.start();
  if (token !== undefined)
    await writeKubeconfig(data, { server: `${base}${root}`, caPem: tls.ca, token });
  const { revision } = platform.branch.state;
  logger.info({ url: base, revision, version: VERSION }, 'Serving');
  const callOff = collectAfter(platform.store.filled());
  undo.push(async () => callOff());
  return { url: base, root, data, platform, caFile: tls.caFile, stop: () => stopAll(starting) };
}

async function serveClusters(
  { options, data, logger, clock, undo }: Starting,
  platform: Platform,
): Promise<Clusters> {
  const clusters = openClusters({
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
  });
  undo.push(() => clusters.close());
  await clusters.ready();
  return clusters;
}

function syncTenants(
  { options, data, logger, clock, undo }: Starting,
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
    tenants: clusters.tenants,
    places: () => clusters.places(),
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
  clusters.follow((name) => loops.follow(name));
  if (clusters.wasUsed) {
    const failed = (err: unknown): void => logger.error({ err }, 'Tenants are not followed');
    loops.resume(options.pruneBudget).catch(failed);
  }
  return loops;
}

/** Undefined for a hosted repository. */
async function followRemote(
  { options, data, logger, undo }: Starting,
  platform: Platform,
  follower: RepositoryFollower,
): Promise<{ hooks: HookService; refresh: () => Promise<void> } | undefined> {
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
    refresh: () => fetching.refresh(),
  };
}

async function writeKubeconfig(
  data: DataDirectory,
  of: Parameters<typeof formatKubeconfig>[0],
): Promise<void> {
  await replaceFile(data.kubeconfig, formatKubeconfig(of));
}

/**
 * A repository elsewhere need not take what we write; the access keys that are in it work all the
 * same. The next start tries again.
 */
async function administrator(
  { data, logger }: Starting,
  platform: Platform,
): Promise<string | undefined> {
  try {
    return await administratorToken(platform, data.adminToken);
  } catch (error) {
    const isPending = error instanceof StatusError && platform.pending !== undefined;
    if (!(error instanceof RemoteError) && !isPending) throw error;
    logger.warn({ problem: error.message }, 'The first administrator could not be made');
    return undefined;
  }
}

async function stopAll({ undo, logger }: Starting): Promise<void> {
  for (const step of undo.splice(0).reverse()) {
    await step().catch((error: unknown) =>
      logger.error({ err: error }, 'A part did not stop cleanly'),
    );
  }
  logger.info('Stopped');
}

interface Tls {
  readonly cert: string;
  readonly key: string;
  readonly ca: string | undefined;
  readonly caFile: string | undefined;
}

async function openTls({ options, data, clock }: Starting): Promise<Tls> {
  if (options.tls !== undefined) {
    const { certFile, keyFile } = options.tls;
    const cert = await readOrFail('tls-cert', certFile);
    return { cert, key: await readOrFail('tls-key', keyFile), ca: undefined, caFile: undefined };
  }
  const hostnames = [...options.hostnames, options.listen.host].filter(
    (name) => name !== '0.0.0.0' && name !== '::',
  );
  const made = await ensureServerCertificate({ directory: data.tls, hostnames, clock });
  const caFile = `${data.tls}/ca.crt`;
  return { cert: made.certificatePem, key: made.keyPem, ca: made.caPem, caFile };
}

async function readOrFail(option: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new StartError(`Cannot read --${option} ${file}: ${errnoOf(error) ?? String(error)}`, {
      cause: error,
    });
  }
}

const LISTEN_REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use; stop the other program or choose another with --listen',
  EACCES: 'permission denied; ports below 1024 are for root, choose another with --listen',
  EADDRNOTAVAIL: 'this machine has no such address; choose another with --listen',
  ENOTFOUND: 'the host name is unknown; choose another with --listen',
};

/** Returns the port, which differs from the wanted one only where that is 0. */
async function listenOn(app: FastifyInstance, { host, port }: Address): Promise<number> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const why = LISTEN_REASONS[errnoOf(error) ?? ''] ?? String(error);
    throw new StartError(`Cannot listen on ${host}:${port}: ${why}`, { cause: error });
  }
  return (app.server.address() as AddressInfo).port;
}

/** An address that means every interface is reached through the loopback one. */
function shownHost({ host }: Address): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
