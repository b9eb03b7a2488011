/**
 * One of several replicas: a leader proxy on the state that it follows, a mirror of the repository, and
 * the services of a single daemon while it leads. Parts start in order and stop in reverse.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../../apimachinery/index.ts';
import type { Auditor } from '../../audit/index.ts';
import { readAdminToken, replaceFile } from '../../auth/index.ts';
import { type DataDirectory, openDataDirectory, StartError } from '../../bootstrap/index.ts';
import { Progress } from '../../concurrency/index.ts';
import { openEtcd } from '../../etcd/index.ts';
import {
  keysBelow,
  NEWEST_HEADERS,
  openPeerIdentity,
  PEER_NAME,
  type PeerIdentity,
  ReadIndex,
} from '../../replication/index.ts';
import { loadStateKey, openEtcdFeed, strictCodec, type Writer } from '../../state/index.ts';
import { createRoleMetrics, type LogStream, openLogger } from '../../telemetry/index.ts';
import { formatKubeconfig } from '../../tls/index.ts';
import { VERSION } from '../../version.ts';
import { runDiskJobs } from '../background/scheduled-jobs.ts';
import {
  openEarlyTls,
  openListener,
  openTls,
  type Tls,
  urlHost,
  warnOfLocalUrls,
} from '../network/listener.ts';
import { openPushReception } from '../network/push-reception.ts';
import { openAudit } from '../observability/open-audit.ts';
import type { DaemonOptions } from '../options.ts';
import { inProcessAgent } from './in-process-agent.ts';
import { type LocalRepository, openLocalRepository } from './local-repository.ts';
import { addressOf, joinPlatform, type Membership } from './membership.ts';
import { openLeaderProxy, type ReplicaProxy } from './open-leader-proxy.ts';
import { listenForPeers } from './peer-listener.ts';
import type { ReplicaContext } from './replica-context.ts';
import { etcdOptions, followEtcdFiles, type ReplicaOptions } from './replica-options.ts';

export interface RunningReplica {
  readonly url: string;
  readonly root: string;
  readonly data: DataDirectory;
  readonly caFile: string | undefined;
  readonly objects: number;
  /** Location of the manifests: a folder or a URL. */
  readonly source: string;
  stop(): Promise<void>;
}

interface ReplicaStart {
  readonly options: DaemonOptions;
  readonly replica: ReplicaOptions;
  readonly clock?: Clock;
  /** Sink of log lines; standard error when absent. */
  readonly log?: LogStream;
}

/** Throws an error whose one line names the place and the remedy when a part cannot be started. */
export async function startReplica(start: ReplicaStart): Promise<RunningReplica> {
  const { options, replica, clock = systemClock } = start;
  const logger = await openLogger(options, start.log ?? process.stderr);
  if (!existsSync(replica.stateKey)) {
    throw new StartError(`Cannot read --state-key ${replica.stateKey}: it does not exist`);
  }
  const data = { ...openDataDirectory(options.dataDir), stateKey: replica.stateKey };
  const codec = strictCodec(loadStateKey(replica.stateKey));
  const undo: (() => Promise<void>)[] = [];
  const onReplaced = (reason: string): never => {
    logger.fatal(reason);
    process.exit(1);
  };
  const keys = keysBelow(replica.prefix);
  const self = `${hostname()}-${randomBytes(4).toString('hex')}`;
  const progress = new Progress();
  progress.begin('joining the other replicas through etcd');
  try {
    const early = { options, data, clock, logger, undo };
    const listeners = await openListeners(early, { tls: await openEarlyTls(early), progress });
    const etcd = await openEtcd({ ...etcdOptions(replica), onReplaced });
    undo.push(() => etcd.close());
    const stop = followEtcdFiles({ etcd, replica, logger });
    undo.push(async () => stop());
    const ground = { options, replica, clock, logger, data, etcd, keys, codec, self, undo };
    return await startAll(ground, { listeners, progress });
  } catch (error) {
    for (const step of undo.reverse()) await step().catch(() => undefined);
    throw error;
  }
}

async function startAll(
  ground: ReplicaContext,
  { listeners, progress }: { readonly listeners: ReplicaListeners; readonly progress: Progress },
): Promise<RunningReplica> {
  const { options, data, logger, undo, clock, self } = ground;
  const base = listeners.url;
  const pushes = await openPushReception(data.root, logger);
  undo.push(() => pushes.close());
  await pushes.refuse('This replica does not lead: push over HTTP, to any replica');
  const repository = await openHosted(ground);
  if (repository !== undefined) await pushes.install(repository.gitDir);
  const membership = await joinPlatform(ground, { repository, url: options.publicUrl ?? base });
  const { peer } = membership;
  const tls = await openTls({ options, data, clock });
  listeners.present(tls);
  const { host } = addressOf(peer);
  const identity = await openPeerIdentity({ root: data.root, host, clock });
  const drain = { isDraining: false };
  const front = openReplicaFront(ground, { membership, identity, url: () => base, drain });
  const { auditor: audit, close: closeAudit } = await openAudit({
    ...ground,
    ...front,
    config: toldTo(front, membership),
    directory: data.root,
  });
  undo.push(closeAudit);
  await openPeers(ground, { membership, identity });
  const { jobs } = front.metrics;
  membership.open({ identity, audit, jobs, pushes, base: () => base });
  progress.begin('reading the state in etcd');
  await membership.current();
  await listeners.serve(front, audit);
  const root = `/${options.proxyPrefix}/management`;
  await membership.settled();
  const token = await readAdminToken(data.adminToken);
  if (token !== undefined) {
    const text = formatKubeconfig({ server: `${base}${root}`, caPem: tls.ca, token });
    await replaceFile(data.kubeconfig, text);
  }
  undo.push(await runDiskJobs({ ...ground, ...front, maintain: membership.maintain }));
  warnOfLocalUrls(options, { url: base, logger });
  logger.info({ url: base, version: VERSION, replica: self }, 'Serving');
  const source = options.remote?.address.url ?? data.repository;
  const { caFile } = tls;
  const objects = countObjects(front);
  const stop = (): Promise<void> => stopAll(ground, { membership, drain });
  return { url: base, root, data, caFile, objects, source, stop };
}

async function openHosted({
  options,
  data,
  logger,
}: ReplicaContext): Promise<LocalRepository | undefined> {
  if (options.remote !== undefined) return undefined;
  return await openLocalRepository({ gitDir: data.repository, branch: options.branch, logger });
}

const NEWEST_PATH = '/peer/newest';

interface Drain {
  isDraining: boolean;
}

function openReplicaFront(
  ground: ReplicaContext,
  of: { membership: Membership; identity: PeerIdentity; url: () => string; drain: Drain },
): ReplicaProxy {
  const { etcd, keys, undo, self } = ground;
  const { membership, identity, url, drain } = of;
  const { ca, cert, key } = identity;
  const agent = new Agent({ ca, cert, key, servername: PEER_NAME, keepAlive: true });
  undo.push(async () => agent.destroy());
  const inner = inProcessAgent((asked, response) => membership.role.handle(asked, response));
  undo.push(async () => inner.destroy());
  const newest = new ReadIndex({
    connect: (to) =>
      request({
        ...{ ...addressOf(to), ca, cert, key, servername: PEER_NAME, agent: false },
        ...{ path: NEWEST_PATH, headers: NEWEST_HEADERS },
      }),
  });
  undo.push(async () => newest.close());
  const front = openLeaderProxy({
    ...ground,
    writer: writerAmong(membership, newest),
    leaders: membership.leaders,
    route: ({ id, peer }) =>
      id === self
        ? { host: PEER_NAME, port: 80, agent: inner, tls: false }
        : { ...addressOf(peer), agent, tls: true },
    feed: openEtcdFeed(etcd, keys.platformState),
    url,
    behind: () => membership.behind,
    leading: () => membership.role.leader?.service.platform.observation.metrics,
    ready: { draining: () => (drain.isDraining ? 'this replica is about to stop' : undefined) },
  });
  createRoleMetrics(front.metrics.registry, () => membership.snapshot());
  undo.push(() => front.close());
  return front;
}

/** Read index of the leader, in this process or in another replica. */
function writerAmong({ role, link }: Membership, line: ReadIndex): Writer {
  return {
    known: () => role.writer?.known(),
    ask: async () => {
      if (role.writer !== undefined) return await role.writer.ask();
      return link.leader?.ready === true ? await line.ask(link.leader.peer) : undefined;
    },
  };
}

async function openPeers(
  { replica, data, undo }: ReplicaContext,
  of: { membership: Membership; identity: PeerIdentity },
): Promise<void> {
  const peers = await listenForPeers({
    address: replica.listenPeer,
    identity: of.identity,
    gitDir: data.repository,
    handle: (asked, response) => of.membership.role.handle(asked, response),
    heard: () => of.membership.askedByPeer(),
    newest: async () => {
      const { writer } = of.membership.role;
      return writer?.known() ?? (await writer?.ask());
    },
  });
  undo.push(() => peers.close());
}

interface ReplicaListeners {
  /** Base URL. */
  readonly url: string;
  /** New connections get the certificate of the platform. */
  present(tls: Tls): void;
  /** Answers requests with the leader proxy from now on. */
  serve(front: ReplicaProxy, audit: Auditor): Promise<void>;
}

/** Until the leader proxy is there, requests are answered with the progress of the start. */
async function openListeners(
  ground: Pick<ReplicaContext, 'options' | 'data' | 'clock' | 'logger' | 'undo'>,
  of: { readonly tls: Tls; readonly progress: Progress },
): Promise<ReplicaListeners> {
  const { options, undo } = ground;
  const https = await openListener({ ...ground, ...of }, options.listen, { secure: true });
  undo.push(() => https.close());
  const listeners = [https];
  if (options.listenHttp !== undefined) {
    const http = await openListener({ ...ground, ...of }, options.listenHttp, { secure: false });
    undo.push(() => http.close());
    listeners.push(http);
  }
  return {
    url: `https://${urlHost(options.listen)}:${https.port}`,
    present: (tls) => {
      for (const one of listeners) one.present(tls);
    },
    serve: async (front, audit) => {
      for (const one of listeners) {
        undo.push(await one.serve((listener) => front.server(audit, { listener })));
      }
    },
  };
}

/** The leader writes problems of the audit log of its replica into the status. */
function toldTo(
  front: ReplicaProxy,
  { role }: Membership,
): Parameters<typeof openAudit>[0]['config'] {
  return {
    get current() {
      return front.config.current;
    },
    subscribe: (listener) => front.config.subscribe(listener),
    reportAudit: (message) => role.leader?.service.platform.config.reportAudit(message),
  };
}

function countObjects({ kinds, store }: ReplicaProxy): number {
  return kinds.kinds.reduce(
    (sum, { group, kind }) => sum + store.list({ group, kind }).items.length,
    0,
  );
}

/** Time for load balancers to see `/readyz` fail before connections are closed. */
const DRAIN_MS = 1_000;

async function stopAll(
  { undo, logger }: ReplicaContext,
  of: { membership: Membership; drain: Drain },
): Promise<void> {
  of.drain.isDraining = true;
  const drained = sleep(DRAIN_MS);
  await of.membership.link
    .resign()
    .catch((err: unknown) => logger.error({ err }, 'The hand-over of the leadership failed'));
  await drained;
  for (const step of undo.splice(0).reverse()) {
    await step().catch((err: unknown) => logger.error({ err }, 'A component did not stop cleanly'));
  }
  logger.info('Stopped');
}
