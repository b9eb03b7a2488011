/** The three-way merge, key by key, on fingerprints: what flows where, and what does not. */

import type { FingerprintMap } from './fingerprints.ts';
import { mayPull, mayPush, type SyncPolicy } from './policy.ts';

export interface MergeInput {
  readonly base: FingerprintMap;
  readonly git: FingerprintMap;
  readonly store: FingerprintMap;
}

/** Every key that differs between git and the store is in exactly one list; lists are sorted. */
export interface Merge {
  /** Keys that git takes from the store; one that the store lacks is removed. */
  readonly pull: readonly string[];
  /** Keys that the store takes from git; one that git lacks is removed. */
  readonly push: readonly string[];
  /** Changed on both sides, and nothing tells who is right. */
  readonly conflicts: readonly string[];
  /** Changed on the side that does not flow. */
  readonly drift: readonly string[];
}

/** Values that each side had since the base; a conflict over one of them is none. */
export interface History {
  readonly git: readonly FingerprintMap[];
  readonly store: readonly FingerprintMap[];
}

type Flow = keyof Merge;

export function mergeKeys(input: MergeInput, policy: SyncPolicy, history?: History): Merge {
  const keys = [...new Set([...input.git.keys(), ...input.store.keys()])].sort();
  const differing = keys.filter((key) => input.git.get(key) !== input.store.get(key));
  const natural = new Map(differing.map((key) => [key, changedBy(input, key, history)]));
  for (const group of groupsOf(policy, differing)) tearApart(group, natural);

  const result: Record<Flow, string[]> = { pull: [], push: [], conflicts: [], drift: [] };
  for (const key of differing) result[allowed(natural.get(key), policy)].push(key);
  return result;
}

type Author = 'git' | 'store' | 'both';

function changedBy({ base, git, store }: MergeInput, key: string, history?: History): Author {
  const [b, l, r] = [base.get(key), git.get(key), store.get(key)];
  if (r === b) return 'git';
  if (l === b) return 'store';
  // A value that somebody wrote outlives the removal of the value before it.
  if (l === undefined) return 'store';
  if (r === undefined) return 'git';
  const pushed = had(history?.git, key, r);
  const pulled = had(history?.store, key, l);
  if (pushed === pulled) return 'both';
  return pushed ? 'git' : 'store';
}

function had(past: readonly FingerprintMap[] | undefined, key: string, print: string): boolean {
  return past?.some((prints) => prints.get(key) === print) ?? false;
}

function groupsOf({ merge }: SyncPolicy, all: readonly string[]): readonly (readonly string[])[] {
  if (merge === 'keys') return [];
  return merge === 'object' ? [all] : merge;
}

/** One side's user with the other side's password is worse than a conflict. */
function tearApart(group: readonly string[], natural: Map<string, Author>): void {
  const members = group.filter((key) => natural.has(key));
  if (new Set(members.map((key) => natural.get(key))).size < 2) return;
  for (const key of members) natural.set(key, 'both');
}

function allowed(author: Author | undefined, policy: SyncPolicy): Flow {
  const [pull, push] = [mayPull(policy), mayPush(policy)];
  if (author === 'git') {
    if (push) return 'push';
    return policy.conflict === 'PreferStore' ? 'pull' : 'drift';
  }
  if (author === 'store') {
    if (pull) return 'pull';
    return policy.conflict === 'PreferGit' ? 'push' : 'drift';
  }
  // Whoever wins on the side that does not flow keeps what it has.
  if (policy.conflict === 'PreferGit') return push ? 'push' : 'drift';
  if (policy.conflict === 'PreferStore') return pull ? 'pull' : 'drift';
  return 'conflicts';
}

/** Keys that differ after a round, and which side of them counts as what was agreed. */
export interface Unequal {
  /** Only git has changed them: about to be pushed, or not to be pushed. */
  readonly asInStore?: readonly string[];
  /** Only the store has changed them. */
  readonly asInGit?: readonly string[];
}

/** The base after a round: what is equal is agreed, and where nothing is said the old base stays. */
export function agreedFingerprints(
  { base, git, store }: MergeInput,
  { asInStore = [], asInGit = [] }: Unequal = {},
): FingerprintMap {
  const agreed = new Map<string, string>();
  for (const key of new Set([...base.keys(), ...git.keys(), ...store.keys()])) {
    const isStores = asInStore.includes(key) || git.get(key) === store.get(key);
    const side = isStores ? store : asInGit.includes(key) ? git : base;
    const print = side.get(key);
    if (print !== undefined) agreed.set(key, print);
  }
  return agreed;
}
