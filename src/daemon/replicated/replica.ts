/**
 * One of several replicas of a platform: a front that serves what it follows, a mirror of the
 * repository, and, while it leads, everything that a daemon alone is. Started in order and stopped
 * in reverse.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Agent } from 'node:https';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../../apimachinery/clock.ts';
import { readAdminToken } from '../../auth/admin-token.ts';
import { replaceFile } from '../../auth/secret-file.ts';
import { openIdentities } from '../../bootstrap/age-key.ts';
import { type DataDirectory, openDataDirectory } from '../../bootstrap/data-directory.ts';
import { StartError } from '../../bootstrap/start-error.ts';
import type { Etcd } from '../../etcd/etcd.ts';
import { openEtcd } from '../../etcd/open-etcd.ts';
import { Cluster } from '../../replication/cluster.ts';
import { type Keys, keysBelow } from '../../replication/keys.ts';
import { type Link, openLink } from '../../replication/link.ts';
import { Mirror } from '../../replication/mirror.ts';
import {
  ensurePeerAuthority,
  openPeerIdentity,
  PEER_NAME,
  type PeerIdentity,
} from '../../replication/peer-identity.ts';
import { SharedFiles } from '../../replication/shared-files.ts';
import { type Term, TermEndedError } from '../../replication/term.ts';
import { type RecordCodec, sealingCodec } from '../../state/codec.ts';
import { deferred } from '../../state/deferred.ts';
import { openEtcdEngine } from '../../state/etcd/engine.ts';
import { openEtcdFeed } from '../../state/etcd/feed.ts';
import { loadStateKey } from '../../state/state-key.ts';
import { createLogger, type Logger } from '../../telemetry/logger.ts';
import { formatKubeconfig } from '../../tls/kubeconfig.ts';
import { VERSION } from '../../version.ts';
import { openAudit } from '../audit-service.ts';
import { receivePushes } from '../git-service.ts';
import { listenOn, openTls, shownHost } from '../listening.ts';
import type { DaemonOptions } from '../options.ts';
import { fetchFromPeers } from './fetch-from-peers.ts';
import { type LeaderParts, openLeader } from './leader.ts';
import { type LocalRepository, openLocalRepository } from './local-repository.ts';
import { openFront, type ReplicaFront } from './open-front.ts';
import { etcdOptions, type ReplicaOptions } from './options.ts';
import { listenForPeers } from './peer-listener.ts';
import { Role } from './role.ts';

export interface RunningReplica {
  readonly url: string;
  readonly root: string;
  readonly data: DataDirectory;
  readonly caFile: string | undefined;
  readonly objects: number;
  /** Where the manifests are: a folder, or a URL. */
  readonly source: string;
  stop(): Promise<void>;
}

export interface ReplicaStart {
  readonly options: DaemonOptions;
  readonly replica: ReplicaOptions;
  readonly clock?: Clock;
  /** Where log lines go; standard error when absent. */
  readonly log?: { write(line: string): void };
}

/** What every part of a replica is given. */
interface Ground {
  readonly options: DaemonOptions;
  readonly replica: ReplicaOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly data: DataDirectory;
  readonly etcd: Etcd;
  readonly keys: Keys;
  readonly codec: RecordCodec;
  readonly self: string;
  /** What to do, last first, to stop what was started. */
  readonly undo: (() => Promise<void>)[];
}

/** Throws with one line that names the place and the remedy when something is in the way. */
export async function startReplica(start: ReplicaStart): Promise<RunningReplica> {
  const { options, replica, clock = systemClock } = start;
  const logger = createLogger(options.logLevel, start.log ?? process.stderr);
  if (!existsSync(replica.stateKey)) {
    throw new StartError(`Cannot read --state-key ${replica.stateKey}: it does not exist`);
  }
  const data = { ...openDataDirectory(options.dataDir), stateKey: replica.stateKey };
  const codec = sealingCodec(loadStateKey(replica.stateKey), () => true);
  const undo: (() => Promise<void>)[] = [];
  const etcd = await openEtcd(etcdOptions(replica));
  undo.push(() => etcd.close());
  const keys = keysBelow(replica.prefix);
  const self = `${hostname()}-${randomBytes(4).toString('hex')}`;
  try {
    return await startAll({
      options,
      replica,
      clock,
      logger,
      data,
      etcd,
      keys,
      codec,
      self,
      undo,
    });
  } catch (error) {
    for (const step of undo.reverse()) await step().catch(() => undefined);
    throw error;
  }
}

async function startAll(ground: Ground): Promise<RunningReplica> {
  const { options, replica, data, logger, etcd, keys, undo, clock, self } = ground;
  let base = `https://${shownHost(options.listen)}:${options.listen.port}`;
  const pushes = await receivePushes(data.root, logger);
  undo.push(() => pushes.close());
  pushes.leave('This replica does not lead: push over HTTP, to any of them');
  const repository = await openHosted(ground);
  if (repository !== undefined) await pushes.install(repository.gitDir);
  const peer = replica.advertisePeer ?? `${shownHost(replica.listenPeer)}:${replica.listenPeer.port}`;
  const { leaseSeconds } = replica;
  const told = { id: self, peer, url: options.publicUrl ?? base, version: VERSION };
  const link = openLink({ etcd, keys, self: told, leaseSeconds, logger });
  undo.push(() => link.close());
  const cluster = new Cluster(etcd, keys);
  const files = new SharedFiles({ ...ground, secrets: keys.secrets, root: data.root });
  let identity: PeerIdentity | undefined;
  const mirror = repository && openMirror(ground, { link, repository, identity: () => identity });
  const opened = deferred<LeaderParts>();
  const role = new Role({
    logger,
    eligible: async (signal) => {
      if ((await cluster.read()) === undefined) {
        const commits = (await repository?.commits()) ?? 0;
        await cluster.offer({ id: self, commits }, (key, value) => link.offer(key, value));
      } else await upToDate(mirror, signal);
    },
    found: (term) => found(ground, { term, cluster, files, url: told.url }),
    open: async (term) => await openLeader(await within(opened.promise, term), term),
    exit: (reason) => {
      logger.fatal(reason);
      process.exit(1);
    },
  });
  link.lead(role);
  const record = await joined(cluster);
  if (record.root !== undefined) await repository?.assertRoot(record.root);
  await files.pull();
  files.follow();
  undo.push(() => files.close());
  const tls = await openTls({ options, data, clock });
  identity = await openPeerIdentity({ root: data.root, host: hostOf(peer), clock });
  if (mirror !== undefined) {
    mirror.follow();
    undo.push(() => mirror.stop());
  }
  const { ca, cert, key } = identity;
  const agent = new Agent({ ca, cert, key, servername: PEER_NAME, keepAlive: true });
  undo.push(async () => agent.destroy());
  const front = openFront({
    ...ground,
    leaders: link,
    route: ({ peer: to }) => ({ ...addressOf(to), agent, tls: true }),
    feed: openEtcdFeed(etcd, keys.platformState),
    url: () => base,
  });
  undo.push(() => front.close());
  const audit = await openAudit({
    ...ground,
    ...front,
    config: toldTo(front, role),
    directory: data.root,
  });
  const peers = await listenForPeers({
    address: replica.listenPeer,
    identity,
    gitDir: data.repository,
    handle: (request, response) => role.handle(request, response),
  });
  undo.push(() => peers.close());
  const parts = { ...ground, link, cluster, files, mirror, audit, pushes };
  opened.resolve({
    ...parts,
    issuer: options.publicUrl ?? record.url,
    base: () => base,
    openEngine: (prefix, term, listener) => openEngineInTerm(etcd, prefix, { term, ...listener }),
  });
  const app = front.server(audit, { tls: { cert: tls.cert, key: tls.key } });
  undo.push(() => app.close());
  const port = await listenOn(app, options.listen);
  base = `https://${shownHost(options.listen)}:${port}`;
  if (options.listenHttp !== undefined) {
    const plain = front.server(audit, {});
    undo.push(() => plain.close());
    await listenOn(plain, options.listenHttp);
  }
  const root = `/${options.proxyPrefix}/management`;
  await link.waitForLeader(FIRST_LEADER_MS);
  await files.pull();
  const token = await readAdminToken(data.adminToken);
  if (token !== undefined) {
    const text = formatKubeconfig({ server: `${base}${root}`, caPem: tls.ca, token });
    await replaceFile(data.kubeconfig, text);
  }
  logger.info({ url: base, version: VERSION, replica: self }, 'Serving');
  const objects = front.kinds.kinds.reduce((sum, { group, kind }) => {
    return sum + front.store.list({ group, kind }).items.length;
  }, 0);
  const source = options.remote?.address.url ?? data.repository;
  const { caFile } = tls;
  return { url: base, root, data, caFile, objects, source, stop: () => stop(ground, link) };
}

/** A first start needs the files that the first leader makes; after that nobody is waited for. */
const FIRST_LEADER_MS = 30_000;
const POLL_MS = 100;

/** Resolves when some replica has made this a platform. */
async function joined(cluster: Cluster): ReturnType<Cluster['found']> {
  for (;;) {
    const record = await cluster.read();
    if (record !== undefined) return record;
    await sleep(POLL_MS);
  }
}

async function openHosted({ options, data, logger }: Ground): Promise<LocalRepository | undefined> {
  if (options.remote !== undefined) return undefined;
  return await openLocalRepository({ gitDir: data.repository, branch: options.branch, logger });
}

function openMirror(
  ground: Ground,
  of: { link: Link; repository: LocalRepository; identity: () => PeerIdentity | undefined },
): Mirror {
  const { link, repository } = of;
  const { gitDir, ref } = repository;
  return new Mirror({
    ...ground,
    gitDir,
    ref,
    fetch: async () => {
      const identity = of.identity();
      if (identity === undefined) throw new Error('This replica has no certificate yet');
      return await fetchFromPeers({ link, self: ground.self, identity, gitDir, ref });
    },
    onMirrored: (sequence) => link.tell(sequence),
  });
}

/** Those whose disk is behind let others go first. */
const BEHIND_MS = 1_000;

async function upToDate(mirror: Mirror | undefined, signal: AbortSignal): Promise<void> {
  if (mirror === undefined) return;
  const done = mirror.catchUp();
  done.catch(() => undefined);
  await Promise.race([done, sleep(BEHIND_MS, undefined, { signal })]);
}

/** What only the first leader makes: what seals and what others trust. */
async function found(
  { data, clock, options }: Ground,
  of: { term: Term; cluster: Cluster; files: SharedFiles; url: string },
): Promise<void> {
  const { term, cluster, files, url } = of;
  if ((await cluster.read()) !== undefined) return;
  await files.pull();
  await ensurePeerAuthority(data.root, clock);
  await openTls({ options, data, clock });
  await openIdentities({ own: data.ageKey, given: [] });
  await files.push(term);
  await cluster.found(term, url);
}

async function openEngineInTerm(
  etcd: Etcd,
  prefix: string,
  of: { term: Term; onError(error: unknown): void; onRecovered?(): void },
): ReturnType<typeof openEtcdEngine> {
  const { term, onError, onRecovered } = of;
  return await openEtcdEngine({
    etcd,
    prefix,
    fence: term.fence,
    signal: term.signal,
    ended: () => new TermEndedError(),
    onError,
    ...(onRecovered === undefined ? {} : { onRecovered }),
  });
}

/** The leader writes into the status what is wrong with the audit log of its replica. */
function toldTo(front: ReplicaFront, role: Role): Parameters<typeof openAudit>[0]['config'] {
  return {
    get current() {
      return front.config.current;
    },
    subscribe: (listener) => front.config.subscribe(listener),
    tellAudit: (message) => role.leader?.service.platform.config.tellAudit(message),
  };
}

async function within<T>(promise: Promise<T>, term: Term): Promise<T> {
  const over = new Promise<never>((_resolve, reject) => {
    term.signal.addEventListener('abort', () => reject(new TermEndedError()), { once: true });
  });
  return await Promise.race([promise, over]);
}

function hostOf(address: string): string {
  return addressOf(address).host;
}

function addressOf(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return { host, port: Number(address.slice(colon + 1)) };
}

async function stop({ undo, logger }: Ground, link: Link): Promise<void> {
  await link.resign().catch((err: unknown) => logger.error({ err }, 'The term did not end well'));
  for (const step of undo.splice(0).reverse()) {
    await step().catch((err: unknown) => logger.error({ err }, 'A part did not stop cleanly'));
  }
  logger.info('Stopped');
}
