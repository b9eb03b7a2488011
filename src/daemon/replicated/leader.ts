/**
 * The leader: the services of a single daemon, on the shared state, for the duration of a term. It has a
 * server but no listener: the proxies of all replicas forward requests to it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock, ObjectKey } from '../../apimachinery/index.ts';
import type { Auditor } from '../../audit/index.ts';
import type { DataDirectory } from '../../bootstrap/index.ts';
import { compactPeriodically, type Etcd } from '../../etcd/index.ts';
import { readRef, runGit } from '../../git/index.ts';
import type { Kind } from '../../kinds/index.ts';
import type { Committed } from '../../registry/index.ts';
import { type ObjectRegistry, openIdempotentRegistry } from '../../registry/index.ts';
import {
  type Cluster,
  type Keys,
  LedRepository,
  type LogSize,
  type Mirror,
  type ReadLease,
  type RecordContext,
  type ReplicaCoordination,
  RepositoryLog,
  type SharedFiles,
  type Term,
  trimLog,
} from '../../replication/index.ts';
import type { JobObserver } from '../../scheduler/index.ts';
import { buildServer, type ReplicaSummary } from '../../server/index.ts';
import type { EtcdStateEngine, Writer } from '../../state/index.ts';
import type { Logger, SlowSteps } from '../../telemetry/index.ts';
import type { PushReception } from '../network/push-reception.ts';
import type { DaemonOptions } from '../options.ts';
import type { Platform } from '../platform.ts';
import { openService, type Service } from '../service.ts';
import type { ReplicaOptions } from './replica-options.ts';
import type { EngineListener } from './replicated-platform.ts';

type CommitReaders = Pick<Platform, 'branch' | 'history' | 'repository'>;

export interface LeaderParts extends RecordContext {
  readonly options: DaemonOptions;
  readonly data: DataDirectory;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly audit: Auditor;
  /** Observer of the replica, which outlives the term. */
  readonly jobs: JobObserver;
  readonly pushes: PushReception;
  readonly etcd: Etcd;
  readonly keys: Keys;
  readonly link: ReplicaCoordination;
  /** Id of this replica. */
  readonly self: string;
  readonly cluster: Cluster;
  readonly files: SharedFiles;
  /** Undefined: a remote repository is followed. */
  readonly mirror: Mirror | undefined;
  readonly issuer: string;
  readonly base: () => string;
  readonly replica: Pick<ReplicaOptions, 'compactEvery'>;
  /** Called every few seconds with the size of the log in etcd. */
  readonly trimmed: (size: LogSize) => void;
  /** Opens an engine whose writes are valid during the term. */
  readonly openEngine: (
    prefix: string,
    term: Term,
    listener: EngineListener,
  ) => Promise<EtcdStateEngine>;
  readonly lease: ReadLease;
  /** Logs the step of the takeover when it takes long. */
  readonly steps: Pick<SlowSteps, 'begin'>;
}

export interface Leader {
  readonly service: Service;
  /** Read index of the records that replicas read. */
  readonly writer: Writer;
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Answers requests in flight, unless the term is over, and closes everything. */
  close(): Promise<void>;
}

const TRIM_EVERY_MS = 5_000;

export async function openLeader(parts: LeaderParts, term: Term): Promise<Leader> {
  const undo: (() => Promise<void>)[] = [];
  try {
    return await open(parts, term, undo);
  } catch (error) {
    parts.steps.begin('closing after a failure');
    await undoAll(undo, parts.logger, term);
    throw error;
  }
}

async function open(
  parts: LeaderParts,
  term: Term,
  undo: (() => Promise<void>)[],
): Promise<Leader> {
  const { etcd, keys, files, pushes, cluster, mirror, lease, steps } = parts;
  steps.begin('the shared files');
  await files.pull();
  const led = mirror && (await takeOver({ ...parts, mirror }, term, undo));
  undo.push(() => pushes.refuse(NOT_HERE));
  const used = await etcd.range({
    key: keys.clustersState,
    prefix: true,
    limit: 1,
    keysOnly: true,
  });
  let state: EtcdStateEngine | undefined;
  const openEngine = async (
    of: 'platform' | 'clusters',
    listener: EngineListener,
  ): Promise<EtcdStateEngine> => {
    if (of === 'clusters') return await parts.openEngine(keys.clustersState, term, listener);
    state = await parts.openEngine(keys.platformState, term, listener);
    return state;
  };
  const onCloseError = (err: unknown): void => logCloseError(err, parts.logger, term);
  const clustersUsed = used.kvs.length > 0;
  const replicated = { term, repository: led, clustersUsed, openEngine };
  const service = await openService({ ...parts, replicated }, onCloseError);
  undo.push(() => service.close(onCloseError));
  steps.begin('recent writes');
  const { repository } = service.platform;
  const head = await repository.head();
  if (head !== undefined) await cluster.root(term, await repository.rootCommit(head));
  await files.push(term);
  undo.push(files.keepPushing(term));
  const registry = await openRegistry(service);
  const app = buildServer({ ...service.dependencies, registry, replicas: replicasOf(parts) }, {});
  undo.push(async () => {
    await app.close();
    // The server never listened, so it does not emit `close` itself.
    app.server.emit('close');
  });
  await app.ready();
  if (await cluster.isRecovering()) {
    await service.platform.store.flush();
    await cluster.recovered(term);
  }
  // A ready leader may hand over, so the lease must also cover the leaders before it.
  await lease.begins;
  const started = await service.start();
  undo.push(() => started.close());
  undo.push(compacting(parts, term));
  return {
    service,
    writer: leaderWriter({ lease, seen: () => state?.seenRevision() }),
    handle: (request, response) => app.routing(request, response),
    close: () => undoAll(undo, parts.logger, term),
  };
}

/** Read index at the leader, which alone writes the records. */
function leaderWriter(of: {
  readonly lease: Pick<ReadLease, 'isValid' | 'confirm'>;
  /** Last revision that the state has seen; undefined: the state is not open yet. */
  readonly seen: () => bigint | Promise<bigint> | undefined;
}): Writer {
  const { lease, seen } = of;
  return {
    known: () => {
      const revision = seen();
      return typeof revision === 'bigint' && lease.isValid() ? revision : undefined;
    },
    ask: async () => {
      try {
        // Both values must be from after the call.
        const revision = seen();
        const isSure = lease.isValid() || (await lease.confirm());
        return isSure ? await revision : undefined;
      } catch {
        return undefined;
      }
    },
  };
}

function replicasOf({ link, self }: LeaderParts): () => ReplicaSummary {
  return () => ({
    leader: self,
    items: link.replicas.map(({ id, url, version }) => ({ id, url, version })),
  });
}

/** Clients retry writes that the end of a term interrupted, with the idempotency key in its commit. */
async function openRegistry({ platform }: Service): Promise<ObjectRegistry> {
  const { registry, repository } = platform;
  if (!isComplete(registry)) return registry;
  return await openIdempotentRegistry({
    registry,
    repository,
    committed: (kind, key, commit) => objectAtCommit(platform, { kind, key, commit }),
  });
}

/**
 * The object as a commit left it, for a client that retries a write.
 * Throws 404 for a commit that is not on the branch.
 */
export async function objectAtCommit(
  { branch, history, repository }: CommitReaders,
  of: { readonly kind: Kind; readonly key: ObjectKey; readonly commit: string },
): Promise<Committed> {
  const { kind, key, commit } = of;
  // A write that was interrupted after its commit is not applied yet.
  await branch.sync();
  const { catalog, revision } = branch.state;
  const now = catalog.object(key);
  // The index of the whole history is built only if the object has changed since.
  if (now !== undefined && revision !== undefined) {
    const { birth } = now.identity;
    const last = await lastChange(repository, revision, now.place.path);
    const isNewest = last === commit && branch.state.catalog.object(key) === now;
    if (isNewest) return { object: undefined, isFirst: birth.id === commit, isNewest };
  }
  const past = await history.objectAt(kind, key, await history.find({ revision: commit }));
  const isFirst = past?.source.identity.birth.id === commit;
  return { object: past?.object, isFirst, isNewest: false };
}

async function lastChange(
  repository: CommitReaders['repository'],
  revision: string,
  path: string,
): Promise<string> {
  const args = ['--literal-pathspecs', 'rev-list', '-1', revision, '--', path];
  return (await runGit(repository, args)).toString().trim();
}

/** Commits of a review branch are not on the served branch, so their keys cannot be found in it. */
function isComplete(registry: ObjectRegistry): registry is Required<ObjectRegistry> {
  return registry.apply !== undefined;
}

function compacting({ etcd, keys, logger, replica }: LeaderParts, term: Term) {
  const { compactEvery } = replica;
  if (compactEvery === undefined) return async (): Promise<void> => undefined;
  const onError = (err: unknown): void => {
    if (term.isHeld()) logger.warn({ err }, 'The history of etcd cannot be compacted');
  };
  const stop = compactPeriodically({ etcd, key: keys.leader, every: compactEvery, onError });
  return async (): Promise<void> => stop();
}

const NOT_HERE = 'This replica does not lead: push over HTTP, to any replica';

/** Takes the repository over from the mirror; from now on every change of the branch goes through etcd. */
async function takeOver(
  parts: LeaderParts & { readonly mirror: Mirror },
  term: Term,
  undo: (() => Promise<void>)[],
): Promise<LedRepository> {
  const { mirror, data, options, logger, steps } = parts;
  steps.begin('the mirror of the repository');
  const gitDir = data.repository;
  const ref = `refs/heads/${options.branch}`;
  await mirror.stop();
  undo.push(async () => mirror.follow());
  steps.begin('the log in etcd');
  const log = await RepositoryLog.open({ ...parts, term });
  const found = await readRef(gitDir, ref);
  if (log.head === undefined && found !== undefined) await log.begin(found);
  const ahead = await mirror.ahead();
  if (ahead !== undefined) {
    logger.warn(
      { commit: ahead, branch: log.head?.commit },
      'The branch continues from the commits of this replica',
    );
    await log.resume(ahead);
  }
  await mirror.catchUp();
  const trimming = setInterval(() => {
    trimLog({ ...parts, term, log, replicas: () => parts.link.replicas })
      .then((size) => {
        parts.trimmed(size);
        if (size.isForced) logger.warn('Commits leave the log although no other replica has them');
      })
      .catch((err: unknown) => {
        if (term.isHeld()) logger.warn({ err }, 'The log in etcd cannot be trimmed');
      });
  }, TRIM_EVERY_MS).unref();
  undo.push(async () => clearInterval(trimming));
  const onStuck = (err: unknown): void => {
    if (!term.isHeld()) return;
    logger.error(
      { err },
      'The repository of this leader cannot follow the branch: another replica should lead',
    );
    parts.link.stepDown();
  };
  return new LedRepository({ log, mirror, gitDir, ref, logger, onStuck });
}

async function undoAll(undo: (() => Promise<void>)[], logger: Logger, term: Term): Promise<void> {
  for (const step of undo.splice(0).reverse()) {
    await step().catch((err: unknown) => logCloseError(err, logger, term));
  }
}

function logCloseError(err: unknown, logger: Logger, term: Term): void {
  // Clients never saw what a term that is over did not persist.
  if (term.isHeld()) logger.error({ err }, 'A component did not stop cleanly');
  else logger.debug({ err }, 'A part ended with the term');
}
