/**
 * Recent steps of a catalog, so that it can be shown as it was: at an earlier revision, and at commits
 * that came with a merge.
 */
import type { ObjectKey } from '../apimachinery/index.ts';
import { type FileEntry, unplacedDocuments } from './file.ts';
import type { CommitPoint, IsAncestor } from './identity.ts';
import type { FormerEntry, UndoLog } from './undo-log.ts';
import { VersionChains } from './version-chains.ts';

/** Limit of undone map entries, which hold former versions of objects and files. */
const MAX_ENTRIES = 200_000;
/** Limit of documents and merged objects in commits that came with a merge: views apply them again. */
const MAX_SIDE_ENTRIES = 20_000;

/** A step from one revision of the line to the next. */
interface LineStep {
  /** The revision before the step. */
  readonly before: CommitPoint | undefined;
  readonly undo: UndoLog;
  /** Objects that a merge with an earlier revision may change; see `isPlainSuccessor`. */
  readonly notable: readonly ObjectKey[];
}

/** Keeps the steps since a number in memory while it is in use. */
export interface Hold {
  step: number;
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
  readonly chains = new VersionChains();
  /** Oldest first. */
  #line: LineStep[] = [];
  /** Number of the oldest step. */
  #first = 0;
  #entries = 0;
  readonly #holds = new Set<Hold>();
  readonly #sides = new SideSteps();

  /** Number of the step to come. */
  get next(): number {
    return this.#first + this.#line.length;
  }

  add(step: LineStep): void {
    this.chains.add(this.next, step.undo);
    this.#line.push(step);
    this.#entries += step.undo.size + 1;
    const held = Math.min(...[...this.#holds].map((hold) => hold.step));
    const mayDrop = Math.min(this.#line.length, held - this.#first);
    let left = this.#entries;
    let drop = 0;
    while (left > MAX_ENTRIES && drop < mayDrop) left -= this.#sizeOf(drop++);
    // Dropping one at a time would copy the list for each.
    if (drop > 0) this.#drop(Math.min(mayDrop, Math.max(drop, this.#line.length >> 4)));
  }

  #drop(count: number): void {
    for (let i = 0; i < count; i += 1) {
      this.#entries -= this.#sizeOf(i);
      const undo = this.#line[i]?.undo;
      if (undo !== undefined) this.chains.dropOldest(undo);
    }
    this.#line = this.#line.slice(count);
    this.#first += count;
  }

  #sizeOf(index: number): number {
    return (this.#line[index]?.undo.size ?? 0) + 1;
  }

  /** Keeps the steps from the present one on. The holder may lower its number to one that is in memory. */
  hold(): Hold {
    const hold = { step: this.next };
    this.#holds.add(hold);
    return hold;
  }

  release(hold: Hold): void {
    this.#holds.delete(hold);
  }

  /** Number and point of an earlier revision that the line left before a step. */
  stepAfter(
    revision: string,
    before: number,
  ): { readonly step: number; readonly at: CommitPoint } | undefined {
    for (let i = before - this.#first - 1; i >= 0; i -= 1) {
      const at = this.#line[i]?.before;
      if (at?.id === revision) return { step: this.#first + i, at };
    }
    return undefined;
  }

  /** Entries that changed from a step on, as they were before. */
  *changedSince(step: number): IterableIterator<FormerEntry> {
    for (let i = step - this.#first; i < this.#line.length; i += 1) {
      yield* this.#line[i]?.undo.entries ?? [];
    }
  }

  /** Objects that a merge of a revision with an earlier one may change, of those that changed between. */
  notable(from: number, to: number): ObjectKey[] {
    return this.#line.slice(from - this.#first, to - this.#first).flatMap((step) => step.notable);
  }

  addSides(sides: readonly SideStep[]): void {
    for (const side of sides) this.#sides.add(side);
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
    return found.size === 0 ? [] : this.#sides.all().filter(({ commit: { id } }) => found.has(id));
  }
}

/** The newest side commits, within the limit. */
export class SideSteps {
  readonly #byId = new Map<string, SideStep>();
  #entries = 0;

  add(side: SideStep): void {
    if (this.#byId.has(side.commit.id)) return;
    this.#byId.set(side.commit.id, side);
    this.#entries += entriesOf(side);
    for (const [id, oldest] of this.#byId) {
      if (this.#entries <= MAX_SIDE_ENTRIES) break;
      this.#byId.delete(id);
      this.#entries -= entriesOf(oldest);
    }
  }

  get(id: string): SideStep | undefined {
    return this.#byId.get(id);
  }

  /** In the order in which they were added. */
  all(): SideStep[] {
    return [...this.#byId.values()];
  }
}

function entriesOf({ files, merge }: SideStep): number {
  let entries = 1 + (merge?.alsoAffected.length ?? 0);
  for (const file of files.values()) entries += 1 + (file ? unplacedDocuments(file).length : 0);
  return entries;
}

/** Number of steps that begin at each commit. */
export function childrenOf(sides: readonly SideStep[]): ReadonlyMap<string, number> {
  const children = new Map<string, number>();
  for (const { parents } of sides) {
    for (const id of parents) children.set(id, (children.get(id) ?? 0) + 1);
  }
  return children;
}
