/** Public names of `replication/`. */
export { Cluster, type ClusterRecord, type RecoveryCandidate } from './cluster.ts';
export type { KeyFollower } from './follow-keys.ts';
export { isHandedOver } from './hand-over.ts';
export { type Keys, keysBelow } from './keys.ts';
export { LedRepository } from './led-repository.ts';
export { type RecordContext, readHead } from './log-record.ts';
export { Mirror } from './mirror.ts';
export {
  ensurePeerAuthority,
  openPeerIdentity,
  PEER_NAME,
  type PeerIdentity,
} from './peer-identity.ts';
export { answerReadIndex, NEWEST_HEADERS, NEWEST_PROTOCOL, ReadIndex } from './read-index.ts';
export { ReadLease } from './read-lease.ts';
export {
  type LeaderContext,
  type Leading,
  openReplicaCoordination,
  type ReplicaCoordination,
} from './replica-coordination.ts';
export { RepositoryLog } from './repository-log.ts';
export { aborted } from './session.ts';
export { SharedFiles } from './shared-files.ts';
export { assertHeld, type Term, TermEndedError } from './term.ts';
export { type LogSize, trimLog } from './trim.ts';
