/**
 * Sync status: the position of the platform relative to its branch, and the outcome of a commit.
 */
import { describeKey, flatMapYielding, type ObjectKey } from '../apimachinery/index.ts';
import type { Catalog, PinnedCatalog } from '../catalog/index.ts';
import type { BareRepository, PathChange } from '../git/index.ts';
import type { Problem } from '../manifests/index.ts';
import type { Branch } from './branch.ts';
import type { Hold } from './pushes/prune-budget.ts';
import type { JudgedPush, PushVerdicts } from './pushes/push-verdicts.ts';

/**
 * A problem of the newest manifests, and the object that is served from its last good version
 * because of it.
 */
export interface ObjectProblem extends Problem {
  readonly object: string | undefined;
}

/** An object that is served from its last good version, and the first problem of its manifest. */
export interface DegradedObject {
  readonly key: ObjectKey;
  readonly problem: Problem;
}

export interface FileVerdict {
  readonly path: string;
  readonly result: 'applied' | 'invalid' | 'removed' | 'ignored' | 'held';
  readonly problems: readonly Problem[];
}

export interface CommitVerdict {
  readonly revision: string;
  readonly result: 'applied' | 'held' | 'refused';
  readonly files: readonly FileVerdict[];
  readonly hold?: Hold;
  /** Lines that the pusher got. */
  readonly lines?: readonly string[];
}

export interface SyncReportParts {
  readonly branch: Branch;
  readonly repository: Pick<
    BareRepository,
    'head' | 'isAncestor' | 'commitMetadata' | 'diff' | 'checkLimits'
  >;
  readonly verdicts: PushVerdicts;
  /** Hold of commits that did not enter the branch; absent: there are none. */
  readonly outside?: () => Hold | undefined;
}

export class SyncReport {
  readonly #parts: SyncReportParts;
  #problems: { revision: string | undefined; list: Promise<readonly ObjectProblem[]> } | undefined;
  #degraded: { revision: string | undefined; list: readonly DegradedObject[] } | undefined;

  constructor(parts: SyncReportParts) {
    this.#parts = parts;
  }

  /** The revision that readers see; undefined before the first commit. */
  get revision(): string | undefined {
    // The catalog may be ahead of it.
    const { state } = this.#parts.branch;
    return state.shown ?? state.approvals.base;
  }

  /** Committer time of the applied revision, in seconds since the epoch. */
  get committed(): number | undefined {
    return this.#parts.branch.state.catalog.at?.committerTime;
  }

  get hold(): Hold | undefined {
    return this.#parts.branch.hold ?? this.#parts.outside?.();
  }

  head(): Promise<string | undefined> {
    return this.#parts.repository.head();
  }

  /**
   * Problems of the applied revision, by path and line. Cached, since finding them reads every
   * file.
   */
  async problems(): Promise<readonly ObjectProblem[]> {
    const { catalog } = this.#parts.branch.state;
    if (this.#problems === undefined || this.#problems.revision !== catalog.revision) {
      this.#problems = { revision: catalog.revision, list: problemsIn(catalog.pin()) };
    }
    return await this.#problems.list;
  }

  /** Degraded objects of the applied revision. Cached, since finding them reads every object. */
  degraded(): readonly DegradedObject[] {
    const { catalog } = this.#parts.branch.state;
    if (this.#degraded === undefined || this.#degraded.revision !== catalog.revision) {
      const list: DegradedObject[] = [];
      for (const { key, problems } of catalog.objects()) {
        const [problem] = problems;
        if (problem !== undefined) list.push({ key, problem });
      }
      this.#degraded = { revision: catalog.revision, list };
    }
    return this.#degraded.list;
  }

  /** Last pushes to the branch that this process judged, newest first. */
  get pushes(): readonly JudgedPush[] {
    return this.#parts.verdicts.recent;
  }

  /** Author, message and parents of a commit. */
  describeCommit(revision: string): ReturnType<BareRepository['commitMetadata']> {
    return this.#parts.repository.commitMetadata(revision);
  }

  /** Changes whenever an answer of `verdictOn` may change. */
  get token(): string {
    const { hold } = this;
    return `${this.revision} ${hold?.head} ${this.#parts.verdicts.count}`;
  }

  /** Undefined: the commit is unknown, or does not lead to the branch. */
  async verdictOn(revision: string): Promise<CommitVerdict | undefined> {
    const { hold } = this;
    const served = this.#parts.branch.state.shown;
    if (served !== undefined && (await this.#isIn(revision, served))) {
      return { revision, result: 'applied', files: await this.#files(revision) };
    }
    if (hold?.head !== undefined && (await this.#isIn(revision, hold.head))) {
      return { revision, result: 'held', files: await this.#heldFiles(revision), hold };
    }
    const refusal = this.#parts.verdicts.refusalOf(revision);
    if (refusal === undefined) return undefined;
    const { lines, problems = [] } = refusal;
    return { revision, result: 'refused', files: byFile(problems), lines };
  }

  async #isIn(revision: string, tip: string): Promise<boolean> {
    return revision === tip || (await this.#parts.repository.isAncestor(revision, tip));
  }

  async #changes(revision: string): Promise<readonly PathChange[]> {
    const { repository } = this.#parts;
    // A commit that exceeds the limits is not diffed.
    if ((await repository.checkLimits(revision)).problem !== undefined) return [];
    const { parents } = await repository.commitMetadata(revision);
    return await repository.diff(parents[0], revision);
  }

  /** Held commits are not read: only the paths of their files are known. */
  async #heldFiles(revision: string): Promise<FileVerdict[]> {
    const { view } = this.#parts.branch.state;
    return (await this.#changes(revision)).map(({ path }) => {
      return { path, result: view.includes(path) ? 'held' : 'ignored', problems: [] };
    });
  }

  /** Files that a commit changed, in their present state. */
  async #files(revision: string): Promise<FileVerdict[]> {
    const changes = await this.#changes(revision);
    const { catalog, view } = this.#parts.branch.state;
    const paths = changes.map(({ path }) => path);
    const found = byPath(await catalog.problemsOfYielding(paths));
    return changes.map(({ path, newId }) => {
      if (!view.includes(path)) return { path, result: 'ignored', problems: [] };
      const problems = found.get(path) ?? [];
      const fine = newId === undefined ? 'removed' : 'applied';
      return { path, result: problems.length > 0 ? 'invalid' : fine, problems };
    });
  }
}

async function problemsIn({ catalog, release }: PinnedCatalog): Promise<ObjectProblem[]> {
  try {
    const problems = await catalog.problemsYielding();
    return await flatMapYielding(problems, (problem) => [withObject(catalog, problem)]);
  } finally {
    release();
  }
}

/** A problem belongs to the document that starts at the nearest line above it. */
function withObject(catalog: Catalog, problem: Problem): ObjectProblem {
  const key = catalog.keyAt(problem.path, problem.line);
  return { ...problem, object: key && describeKey(key) };
}

function byFile(problems: readonly Problem[]): FileVerdict[] {
  return [...byPath(problems)].map(([path, own]) => ({ path, result: 'invalid', problems: own }));
}

function byPath(problems: readonly Problem[]): ReadonlyMap<string, readonly Problem[]> {
  const found = new Map<string, Problem[]>();
  for (const problem of problems) {
    const known = found.get(problem.path);
    if (known === undefined) found.set(problem.path, [problem]);
    else known.push(problem);
  }
  return found;
}
