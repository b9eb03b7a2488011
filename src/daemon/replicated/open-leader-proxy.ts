/**
 * The proxy of a replica: serves reads from a store that follows the leader's, and forwards everything
 * else to the leader. It writes nothing.
 */

import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { FastifyInstance } from 'fastify';
import { type Clock, StatusError, unavailable } from '../../apimachinery/index.ts';
import { FailedLogins } from '../../auth/index.ts';
import type { DataDirectory } from '../../bootstrap/index.ts';
import { buildKindTable, CLIENT_KINDS, CORE_KINDS, type KindTable } from '../../kinds/index.ts';
import { ReadableView, readOnlyRegistry } from '../../registry/index.ts';
import type { ForwardOptions } from '../../server/index.ts';
import {
  buildServer,
  type FlowClassifier,
  type HealthChecks,
  LeaderProxy,
  type LeaderProxyOptions,
  type ServerDependencies,
  type ServerOptions,
  shownKey,
  USES_PATH,
} from '../../server/index.ts';
import {
  type FollowingStore,
  openFollowingStore,
  type RecordCodec,
  type RecordFeed,
  type Writer,
} from '../../state/index.ts';
import {
  createMetrics,
  createReplicaMetrics,
  type Logger,
  type Metrics,
  scrapeReplica,
} from '../../telemetry/index.ts';
import { VERSION } from '../../version.ts';
import { type AccessControl, startAccessControl } from '../access/access-control.ts';
import { type ConfigService, openConfig } from '../config/config-service.ts';
import { openFlowClassifier } from '../network/flow-classification.ts';
import { clientUrl } from '../network/listener.ts';
import type { DaemonOptions } from '../options.ts';
import { followTokens } from './followed-tokens.ts';

const POST_TIMEOUT_MS = 5000;

export interface LeaderProxyParts
  extends Pick<LeaderProxyOptions, 'leaders' | 'route' | 'timeoutMs' | 'answerMs'> {
  readonly options: Pick<
    DaemonOptions,
    'apiGroup' | 'proxyPrefix' | 'configFile' | 'environment' | 'publicUrl' | 'listen' | 'hostnames'
  >;
  readonly data: Pick<DataDirectory, 'signingKey'>;
  readonly feed: RecordFeed;
  readonly codec: RecordCodec;
  /** Read index of the leader. Absent: the feed is asked for the newest revision. */
  readonly writer?: Writer;
  /** Base URL of the listener, for clients without `--public-url`. */
  readonly url: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Reason why the newest record of the feed may be outdated; undefined: it is not. */
  readonly behind?: () => string | undefined;
  /** Metrics of the leader, while it is in this process. */
  readonly leading?: () => Metrics | undefined;
  /** Further checks of `/readyz`. */
  readonly ready?: HealthChecks['ready'];
}

export interface ReplicaProxy {
  readonly store: FollowingStore;
  readonly kinds: KindTable;
  readonly config: ConfigService;
  readonly metrics: Metrics;
  /** Builds a server for clients that does not listen yet. */
  server(
    audit: ServerDependencies['audit'],
    options: Pick<ServerOptions, 'listener'>,
  ): FastifyInstance;
  close(): Promise<void>;
}

/** Time without confirmation that reads are current, after which `/readyz` fails. */
const UNSURE_AFTER_MS = 10_000;
const BEHIND_RETRY_SECONDS = 1;

/** Returns at once: `/readyz` fails until the state is loaded. */
export function openLeaderProxy(parts: LeaderProxyParts): ReplicaProxy {
  const { options, feed, codec, writer, clock, logger } = parts;
  const onError = (err: unknown): void => logger.error({ err }, 'The state cannot be followed');
  const kinds = buildKindTable(options.apiGroup);
  const store = openFollowingStore({ feed, codec, writer, clock, onError });
  const metrics = createMetrics({
    objects: () => countObjects(kinds, store),
    lastCommitAge: () => undefined,
    waitingWrites: () => 0,
    hold: () => undefined,
  });
  createReplicaMetrics(metrics.registry, store);
  const config = openConfig({ options, kinds, store, clock, logger, metrics });
  const access = startAccessControl({
    kinds,
    store,
    clock,
    limits: () => config.current.auth,
    projectPrefix: () => config.current.projectNamespacePrefix,
    saveUses: (uses) => reportUses(parts, uses),
    onError: (err) => logger.warn({ err }, 'Uses of access keys could not be reported yet'),
  });
  const root = `/${options.proxyPrefix}/management`;
  const isFilled = filledOnce(store);
  const known = {
    get loaded() {
      return isFilled();
    },
    get resourceVersion() {
      return store.resourceVersion;
    },
    barrier: async (timeoutMs?: number) => {
      await store.barrier(timeoutMs);
      const problem = parts.behind?.();
      if (problem !== undefined) throw unavailable(problem, BEHIND_RETRY_SECONDS);
    },
    reached: (version: number, timeoutMs?: number) => store.reached(version, timeoutMs),
  };
  const fairness = openFlowClassifier(metrics);
  const reading = { ...parts, store, isFilled, kinds, metrics, fairness, config, access, root };
  const isToken = followTokens({ keyFile: parts.data.signingKey, store, access, clock });
  const front = new LeaderProxy({
    ...parts,
    store: known,
    kinds,
    root,
    coreGroups: [...CORE_KINDS.groups, ...CLIENT_KINDS.groups],
    isKnown: (headers) => {
      const key = shownKey({ signIn: placeOf(reading) }, headers);
      return key !== undefined && ('user' in access.authenticate(key) || isToken(key));
    },
  });
  const failedLogins = new FailedLogins(clock);
  return {
    store,
    kinds,
    config,
    metrics,
    server: (audit, options) =>
      buildServer({ ...readingDependencies(reading), failedLogins, audit }, { ...options, front }),
    close: async () => {
      await access.close().catch(() => undefined);
      await config.close();
      await store.close();
    },
  };
}

/**
 * The first leader of an empty etcd opens an empty state before it fills it. Until the catalog has
 * written its metadata there, no key would be known here.
 */
function filledOnce(store: Pick<FollowingStore, 'loaded' | 'documents'>): () => boolean {
  let isFilled = false;
  return () => {
    isFilled ||= store.loaded && store.documents('').next().done !== true;
    return isFilled;
  };
}

interface ReadContext extends LeaderProxyParts {
  readonly store: FollowingStore;
  readonly isFilled: () => boolean;
  readonly kinds: KindTable;
  readonly metrics: Metrics;
  readonly fairness: FlowClassifier;
  readonly config: ConfigService;
  readonly access: AccessControl;
  readonly root: string;
}

function readingDependencies(of: ReadContext): Omit<ServerDependencies, 'failedLogins' | 'audit'> {
  const { store, kinds, metrics, fairness, config, access, root, logger, clock } = of;
  const readable = new ReadableView(store, kinds);
  return {
    kinds,
    store: readable,
    registry: readOnlyRegistry(readable),
    authenticate: access.authenticate,
    authorizer: access.authorizer,
    rights: access.rules,
    identities: access.identities,
    health: healthOf(of),
    metrics: {
      ...metrics,
      scrape: () => scrapeReplica(metrics.registry, of.leading?.()?.registry),
    },
    fairness,
    config,
    logger,
    clock,
    version: VERSION,
    root,
    core: { kinds: CORE_KINDS, store: readable, registry: readOnlyRegistry(readable) },
    clientState: onlyOnLeader('state of clients', { kinds: CLIENT_KINDS }),
    clusters: { prefix: root, find: () => undefined },
    signIn: onlyOnLeader('signing in', placeOf(of)),
    history: onlyOnLeader('history'),
    planner: onlyOnLeader('planner'),
    signatures: onlyOnLeader('signatures'),
    git: onlyOnLeader('git'),
    sync: onlyOnLeader('sync'),
    oidc: onlyOnLeader('oidc'),
    tokens: onlyOnLeader('tokens'),
    tenants: onlyOnLeader('tenants'),
    costs: onlyOnLeader('costs'),
    secretStore: onlyOnLeader('secret store'),
    suspensions: onlyOnLeader('suspensions'),
  };
}

/** The name of the session cookie depends on the base URL. */
function placeOf({ options, config, url }: ReadContext): { readonly baseUrl: string } {
  return {
    get baseUrl() {
      const { platformHost } = config.current;
      return (
        options.publicUrl ?? (platformHost ? `https://${platformHost}` : clientUrl(options, url()))
      );
    },
  };
}

/** Placeholder for a part whose requests are forwarded to the leader and never arrive here. */
function onlyOnLeader<T extends object>(part: string, known: object = {}): T {
  return new Proxy(known as T, {
    get: (target, name) => {
      if (Reflect.has(target, name)) return Reflect.get(target, name);
      throw new StatusError(503, 'ServiceUnavailable', `Only the leader has this: ${part}`, {});
    },
  });
}

function healthOf({ store, isFilled, ready, behind = () => undefined }: ReadContext): HealthChecks {
  const state = (): string | undefined => {
    if (!isFilled()) return 'the state is not read yet';
    if (store.unconfirmedMs <= UNSURE_AFTER_MS) return undefined;
    return 'etcd has not confirmed for a while that reads are current';
  };
  return { live: { ping: () => undefined }, ready: { state, recovery: behind, ...ready } };
}

function* countObjects(
  kinds: KindTable,
  store: Pick<FollowingStore, 'list'>,
): Iterable<{ kind: string; health: 'healthy' | 'degraded'; count: number }> {
  for (const { group, kind } of kinds.kinds) {
    yield { kind, health: 'healthy', count: store.list({ group, kind }).items.length };
  }
}

const USES_AT_ONCE = 2000;

/** Rejects when no leader accepts them: the next report includes them. */
async function reportUses(
  parts: Pick<LeaderProxyParts, 'leaders' | 'route'>,
  uses: ReadonlyMap<string, number>,
): Promise<void> {
  const all = [...uses];
  while (all.length > 0) {
    await postToLeader(parts, USES_PATH, Object.fromEntries(all.splice(0, USES_AT_ONCE)));
  }
}

/** Sends a request of this replica itself. Rejects unless the leader accepts it. */
async function postToLeader(
  { leaders, route }: Pick<ForwardOptions, 'leaders' | 'route'>,
  path: string,
  body: object,
): Promise<void> {
  const { leader } = leaders;
  if (leader?.ready !== true) throw new Error('no replica leads at the moment');
  const { host, port, agent, tls } = route(leader);
  const send = tls ? tlsRequest : plainRequest;
  const signal = AbortSignal.timeout(POST_TIMEOUT_MS);
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const code = await new Promise<number | undefined>((resolve, reject) => {
    const post = send({ host, port, agent, method: 'POST', path, headers, signal }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode));
    });
    post.once('error', reject);
    post.end(text);
  });
  if (code !== 204) throw new Error(`the leader answered ${code} to ${path}`);
}
