/** What is different about a platform that several replicas share, for the one that leads it. */
import type { LedRepository, Term } from '../../replication/index.ts';
import type { StateEngine } from '../../state/index.ts';

export interface EngineListener {
  onError(error: unknown): void;
  onRecovered?(): void;
}

export interface ReplicatedPlatform {
  readonly term: Term;
  /** Where the state of the platform is kept, and what is in the clusters that are served. */
  openEngine(of: 'platform' | 'clusters', listener: EngineListener): Promise<StateEngine>;
  /** Whether anything is in the clusters already. */
  readonly clustersUsed: boolean;
  /** Undefined: a branch elsewhere is followed. */
  readonly repository: LedRepository | undefined;
}
