/**
 * Ancestors, merge bases and ranges of commits: from memory where the branch is known, otherwise by a
 * process of git.
 */
import { assertObjectId } from '../objects/object-id.ts';
import type { GitContext } from '../process/git-environment.ts';
import { processError } from '../process/git-process.ts';
import { tryWalk } from '../process/git-walk.ts';
import type { PushedTips } from '../repository.ts';
import { newCommits } from '../serve/pushed-commits.ts';
import type { AncestryCache } from './ancestry-cache.ts';
import type { ReadLinks } from './commit-walk.ts';
import type { HistoryRange, ListedCommit } from './history.ts';

export interface AncestryOptions {
  /** Ancestry of recent commits of the branch. */
  readonly ancestry?: AncestryCache | undefined;
  /** True if no ref of the repository can reach the commit. */
  readonly isUnreached?: (commit: string) => Promise<boolean>;
}

export class Ancestry {
  readonly #context: GitContext;
  readonly #links: ReadLinks;
  readonly #cache: AncestryCache | undefined;
  readonly #isUnreached: (commit: string) => Promise<boolean>;

  constructor(context: GitContext, links: ReadLinks, options: AncestryOptions) {
    this.#context = context;
    this.#links = links;
    this.#cache = options.ancestry;
    this.#isUnreached = options.isUnreached ?? (async () => false);
  }

  async mergeBases(one: string, other: string): Promise<string[]> {
    const base = await this.#cache?.mergeBase(one, other, this.#links);
    if (base !== undefined) return [base];
    const args = ['merge-base', '--all', one, other];
    const { code, stdout, stderr } = await tryWalk(this.#context, args);
    // Exit code 1 without a message: no common ancestor.
    if (code !== 0 && (code !== 1 || stderr !== '')) {
      throw processError(args, { code, signal: null }, stderr);
    }
    return stdout
      .toString('latin1')
      .split('\n')
      .filter((id) => id !== '');
  }

  /** `isHere`: false if one of the commits is missing, so that git fails. */
  async isAncestor(
    ancestor: string,
    descendant: string,
    isHere: () => Promise<boolean>,
  ): Promise<boolean> {
    if (ancestor === descendant) return true;
    const links = await this.#links(descendant);
    if (links?.parents.includes(ancestor) === true) return true;
    const known = await this.#cache?.isAncestor(ancestor, descendant, this.#links);
    if (known !== undefined) return known;
    const args = ['merge-base', '--is-ancestor', ancestor, descendant];
    const { code, stderr } = await tryWalk(this.#context, args);
    if (code === 0 || code === 1) return code === 0;
    // A rewritten history may have lost the old commit: then it is not an ancestor.
    if (!(await isHere())) return false;
    throw processError(args, { code, signal: null }, stderr);
  }

  /** The commits of a range, if they are a chain on top of known ones; otherwise the range for git. */
  async range(range: HistoryRange): Promise<readonly ListedCommit[] | HistoryRange> {
    const { tips, not } = range;
    const [tip, ...others] = tips;
    const from = not === 'all refs' ? await this.#cache?.head() : not;
    const isAsked = this.#cache === undefined || from === undefined;
    if (isAsked || tip === undefined || others.length > 0) return range;
    for (const id of [tip, from]) assertObjectId(id);
    const chain = await this.#cache.chain(from, tip, this.#links);
    if (chain !== undefined && (not !== 'all refs' || (await this.#areUnreached(chain)))) {
      return chain;
    }
    return { ...range, beyond: await this.#cache.forks(from, tip, this.#links) };
  }

  /** Commits that a push brings, newest first. */
  async *newCommits(
    commits: readonly string[],
    known: PushedTips['known'],
  ): AsyncGenerator<string> {
    const not = known === 'all refs' ? known : known.commit;
    const range = await this.range({ tips: commits, not });
    if ('tips' in range) yield* newCommits(this.#context, range);
    else for (const { id } of range.toReversed()) yield id;
  }

  async #areUnreached(commits: readonly ListedCommit[]): Promise<boolean> {
    const unreached = await Promise.all(commits.map(({ id }) => this.#isUnreached(id)));
    return !unreached.includes(false);
  }
}
