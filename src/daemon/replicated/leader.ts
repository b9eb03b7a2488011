/**
 * The leader: everything that a daemon alone is, on the state that replicas share, for as long as a
 * term lasts. It has a server, but no listener: requests come from the fronts of all replicas.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../apimachinery/index.ts';
import type { Auditor } from '../../audit/index.ts';
import type { DataDirectory } from '../../bootstrap/index.ts';
import { compactPeriodically, type Etcd } from '../../etcd/index.ts';
import { readRef } from '../../git/index.ts';
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
import { buildServer } from '../../server/index.ts';
import type { EtcdStateEngine, Writer } from '../../state/index.ts';
import type { Logger, SlowSteps } from '../../telemetry/index.ts';
import type { PushReception } from '../network/push-reception.ts';
import type { DaemonOptions } from '../options.ts';
import { openService, type Service } from '../service.ts';
import { leaderWriter } from './leader-read-index.ts';
import { objectAtCommit } from './object-at-commit.ts';
import type { ReplicaOptions } from './replica-options.ts';
import type { EngineListener } from './replicated-platform.ts';

export interface LeaderParts extends RecordContext {
  readonly options: DaemonOptions;
  readonly data: DataDirectory;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly audit: Auditor;
  /** Of this replica, which outlives the term. */
  readonly jobs: JobObserver;
  readonly pushes: PushReception;
  readonly etcd: Etcd;
  readonly keys: Keys;
  readonly link: ReplicaCoordination;
  /** Our own id. */
  readonly self: string;
  readonly cluster: Cluster;
  readonly files: SharedFiles;
  /** Undefined: a branch elsewhere is followed. */
  readonly mirror: Mirror | undefined;
  readonly issuer: string;
  readonly base: () => string;
  readonly replica: Pick<ReplicaOptions, 'compactEvery'>;
  /** Told how large the log in etcd is, every few seconds. */
  readonly trimmed: (size: LogSize) => void;
  /** An engine whose writes count as long as the term does. */
  readonly openEngine: (
    prefix: string,
    term: Term,
    listener: EngineListener,
  ) => Promise<EtcdStateEngine>;
  readonly lease: ReadLease;
  /** Told what is being taken over. */
  readonly steps: Pick<SlowSteps, 'begin'>;
}

export interface Leader {
  readonly service: Service;
  /** What it knows of the records that replicas read. */
  readonly writer: Writer;
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Answers what is in flight, unless the term is over, and lets go of everything. */
  close(): Promise<void>;
}

const TRIM_EVERY_MS = 5_000;

export async function openLeader(parts: LeaderParts, term: Term): Promise<Leader> {
  const undo: (() => Promise<void>)[] = [];
  try {
    return await open(parts, term, undo);
  } catch (error) {
    parts.steps.begin('letting go, as something failed');
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
  undo.push(async () => pushes.refuse(NOT_HERE));
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
  steps.begin('what was written lately');
  const { repository } = service.platform;
  const head = await repository.head();
  if (head !== undefined) await cluster.root(term, await repository.rootCommit(head));
  await files.push(term);
  undo.push(files.keepPushing(term));
  const registry = await openRegistry(service);
  const app = buildServer({ ...service.dependencies, registry }, {});
  undo.push(async () => {
    await app.close();
    // It never listened, so it would not say that it closed.
    app.server.emit('close');
  });
  await app.ready();
  if (await cluster.isRecovering()) {
    await service.platform.store.flush();
    await cluster.recovered(term);
  }
  // One that is ready may hand over, which speaks for the leaders before, too.
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

/** What was under way when the last term ended is sent again, with the key that its commit has. */
async function openRegistry({ platform }: Service): Promise<ObjectRegistry> {
  const { registry, repository } = platform;
  if (!isComplete(registry)) return registry;
  return await openIdempotentRegistry({
    registry,
    repository,
    committed: (kind, key, commit) => objectAtCommit(platform, { kind, key, commit }),
  });
}

/** Writes for review are pushed elsewhere: their commits are not on the branch. */
function isComplete(registry: ObjectRegistry): registry is Required<ObjectRegistry> {
  return registry.apply !== undefined;
}

function compacting({ etcd, keys, logger, replica }: LeaderParts, term: Term) {
  const { compactEvery } = replica;
  if (compactEvery === undefined) return async (): Promise<void> => undefined;
  const onError = (err: unknown): void => {
    if (term.isHeld()) logger.warn({ err }, 'The past of etcd cannot be forgotten');
  };
  const stop = compactPeriodically({ etcd, key: keys.leader, every: compactEvery, onError });
  return async (): Promise<void> => stop();
}

const NOT_HERE = 'This replica does not lead, or no more: push over HTTP, to any of them';

/** The repository here is where the branch is; from now on, whatever moves it passes etcd. */
async function takeOver(
  parts: LeaderParts & { readonly mirror: Mirror },
  term: Term,
  undo: (() => Promise<void>)[],
): Promise<LedRepository> {
  const { mirror, data, options, logger, steps } = parts;
  steps.begin('the copy of the repository');
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
      'The branch goes on from what is here',
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
    logger.error({ err }, 'The repository here cannot follow the branch: another should lead');
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
  if (term.isHeld()) logger.error({ err }, 'A part did not stop cleanly');
  else logger.debug({ err }, 'A part ended with the term');
}
