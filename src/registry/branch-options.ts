/** What it takes to keep catalog and state in step with a branch, and who is told of it. */
import type { Clock } from '../apimachinery/index.ts';
import type { FileReader, ObjectChange } from '../catalog/index.ts';
import type { Repository } from '../git/index.ts';
import type { KindTable } from '../kinds/index.ts';
import type { Store } from '../state/index.ts';
import type { PruneBudget } from './pushes/prune-budget.ts';
import type { Sealer } from './writes/sealer.ts';

/** What others want to know of the branch; called synchronously, must not throw. */
export interface BranchObserver {
  /** Commits of the API became durable. */
  published(commits: number, milliseconds: number): void;
  /** Readers see a new revision. `source`: who moved the branch there. */
  applied(event: {
    revision: string;
    source: 'api' | 'push';
    changes: readonly ObjectChange[];
    milliseconds: number;
  }): void;
  /** All of history was read. */
  replayed(reason: string, milliseconds: number): void;
}

export interface BranchOptions {
  readonly repository: Repository;
  readonly store: Store;
  readonly kinds: KindTable;
  readonly reader: FileReader;
  /** The folder that is read; '' is the whole tree. */
  readonly under: string;
  readonly clock: Clock;
  /** What verdicts depend on beside commits; a catalog that was kept under others is not used. */
  readonly rules: string;
  readonly observer: BranchObserver;
  /** What may go without consent; undefined: everything. */
  readonly budget: PruneBudget | undefined;
  /** Seals what writes of the API bring; absent: they are written as they are. */
  readonly sealer?: Sealer | undefined;
}
