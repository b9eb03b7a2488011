/** Public names of `server/`: other folders import this file alone. */
export type {
  Authenticate,
  ClusterRoot,
  ClusterRoots,
  CostService,
  GitService,
  HookService,
  Identities,
  OidcService,
  PushOutcome,
  ReplicaSummary,
  ServedConfig,
  ServerDependencies,
  SyncService,
} from './dependencies.ts';
export type { HealthChecks } from './documents/health.ts';
export type { TokenDocuments } from './documents/tokens.ts';
export { shownKey } from './filters/access.ts';
export { FlowClassifier } from './filters/flow-classifier.ts';
export { tlsOptions } from './filters/hardening.ts';
export type { ForwardOptions } from './leader-proxy/forward.ts';
export { isHandedOn } from './leader-proxy/headers.ts';
export { LeaderProxy, type LeaderProxyOptions } from './leader-proxy/leader-proxy.ts';
export { isDeaf, type Leaders } from './leader-proxy/leaders.ts';
export { handlePeer, type PeerService, USES_PATH } from './leader-proxy/peer.ts';
export { createListener, type Listener } from './listener.ts';
export { buildServer, type ServerOptions } from './server.ts';
export { startingHandler } from './starting.ts';
