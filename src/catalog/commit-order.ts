/** Ancestry of commits in memory. */
import type { HistoryCommit } from '../git/index.ts';

interface Known {
  /** Number of the commit. */
  readonly at: number;
  readonly parents: readonly string[];
}

/** Order of commits that are added parents first. */
export class CommitOrder {
  readonly #commits = new Map<string, Known>();
  /** Answers by pair: a merge asks the same for thousands of objects. */
  readonly #answers = new Map<string, boolean>();

  add({ id, parents }: Pick<HistoryCommit, 'id' | 'parents'>): void {
    this.#commits.set(id, { at: this.#commits.size, parents });
  }

  has(id: string): boolean {
    return this.#commits.has(id);
  }

  /** True if there is a path of known commits from the descendant to the ancestor. */
  isAncestor(ancestor: string, descendant: string): boolean {
    const pair = `${ancestor} ${descendant}`;
    const known = this.#answers.get(pair);
    if (known !== undefined) return known;
    const answer = this.#search(ancestor, descendant);
    this.#answers.set(pair, answer);
    return answer;
  }

  #search(ancestor: string, descendant: string): boolean {
    const oldest = this.#commits.get(ancestor)?.at ?? Number.POSITIVE_INFINITY;
    const seen = new Set<string>();
    const waiting = [descendant];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const commit = this.#commits.get(id);
      // Commits added before the ancestor cannot be its descendants.
      if (commit === undefined || commit.at < oldest || seen.has(id)) continue;
      if (id === ancestor) return true;
      seen.add(id);
      for (const parent of commit.parents) waiting.push(parent);
    }
    return false;
  }
}
