/**
 * Membership of a process among the replicas: it takes part in elections, pulls the shared files, and
 * mirrors the repository. The first leader of an empty etcd creates the platform.
 */

import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Auditor } from '../../audit/index.ts';
import { deferred } from '../../concurrency/index.ts';
import type { Etcd } from '../../etcd/index.ts';
import {
  Cluster,
  type ClusterRecord,
  ensurePeerAuthority,
  isHandedOver,
  Mirror,
  openReplicaCoordination,
  type PeerIdentity,
  ReadLease,
  type ReplicaCoordination,
  SharedFiles,
  type Term,
  TermEndedError,
} from '../../replication/index.ts';
import type { JobObserver } from '../../scheduler/index.ts';
import { isDeaf, type Leaders } from '../../server/index.ts';
import { openEtcdEngine } from '../../state/index.ts';
import type { RoleSnapshot } from '../../telemetry/index.ts';
import { VERSION } from '../../version.ts';
import { openTls, urlHost } from '../network/listener.ts';
import type { PushReception } from '../network/push-reception.ts';
import { ensureIdentities } from '../repository/secrets.ts';
import { EtcdRecovery } from './etcd-recovery.ts';
import { fetchFromPeers } from './fetch-from-peers.ts';
import { openLeader } from './leader.ts';
import type { LocalRepository } from './local-repository.ts';
import { Reachability } from './reachability.ts';
import type { ReplicaContext } from './replica-context.ts';
import { Role } from './role.ts';

/** Parts that a replica opens before it can lead. */
interface Opened {
  readonly identity: PeerIdentity;
  readonly audit: Auditor;
  readonly jobs: JobObserver;
  readonly pushes: PushReception;
  readonly base: () => string;
}

export interface Membership {
  readonly link: ReplicaCoordination;
  readonly role: Role;
  /** The leader, as the leader proxy sees it. */
  readonly leaders: Leaders;
  /** Address for other replicas. */
  readonly peer: string;
  /** Mirrors the repository, and leads when elected. */
  open(opened: Opened): void;
  /** Call when another replica has reached this one. */
  askedByPeer(): void;
  /** Resolves when etcd has everything that the reachable replicas have, or after a time limit. */
  current(): Promise<void>;
  /** Reason why etcd may have less than the disks of the replicas; undefined: it has not. */
  readonly behind: string | undefined;
  /** Resolves when the files of the first leader are here, or no leader was elected in time. */
  settled(): Promise<void>;
  /** Maintains the repository on this disk. Rejects when that fails, or when the signal aborts it. */
  maintain(signal: AbortSignal): Promise<void>;
  /** For metrics. */
  snapshot(): RoleSnapshot;
}

/** Time limit for the first leader to create the shared files. Later starts do not need it. */
const FIRST_LEADER_MS = 30_000;
const POLL_MS = 100;
const UNREACHED_MS = 4_000;
const LOST = 'etcd has lost this platform, or has another: start again to fill it from git';

/** Resolves when the platform exists. Throws StartError when the repository here is of another one. */
export async function joinPlatform(
  ground: ReplicaContext,
  of: { readonly repository: LocalRepository | undefined; readonly url: string },
): Promise<Membership> {
  const { repository, url } = of;
  const { options, replica, data, logger, etcd, keys, undo, self } = ground;
  const { listenPeer, advertisePeer, leaseSeconds } = replica;
  const peer = advertisePeer ?? `${urlHost(listenPeer)}:${listenPeer.port}`;
  const told = { id: self, peer, url, version: VERSION };
  const cluster = new Cluster(etcd, keys);
  let joinedTo: string | undefined;
  const exit = exitWith(logger);
  /** A wiped etcd answers like a new one, and watches of it report nothing. */
  const assertThere = async (): Promise<ClusterRecord | undefined> => {
    const found = await cluster.read();
    if (joinedTo !== undefined && found?.id !== joinedTo) exit(LOST);
    return found;
  };
  const onRejoin = (): void => {
    void assertThere().catch(() => undefined);
    offering.announceAgain();
  };
  const link = openReplicaCoordination({ etcd, keys, self: told, leaseSeconds, onRejoin, logger });
  undo.push(() => link.close());
  const files = new SharedFiles({ ...ground, secrets: keys.secrets, root: data.root });
  const opened = deferred<Opened>();
  opened.promise.catch(() => undefined);
  // A replica that fails to start may already be elected: its term must not wait for it.
  undo.push(async () => opened.reject(new TermEndedError()));
  let identity: PeerIdentity | undefined;
  let reachability: Reachability | undefined;
  const mirror = repository && openMirror(ground, { link, repository, identity: () => identity });
  const offering = new EtcdRecovery({ self, cluster, link, repository, mirror });
  undo.push(() => offering.close());
  const role = new Role({
    logger,
    exit,
    eligible: async (signal) => {
      const isThere = (await assertThere()) !== undefined;
      if (!isThere || (await offering.isAhead())) return await offering.compete();
      await upToDate(mirror, data.root, signal);
      await offering.deferToOthers(signal);
      // A replica that its peers may not reach lets others lead.
      const isReached = (await reachability?.reachesItself()) ?? true;
      if (!isReached) await sleep(UNREACHED_MS, undefined, { signal });
    },
    found: async (term) => {
      if ((await assertThere()) === undefined) await found(ground, { term, cluster, files, url });
    },
    open: async (term, steps) => {
      steps.begin('the start of this replica');
      const lease = await readLease(ground, term);
      const parts = { ...ground, ...(await inTerm(opened.promise, term)), link, cluster, files };
      const issuer = options.publicUrl ?? (await cluster.read())?.url ?? url;
      const openEngine = engineOpener(etcd, lease);
      const own = { mirror, issuer, openEngine, lease, trimmed: role.trimmed.bind(role), steps };
      return await openLeader({ ...parts, ...own }, term);
    },
  });
  link.lead(role);
  const record = await joined(cluster);
  if (record.root !== undefined) await repository?.assertRoot(record.root);
  joinedTo = record.id;
  const stay = cluster.follow(record.id, () => exit(LOST));
  undo.push(() => stay.close());
  await files.pull();
  files.follow();
  undo.push(() => files.close());
  return {
    link,
    role,
    leaders: leadersOf(link, () => reachability),
    peer,
    open: (parts) => {
      identity = parts.identity;
      reachability = new Reachability({
        ...{ link, self, address: addressOf(peer), addressOf, identity, logger },
      });
      undo.push(async () => await reachability?.close());
      mirror?.follow();
      undo.push(async () => await mirror?.stop());
      opened.resolve(parts);
    },
    askedByPeer: () => reachability?.askedByPeer(),
    current: () => offering.current(),
    get behind() {
      return offering.problem;
    },
    settled: async () => {
      await link.waitForLeader(FIRST_LEADER_MS);
      await files.pull();
    },
    maintain: (signal) => maintain({ role, mirror }, signal),
    snapshot: () => snapshot({ role, link, mirror }),
  };
}

function exitWith(logger: ReplicaContext['logger']): (reason: string) => never {
  return (reason) => {
    logger.fatal(reason);
    process.exit(1);
  };
}

function leadersOf(
  link: ReplicaCoordination,
  reachability: () => Reachability | undefined,
): Leaders {
  return {
    get leader() {
      return link.leader;
    },
    get silentMs() {
      return link.silentMs;
    },
    get isReached() {
      return reachability()?.reachesLeader ?? true;
    },
    onLeader: (listener) => link.onLeader(listener),
  };
}

async function readLease({ etcd, keys }: ReplicaContext, term: Term): Promise<ReadLease> {
  const handedOver = await isHandedOver(etcd, keys);
  return new ReadLease({ etcd, key: keys.leader, term, isHandedOver: handedOver });
}

function snapshot(of: {
  readonly role: Role;
  readonly link: ReplicaCoordination;
  readonly mirror: Mirror | undefined;
}): RoleSnapshot {
  const { role, link, mirror } = of;
  const isLeader = role.leader !== undefined;
  return {
    ...role.counts,
    isLeader,
    // Without etcd it would not learn that the leader has stopped leading.
    hasLeader: isLeader || (link.leader?.ready === true && !isDeaf(link)),
    replicas: link.replicas.length,
    mirrorLag: mirror && Math.max(0, (mirror.wanted ?? 0) - (mirror.sequence ?? 0)),
  };
}

/** The leader maintains the repository while it leads; the mirror does before and after that. */
async function maintain(
  { role, mirror }: { readonly role: Role; readonly mirror: Mirror | undefined },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const here = role.leader?.service.platform.repository ?? mirror;
    if (here === undefined || (await here.maintainFully(signal))) return;
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Resolves when a replica has created the platform. */
async function joined(cluster: Cluster): Promise<ClusterRecord> {
  for (;;) {
    const record = await cluster.read();
    if (record !== undefined) return record;
    await sleep(POLL_MS);
  }
}

function openMirror(
  ground: ReplicaContext,
  of: {
    link: ReplicaCoordination;
    repository: LocalRepository;
    identity: () => PeerIdentity | undefined;
  },
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
    onMirrored: (sequence) => link.publishMirrored(sequence),
  });
}

/** Delay of an election by a replica whose mirror is behind. */
const BEHIND_MS = 1_000;

/** Delay by a replica whose disk is nearly full. */
const CRAMPED_MS = 4_000;
const LEAST_ROOM = 64 * 1024 * 1024;

async function upToDate(
  mirror: Mirror | undefined,
  root: string,
  signal: AbortSignal,
): Promise<void> {
  const { bavail, bsize } = await statfs(root);
  if (bavail * bsize < LEAST_ROOM) await sleep(CRAMPED_MS, undefined, { signal });
  if (mirror === undefined) return;
  const done = mirror.catchUp();
  done.catch(() => undefined);
  await Promise.race([done, sleep(BEHIND_MS, undefined, { signal })]);
}

/** Creates the shared files of a new platform: encryption keys and the CA. */
async function found(
  { data, clock, options }: ReplicaContext,
  of: { term: Term; cluster: Cluster; files: SharedFiles; url: string },
): Promise<void> {
  const { term, cluster, files, url } = of;
  await files.pull();
  await ensurePeerAuthority(data.root, clock);
  await openTls({ options, data, clock });
  await ensureIdentities({ options, data });
  await files.push(term);
  await cluster.createRecord(term, url);
}

function engineOpener(
  etcd: Etcd,
  { begins }: ReadLease,
): Parameters<typeof openLeader>[0]['openEngine'] {
  return async (prefix, term, { onError, onRecovered }) =>
    await openEtcdEngine({
      etcd,
      prefix,
      fence: term.fence,
      signal: term.signal,
      begins,
      ended: () => new TermEndedError(),
      onError,
      ...(onRecovered === undefined ? {} : { onRecovered }),
    });
}

async function inTerm<T>(promise: Promise<T>, { signal }: Term): Promise<T> {
  return await new Promise((resolve, reject) => {
    const over = (): void => reject(new TermEndedError());
    signal.addEventListener('abort', over, { once: true });
    if (signal.aborted) over();
    promise.then(resolve, reject);
  });
}

/** `host:port`, also for an IPv6 address in brackets. */
export function addressOf(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return { host, port: Number(address.slice(colon + 1)) };
}
