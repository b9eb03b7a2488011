/** Walk from a commit to those that it reaches, which reads a limited number of them. */
import type { CommitLinks } from '../objects/commit-object.ts';

/** Commits that one walk reads. */
export const MAX_READ = 256;

/** Parents of a commit; undefined: it is missing, or git must parse it. */
export type ReadLinks = (id: string) => Promise<CommitLinks | undefined>;

export interface ParentsOf {
  readonly id: string;
  readonly parents: readonly string[];
}

/** Commits that `to` reaches and `from` does not, at most `max`. */
export interface ParentsRange {
  readonly to: string;
  readonly from?: string;
  /** Of the first-parent line alone. */
  readonly isLine?: boolean;
  readonly max: number;
}

/** Each commit is seen once. Callers push the parents that they want to see. */
export class Walk {
  /** False: a commit could not be read, is the first of a history, or there are too many. */
  isComplete = true;
  readonly #read: ReadLinks;
  readonly #seen = new Set<string>();
  #waiting: string[] = [];
  #present = '';
  #reads = 0;

  constructor(read: ReadLinks) {
    this.#read = read;
  }

  *from(start: string): Generator<string> {
    this.push([start]);
    for (let id = this.#waiting.pop(); id !== undefined; id = this.#waiting.pop()) {
      this.#present = id;
      yield id;
    }
  }

  push(ids: readonly string[]): void {
    for (const id of ids) {
      if (this.#seen.has(id)) continue;
      this.#seen.add(id);
      this.#waiting.push(id);
    }
  }

  /** Goes on with the parents of the present commit, which is read. */
  async readParents(): Promise<readonly string[] | undefined> {
    this.#reads += 1;
    const links = this.#reads > MAX_READ ? undefined : await this.#read(this.#present);
    if (links === undefined || links.parents.length === 0) {
      this.isComplete = false;
      // Beyond it nothing can be told.
      this.#waiting = [];
      return undefined;
    }
    this.push(links.parents);
    return links.parents;
  }
}
