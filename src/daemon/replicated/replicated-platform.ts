/** Parts of a replicated platform that its leader provides. */
import type { LedRepository, Term } from '../../replication/index.ts';
import type { StateEngine } from '../../state/index.ts';

export interface EngineListener {
  onError(error: unknown): void;
  onRecovered?(): void;
}

export interface ReplicatedPlatform {
  readonly term: Term;
  /** Opens the engine of the platform's state, or of the state of the clusters. */
  openEngine(of: 'platform' | 'clusters', listener: EngineListener): Promise<StateEngine>;
  /** True if the state of the clusters is not empty. */
  readonly clustersUsed: boolean;
  /** Undefined: a remote repository is followed. */
  readonly repository: LedRepository | undefined;
}
