/**
 * The catalog in memory, which may be ahead of what readers see: by one commit of the API, or at
 * the present head of the branch. Every step can be undone. Callers hold the mutex of `branch.ts`.
 */
import {
  Catalog,
  catalogDifference,
  type Folded,
  foldAhead,
  followedPaths,
  type ObjectChange,
  pathsWithDocuments,
  type ReplayContext,
  replay,
  restore,
  type StepResult,
  TreeView,
} from '../catalog/index.ts';
import type { HistoryCommit } from '../git/index.ts';
import type { BranchOptions } from './branch-options.ts';
import { PushedFiles } from './pushes/merge/pushed-files.ts';
import type { PreparedLayer, PreparedMove } from './pushes/push-dry-run.ts';
import type { EditedFile } from './writes/file-edits.ts';

/** A step to another revision, applied in memory, that readers do not see yet. */
interface FollowedStep {
  readonly changes: readonly ObjectChange[];
  readonly paths: Iterable<string>;
  /** True if it descends from the served revision. */
  readonly follows: boolean;
  /** Undoes the step. */
  undo(): void;
}

/** Limit of commits and changed files that are in memory together. A replay reads one large commit at a time. */
const MAX_FOLDED = 100_000;

type Options = Pick<
  BranchOptions,
  'repository' | 'store' | 'reader' | 'under' | 'rules' | 'observer'
>;

export class SpeculativeCatalog {
  readonly #options: Options;
  #folded: Folded;
  #expected: PreparedMove | undefined;
  /** A step is in progress or failed half-way: the catalog may be ahead of what readers see. */
  #uncertain = false;

  constructor(options: Options, folded: Folded) {
    this.#options = options;
    this.#folded = folded;
  }

  get revision(): string | undefined {
    return this.#folded.catalog.revision;
  }

  get catalog(): Catalog {
    return this.#folded.catalog;
  }

  get view(): TreeView {
    return this.#folded.view;
  }

  get isUncertain(): boolean {
    return this.#uncertain;
  }

  /** Marks the catalog as uncertain until `settle`. */
  markUncertain(): void {
    this.#uncertain = true;
  }

  /** Readers see the state of the catalog. */
  settle(): void {
    this.#uncertain = false;
  }

  /**
   * The catalog that readers see. While uncertain it is read from the state store, whatever the
   * catalog in memory has.
   */
  async visible(): Promise<Folded> {
    if (!this.#uncertain) return this.#folded;
    return (await persistedFold(this.#options)) ?? emptyFold(this.#options);
  }

  /** Applies a commit that is being built. */
  stage(commit: { id: string; committerTime: number }, edited: EditedFile): StepResult {
    const before = this.#folded;
    // Identities are counted from the first commit of a repository.
    if (before.catalog.revision === undefined) {
      this.#folded = { catalog: new Catalog(commit.id), view: before.view };
    }
    const files = new Map([[edited.path, edited.entry]]);
    const step = this.#folded.catalog.advance({ commit, files });
    return {
      changes: step.changes,
      undo: () => {
        step.undo();
        this.#folded = before;
      },
    };
  }

  /**
   * Stores the result of an accepted push. It is used when the branch reaches that commit, and
   * dropped on any other move.
   */
  expect(prepared: PreparedMove): void {
    this.#expected = prepared;
  }

  /**
   * Moves from the served revision to the head of the branch. The catalog is uncertain afterwards.
   */
  async follow(
    target: string,
    { served, onStep }: { served: Folded; onStep: ReplayContext['onStep'] },
  ): Promise<FollowedStep> {
    const { repository, reader, under } = this.#options;
    const context = { repository, reader, under, ...(onStep && { onStep }) };
    const wasUncertain = this.#uncertain;
    this.#uncertain = true;
    const from = served.catalog.revision;
    const expected = this.#expected;
    this.#expected = undefined;
    if (!wasUncertain && expected?.from === from && expected !== undefined) {
      const prepared = this.#takePrepared(target, served, expected);
      if (prepared !== undefined) return prepared;
    }
    if (from !== undefined && !wasUncertain && (await repository.isAncestor(from, target))) {
      const folded = await this.#foldAhead(context, served, target);
      if (folded !== undefined) return folded;
    }
    // The catalog in memory stays unchanged if the replay fails.
    this.#uncertain = wasUncertain;
    return await this.#replay(context, served, target);
  }

  /** The result of a judged push, if the branch moved to it. */
  #takePrepared(target: string, served: Folded, expected: PreparedMove): FollowedStep | undefined {
    if ('ahead' in expected) {
      return expected.to === target ? this.#takeLayer(served, expected) : undefined;
    }
    if (expected.folded.catalog.revision !== target) return undefined;
    this.#folded = expected.folded;
    const undo = (): void => {
      this.#folded = served;
    };
    return { ...expected, undo };
  }

  /** Applies the range that was folded when it was judged. Undefined: on another catalog. */
  #takeLayer(served: Folded, { ahead, at }: PreparedLayer): FollowedStep | undefined {
    if (!served.catalog.isBelow(ahead.catalog)) return undefined;
    const { changes, paths, view, sides } = ahead;
    const undo = served.catalog.adopt(ahead.catalog, sides, at);
    this.#folded = { catalog: served.catalog, view };
    const undoAll = (): void => {
      undo();
      this.#folded = served;
    };
    return { changes, paths, follows: true, undo: undoAll };
  }

  /** Folds the commits on the catalog. Undefined: only a replay helps. */
  async #foldAhead(
    context: ReplayContext,
    served: Folded,
    target: string,
  ): Promise<FollowedStep | undefined> {
    const { repository, reader, under, onStep } = context;
    const from = served.catalog.revision;
    const files = new PushedFiles(reader);
    const commits: HistoryCommit[] = [];
    let size = 0;
    const scope = { against: 'first parent', paths: followedPaths(under) } as const;
    for await (const commit of repository.history(from, target, scope)) {
      commits.push(commit);
      size += 1 + (commit.changes[0]?.length ?? 0);
      if (size > MAX_FOLDED) return undefined;
    }
    await files.readAhead(repository, commits, served.view);
    const ahead = await foldAhead(
      {
        repository: this.#options.repository,
        under,
        read: (paths) => files.read(repository, paths),
        ...(onStep && { onStep }),
      },
      served,
      commits,
    );
    return ahead && this.#takeLayer(served, { from, to: target, ahead });
  }

  async #replay(context: ReplayContext, served: Folded, target: string): Promise<FollowedStep> {
    const from = served.catalog.revision;
    const started = performance.now();
    const after = await replay(context, target);
    this.#uncertain = true;
    this.#folded = after;
    const reason = from === undefined ? 'first start' : 'history';
    this.#options.observer.replayed(reason, performance.now() - started);
    const changes = catalogDifference(served.catalog, after.catalog);
    const paths = [...pathsWithDocuments(served.catalog), ...pathsWithDocuments(after.catalog)];
    const undo = (): void => {
      this.#folded = served;
      // Another replay would give the same result.
      this.#expected = { from, folded: after, changes, paths, follows: false };
    };
    return { changes, paths, follows: false, undo };
  }
}

/** The catalog of the last run, if it still fits. */
export async function persistedFold(
  options: Pick<Options, 'store' | 'rules' | 'under' | 'repository'>,
): Promise<Folded | undefined> {
  const { store, rules, under, repository } = options;
  const persisted = restore(store, rules);
  if (persisted === undefined) return undefined;
  const view = new TreeView(under);
  await view.adopt(repository, persisted.ignoreBlob, persisted.sealing);
  return { catalog: persisted.catalog, view };
}

/** The catalog of an empty repository. */
export function emptyFold({ under }: Pick<Options, 'under'>): Folded {
  return { catalog: new Catalog(''), view: new TreeView(under) };
}
