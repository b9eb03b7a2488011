/** Dependencies of the branch, and the observer of its progress. */
import type { Clock } from '../apimachinery/index.ts';
import type { FileReader, ObjectChange } from '../catalog/index.ts';
import type { Repository } from '../git/index.ts';
import type { KindTable } from '../kinds/index.ts';
import type { Store } from '../state/index.ts';
import type { PruneBudget } from './pushes/prune-budget.ts';
import type { Sealer } from './writes/sealer.ts';

/** Events of the branch. Called synchronously; must not throw. */
export interface BranchObserver {
  /** Commits of the API became durable. */
  published(commits: number, milliseconds: number): void;
  /** Readers see a new revision. `source`: the API or a push moved the branch. */
  applied(event: {
    revision: string;
    source: 'api' | 'push';
    changes: readonly ObjectChange[];
    milliseconds: number;
  }): void;
  /** The whole history was replayed. */
  replayed(reason: string, milliseconds: number): void;
}

export interface BranchOptions {
  readonly repository: Repository;
  readonly store: Store;
  readonly kinds: KindTable;
  readonly reader: FileReader;
  /** Folder with the manifests; '' is the whole tree. */
  readonly under: string;
  readonly clock: Clock;
  /**
   * Digest of the configuration that verdicts depend on. A catalog persisted under another digest
   * is not used.
   */
  readonly rules: string;
  readonly observer: BranchObserver;
  /** Removals that need no approval; undefined: all. */
  readonly budget: PruneBudget | undefined;
  /** Encrypts API writes; absent: they are written in plaintext. */
  readonly sealer?: Sealer | undefined;
}
