/**
 * Ancestry of recent commits, in memory: the first-parent line of the branch, and the commits that its
 * merges brought in. A person at git is thousands of commits behind a busy branch, and git reads each of
 * them to find a merge base.
 *
 * Each commit has a number and an **entry**: the first commit of the line that reaches it. A commit of
 * the line at number n reaches exactly the known commits whose entry is n or less. An answer depends on
 * commits alone, which never change; no ref can make it wrong. Undefined answers: git must be asked.
 */
import { CommitNumbers } from './commit-numbers.ts';
import {
  MAX_READ,
  type ParentsOf,
  type ParentsRange,
  type ReadLinks,
  Walk,
} from './commit-walk.ts';
import type { ListedCommit } from './history.ts';

/** A power of two. */
const CAPACITY = 65_536;
export interface AncestryCacheParts {
  /** Present tip of the branch. */
  head(): Promise<string | undefined>;
  readonly read: ReadLinks;
  list(range: ParentsRange): AsyncIterable<ParentsOf>;
  readonly capacity?: number;
}

/** Parents of commits that are not known yet. */
type Added = ReadonlyMap<string, readonly string[]>;

const NOTHING: Added = new Map();

export class AncestryCache {
  readonly #parts: AncestryCacheParts;
  readonly #capacity: number;
  readonly #numbers: CommitNumbers;
  /** Entry of each commit, by its number. */
  readonly #entries: Uint32Array;
  /** Parents of merged commits, and those of merges beside the first one. */
  readonly #parents = new Map<number, readonly string[]>();
  #tip: string | undefined;
  /** Changes when commits get other numbers. */
  #numbering = 0;
  #following: Promise<void> = Promise.resolve();
  /** Commits that came while the branch is followed; undefined: it is not. */
  #pending: ParentsOf[] | undefined;

  constructor(parts: AncestryCacheParts) {
    this.#parts = parts;
    this.#capacity = parts.capacity ?? CAPACITY;
    this.#numbers = new CommitNumbers(this.#capacity);
    this.#entries = new Uint32Array(this.#capacity);
  }

  /** Present tip of the branch. */
  head(): Promise<string | undefined> {
    return this.#parts.head();
  }

  /** Adds commits that the branch has moved to, parents first. Others are read when they are needed. */
  append(commits: readonly ParentsOf[]): void {
    if (this.#pending !== undefined) {
      // A gap is read when it matters.
      if (this.#pending.length < this.#capacity)
        for (const commit of commits) this.#pending.push(commit);
      return;
    }
    for (const { id, parents } of commits) {
      const isNext = this.#tip !== undefined && parents.length === 1 && parents[0] === this.#tip;
      if (isNext) this.#addToLine(id, []);
    }
  }

  /** Resolves when the line ends at the commit, or is known not to. */
  follow(head: string): Promise<void> {
    this.#following = this.#following.then(async () => {
      if (head === this.#tip || this.#placeOf(head) !== undefined) return;
      this.#pending = [];
      await this.#extend(head).catch(() => this.#clear());
      const pending = this.#pending;
      this.#pending = undefined;
      this.append(pending);
    });
    return this.#following;
  }

  /** The line up to a commit, newest first, back to `since` or to the oldest one that is known. */
  async line(
    head: string,
    since: string | undefined,
  ): Promise<{ readonly id: string; readonly merged: readonly string[] }[]> {
    await this.follow(head);
    const line: { id: string; merged: readonly string[] }[] = [];
    const end = since === undefined ? undefined : this.#placeOf(since);
    for (let at = this.#placeOf(head); at !== undefined && at !== end; at = this.#lineBefore(at)) {
      line.push({ id: this.#numbers.id(at), merged: this.#parents.get(at) ?? [] });
    }
    return line;
  }

  /** False as well if one of them is missing. */
  async isAncestor(
    ancestor: string,
    descendant: string,
    read: ReadLinks,
  ): Promise<boolean | undefined> {
    await this.#know([ancestor, descendant]);
    return await this.#steady(() => this.#isAncestor(ancestor, descendant, read));
  }

  async #isAncestor(
    ancestor: string,
    descendant: string,
    read: ReadLinks,
  ): Promise<boolean | undefined> {
    const entry = this.#entryOf(ancestor);
    const walk = new Walk(read);
    for (const id of walk.from(descendant)) {
      if (id === ancestor) return true;
      const at = this.#numbers.find(id);
      if (at === undefined) await walk.readParents();
      else if (entry === undefined) return undefined;
      else if (!this.#isOnLine(at)) walk.push(this.#parents.get(at) ?? []);
      else if (entry <= at) return true;
    }
    return walk.isComplete && entry !== undefined ? false : undefined;
  }

  /** Merge bases of two commits, if there is exactly one. */
  async mergeBase(one: string, other: string, read: ReadLinks): Promise<string | undefined> {
    await this.#know([one, other]);
    return await this.#steady(
      async () =>
        (await this.#mergeBase(one, other, read)) ?? (await this.#mergeBase(other, one, read)),
    );
  }

  /** `one` is on the line. */
  async #mergeBase(one: string, other: string, read: ReadLinks): Promise<string | undefined> {
    const place = this.#placeOf(one);
    if (place === undefined) return undefined;
    /** Common ancestors beside the newest one on the line. */
    const merged = new Set<number>();
    let newest: number | undefined;
    const walk = new Walk(read);
    for (const id of walk.from(other)) {
      const at = this.#numbers.find(id);
      if (at === undefined) await walk.readParents();
      else if (this.#isOnLine(at)) newest = Math.max(newest ?? 0, Math.min(at, place));
      else if (this.#entry(at) <= place) merged.add(at);
      else walk.push(this.#parents.get(at) ?? []);
    }
    if (!walk.isComplete) return undefined;
    const bases = [...merged].filter((at) => newest === undefined || this.#entry(at) > newest);
    const [base = newest, ...others] = newest === undefined ? bases : [newest, ...bases];
    return base === undefined || others.length > 0 ? undefined : this.#numbers.id(base);
  }

  /**
   * The commits that `to` reaches and `from` does not, parents first, if `from` is on the line and they
   * are unknown and one chain.
   */
  async chain(
    from: string,
    to: string,
    read: ReadLinks,
  ): Promise<readonly ListedCommit[] | undefined> {
    await this.#know([from]);
    return await this.#steady(() => this.#chain(from, to, read));
  }

  async #chain(from: string, to: string, read: ReadLinks): Promise<ListedCommit[] | undefined> {
    const place = this.#placeOf(from);
    if (place === undefined) return undefined;
    const chain: ListedCommit[] = [];
    let next: string | undefined = to;
    while (next !== undefined) {
      const id: string = next;
      const entry = this.#entryOf(id);
      if (entry !== undefined) return entry <= place ? chain.reverse() : undefined;
      const links = chain.length < MAX_READ ? await read(id) : undefined;
      if (links === undefined || links.parents.length === 0) return undefined;
      chain.push({ id, ...links });
      const beyond = links.parents.filter((parent) => !this.#reaches(place, parent));
      if (beyond.length > 1) return undefined;
      next = beyond[0];
    }
    return chain.reverse();
  }

  /** Commits that both reach: a list of those that `from` does not reach ends there. */
  async forks(from: string, to: string, read: ReadLinks): Promise<readonly string[]> {
    await this.#know([from]);
    return (await this.#steady(() => this.#forks(from, to, read))) ?? [];
  }

  async #forks(from: string, to: string, read: ReadLinks): Promise<string[]> {
    const place = this.#placeOf(from);
    const found: string[] = [];
    if (place === undefined) return found;
    const walk = new Walk(read);
    for (const id of walk.from(to)) {
      const at = this.#numbers.find(id);
      if (at === undefined) await walk.readParents();
      else if (this.#entry(at) <= place) found.push(id);
      else if (!this.#isOnLine(at)) walk.push(this.#parents.get(at) ?? []);
    }
    return found;
  }

  /** Undefined if commits got other numbers while the question was answered. */
  async #steady<T>(answer: () => Promise<T | undefined>): Promise<T | undefined> {
    const numbering = this.#numbering;
    const found = await answer();
    return numbering === this.#numbering ? found : undefined;
  }

  /** Follows the branch if none of the commits is known. */
  async #know(ids: readonly string[]): Promise<void> {
    await this.#following;
    if (ids.some((id) => this.#numbers.find(id) !== undefined)) return;
    const head = await this.#parts.head();
    if (head !== undefined && head !== this.#tip) await this.follow(head);
  }

  async #extend(head: string): Promise<void> {
    const tip = this.#tip;
    const added =
      tip === undefined ? undefined : ((await this.#read(head)) ?? (await this.#list(head, tip)));
    const isNext = added !== undefined && startOf(head, added) === tip;
    if (isNext) this.#add(head, added);
    else await this.#load(head);
  }

  /** Parents of the unknown commits that the head reaches, read one by one. Undefined: too many. */
  async #read(head: string): Promise<Added | undefined> {
    const added = new Map<string, readonly string[]>();
    const walk = new Walk(this.#parts.read);
    for (const id of walk.from(head)) {
      if (this.#numbers.find(id) === undefined) added.set(id, (await walk.readParents()) ?? []);
    }
    return walk.isComplete ? added : undefined;
  }

  /** The same by a process of git. Undefined: more than fit. */
  async #list(head: string, from: string): Promise<Added | undefined> {
    const max = this.#capacity / 2;
    const added = new Map<string, readonly string[]>();
    for await (const { id, parents } of this.#parts.list({ to: head, from, max: max + 1 })) {
      added.set(id, parents);
    }
    return added.size > max ? undefined : added;
  }

  async #load(head: string): Promise<void> {
    this.#clear();
    const max = this.#capacity / 2;
    let start = head;
    for await (const { id } of this.#parts.list({ to: head, isLine: true, max })) start = id;
    const added = start === head ? undefined : await this.#list(head, start);
    // With merges that brought in more than fits, the line begins at its newest commit.
    this.#addToLine(added === undefined ? head : start, []);
    if (added !== undefined) this.#add(head, added);
  }

  /** `added`: parents of each commit between the tip and the head. */
  #add(head: string, added: Added): void {
    const line: string[] = [];
    for (let id: string | undefined = head; id !== undefined; id = added.get(id)?.[0]) {
      if (!added.has(id)) break;
      line.push(id);
    }
    for (const id of line.reverse()) {
      const [, ...others] = added.get(id) ?? [];
      this.#addToLine(id, others, added);
    }
  }

  /** `added`: parents of commits that may come with a merge. */
  #addToLine(id: string, others: readonly string[], added: Added = NOTHING): void {
    const merged = new Set<string>();
    const waiting = [...others];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const parents = added.get(next);
      if (parents === undefined || merged.has(next) || this.#numbers.find(next) !== undefined) {
        continue;
      }
      merged.add(next);
      for (const parent of parents) waiting.push(parent);
    }
    if (this.#numbers.size + merged.size + 1 > this.#capacity) this.#dropOldest();
    // One merge with more commits than fit: the line begins anew.
    if (this.#numbers.size + merged.size + 1 > this.#capacity) {
      this.#clear();
      merged.clear();
    }
    const entry = this.#numbers.size + merged.size;
    for (const one of merged) {
      const at = this.#numbers.add(one);
      this.#entries[at] = entry;
      this.#parents.set(at, added.get(one) ?? []);
    }
    const at = this.#numbers.add(id);
    this.#entries[at] = at;
    if (others.length > 0) this.#parents.set(at, others);
    this.#tip = id;
  }

  /** Forgets the older half. What remains begins with a commit of the line. */
  #dropOldest(): void {
    const { size } = this.#numbers;
    let start = size >>> 1;
    while (start < size && !this.#isOnLine(start)) start += 1;
    const ids = Array.from({ length: size - start }, (_, i) => this.#numbers.id(start + i));
    const parents = [...this.#parents].filter(([at]) => at > start);
    this.#clearNumbers();
    for (const [i, id] of ids.entries()) {
      this.#numbers.add(id);
      this.#entries[i] = this.#entry(start + i) - start;
    }
    for (const [at, of] of parents) this.#parents.set(at - start, of);
  }

  #clear(): void {
    this.#clearNumbers();
    this.#tip = undefined;
  }

  #clearNumbers(): void {
    this.#numbers.clear();
    this.#parents.clear();
    this.#numbering += 1;
  }

  #entry(at: number): number {
    return this.#entries[at] ?? 0;
  }

  #isOnLine(at: number): boolean {
    return this.#entries[at] === at;
  }

  #entryOf(id: string): number | undefined {
    const at = this.#numbers.find(id);
    return at === undefined ? undefined : this.#entry(at);
  }

  /** Number of a commit of the line; undefined: it is not known, or not on the line. */
  #placeOf(id: string): number | undefined {
    const at = this.#numbers.find(id);
    return at !== undefined && this.#isOnLine(at) ? at : undefined;
  }

  #reaches(place: number, id: string): boolean {
    const entry = this.#entryOf(id);
    return entry !== undefined && entry <= place;
  }

  #lineBefore(place: number): number | undefined {
    for (let at = place - 1; at >= 0; at -= 1) if (this.#isOnLine(at)) return at;
    return undefined;
  }
}

/** First commit on the first-parent line of the head that was not added. */
function startOf(head: string, added: Added): string | undefined {
  let id: string | undefined = head;
  while (id !== undefined && added.has(id)) id = added.get(id)?.[0];
  return id;
}
