/** Commits and their parents: ranges, ancestors and merge bases, in the order of git. */
import { linksOfCommit, rootsOfCommit } from '../objects/commit-object.ts';
import { assertObjectId } from '../objects/object-id.ts';
import type { ListedCommit } from '../reading/history.ts';

export interface CommitRange {
  readonly tips: readonly string[];
  /** Commits that are left out, with all that they reach. */
  readonly not: readonly string[];
}

export class CommitGraph {
  readonly #read: (id: string) => Promise<Buffer>;
  readonly #shallow: ReadonlySet<string>;
  readonly #commits = new Map<string, ListedCommit>();

  constructor(read: (id: string) => Promise<Buffer>, shallow: ReadonlySet<string>) {
    this.#read = read;
    this.#shallow = shallow;
  }

  async commit(id: string): Promise<ListedCommit> {
    const known = this.#commits.get(id);
    if (known !== undefined) return known;
    assertObjectId(id);
    const content = await this.#read(id);
    const { tree, parents } = rootsOfCommit(content, id);
    const committerTime = linksOfCommit(content)?.committerTime ?? timeOf(content);
    const commit = { id, tree, parents: this.#shallow.has(id) ? [] : parents, committerTime };
    this.#commits.set(id, commit);
    return commit;
  }

  /** As `git rev-list --topo-order` has them: children before parents, lines of history together. */
  async list({ tips, not }: CommitRange): Promise<ListedCommit[]> {
    const excluded = await this.ancestors(not);
    const range = await this.#reachable(tips, excluded);
    const children = new Map<string, number>();
    for (const { parents } of range.values()) {
      for (const id of parents) children.set(id, (children.get(id) ?? 0) + 1);
    }
    const byTime = (a: ListedCommit, b: ListedCommit): number => a.committerTime - b.committerTime;
    const stack = [...range.values()].filter(({ id }) => !children.has(id)).sort(byTime);
    const listed: ListedCommit[] = [];
    for (let commit = stack.pop(); commit !== undefined; commit = stack.pop()) {
      listed.push(commit);
      for (const id of commit.parents) {
        const left = (children.get(id) ?? 0) - 1;
        children.set(id, left);
        const parent = range.get(id);
        if (left === 0 && parent !== undefined) stack.push(parent);
      }
    }
    return listed;
  }

  /** With the commits themselves. */
  async ancestors(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set((await this.#reachable(ids, new Set())).keys());
  }

  /** Newest first. */
  async mergeBases(one: string, other: string): Promise<string[]> {
    const ours = await this.#reachable([one], new Set());
    const theirs = await this.#reachable([other], new Set());
    const common = [...ours.values()].filter(({ id }) => theirs.has(id));
    // A common commit that another one has as its parent is reached through that one.
    const reached = new Set(common.flatMap(({ parents }) => parents));
    return common
      .filter(({ id }) => !reached.has(id))
      .sort((a, b) => b.committerTime - a.committerTime)
      .map(({ id }) => id);
  }

  async rootOf(revision: string): Promise<string> {
    for (let id = revision; ; ) {
      const [first] = (await this.commit(id)).parents;
      if (first === undefined) return id;
      id = first;
    }
  }

  async #reachable(
    ids: readonly string[],
    excluded: ReadonlySet<string>,
  ): Promise<Map<string, ListedCommit>> {
    const found = new Map<string, ListedCommit>();
    const waiting = [...ids];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if (found.has(id) || excluded.has(id)) continue;
      const commit = await this.commit(id);
      found.set(id, commit);
      waiting.push(...commit.parents);
    }
    return found;
  }
}

/** Committer time of a commit that is not written the usual way. */
function timeOf(content: Buffer): number {
  const header = content.toString('latin1', 0, content.indexOf('\n\n') + 1);
  return Number(/^committer .*> *(\d+)/m.exec(header)?.[1] ?? 0);
}
