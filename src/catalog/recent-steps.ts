/**
 * Recent steps of a catalog, so that it can be shown as it was: at an earlier revision, and at commits
 * that came with a merge.
 */
import type { ObjectKey } from '../apimachinery/index.ts';
import type { FileEntry } from './file.ts';
import type { CommitPoint, IsAncestor } from './identity.ts';
import type { UndoLog } from './undo-log.ts';

/** Limit of undone map entries, which hold former versions of objects and files. */
const MAX_ENTRIES = 200_000;
/** Limit of files in commits that came with a merge. */
const MAX_SIDE_FILES = 20_000;

/** A step from one revision of the line to the next. */
interface LineStep {
  /** The revision before the step. */
  readonly before: CommitPoint;
  readonly undo: UndoLog;
}

/** A commit that is not a revision of the line, with what its step needs. */
export interface SideStep {
  readonly commit: CommitPoint;
  readonly parents: readonly string[];
  readonly files: ReadonlyMap<string, FileEntry | undefined>;
  /** Of a merge: more of the step. */
  readonly merge?: SideMerge | undefined;
}

export interface SideMerge {
  readonly alsoAffected: readonly ObjectKey[];
  readonly isAncestor: IsAncestor;
}

export class RecentSteps {
  /** Oldest first. */
  #line: LineStep[] = [];
  #entries = 0;
  readonly #sides = new Map<string, SideStep>();
  #sideFiles = 0;

  /** The steps so far; those that come later are not part of it. */
  copy(): RecentSteps {
    const copy = new RecentSteps();
    copy.#line = [...this.#line];
    copy.#entries = this.#entries;
    for (const [id, side] of this.#sides) copy.#sides.set(id, side);
    copy.#sideFiles = this.#sideFiles;
    return copy;
  }

  add(step: LineStep): void {
    this.#line.push(step);
    this.#entries += step.undo.size + 1;
    let drop = 0;
    while (this.#entries > MAX_ENTRIES && drop < this.#line.length) {
      this.#entries -= (this.#line[drop]?.undo.size ?? 0) + 1;
      drop += 1;
    }
    // Dropping one at a time would copy the list for each.
    if (drop > 0) this.#line = this.#line.slice(Math.max(drop, this.#line.length >> 4));
    if (drop > 0) this.#entries = this.#line.reduce((sum, { undo }) => sum + undo.size + 1, 0);
  }

  /** Forgets the newest step, which is about to be undone. */
  dropNewest(): void {
    const step = this.#line.pop();
    if (step !== undefined) this.#entries -= step.undo.size + 1;
  }

  /** The point of an earlier revision, and the steps since then, newest first. */
  since(revision: string): { readonly at: CommitPoint; readonly undos: UndoLog[] } | undefined {
    const start = this.#line.findLastIndex(({ before }) => before.id === revision);
    const first = this.#line[start];
    if (first === undefined) return undefined;
    const undos = this.#line.slice(start).map(({ undo }) => undo);
    return { at: first.before, undos: undos.reverse() };
  }

  addSides(sides: readonly SideStep[]): void {
    for (const side of sides) {
      if (this.#sides.has(side.commit.id)) continue;
      this.#sides.set(side.commit.id, side);
      this.#sideFiles += side.files.size + 1;
    }
    for (const [id, { files }] of this.#sides) {
      if (this.#sideFiles <= MAX_SIDE_FILES) break;
      this.#sides.delete(id);
      this.#sideFiles -= files.size + 1;
    }
  }

  /** Side commits that lead to a commit, parents first. */
  sidesTo(commit: string): SideStep[] {
    const found = new Set<string>();
    const waiting = [commit];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const side = this.#sides.get(id);
      if (side === undefined || found.has(id)) continue;
      found.add(id);
      waiting.push(...side.parents);
    }
    // They were added parents first.
    return found.size === 0
      ? []
      : [...this.#sides.values()].filter(({ commit: { id } }) => found.has(id));
  }
}

/** Number of steps that begin at each commit. */
export function childrenOf(sides: readonly SideStep[]): ReadonlyMap<string, number> {
  const children = new Map<string, number>();
  for (const { parents } of sides) {
    for (const id of parents) children.set(id, (children.get(id) ?? 0) + 1);
  }
  return children;
}
