/** The three-way merge, key by key, on fingerprints: the direction of each key. */

import type { FingerprintMap } from './fingerprints.ts';
import { mayPull, mayPush, type SyncPolicy } from './policy.ts';

export interface MergeInput {
  readonly base: FingerprintMap;
  readonly git: FingerprintMap;
  readonly store: FingerprintMap;
}

/** Each differing key is in exactly one list; lists are sorted. */
export interface Merge {
  /** Keys that git takes from the store; a key that the store lacks is removed. */
  readonly pull: readonly string[];
  /** Keys that the store takes from git; a key that git lacks is removed. */
  readonly push: readonly string[];
  /** Changed on both sides, and the newer one is unknown. */
  readonly conflicts: readonly string[];
  /** Changed on the side that is not synced from. */
  readonly drift: readonly string[];
}

/** Values that each side had since the base; they can resolve a conflict. */
export interface History {
  readonly git: readonly FingerprintMap[];
  readonly store: readonly FingerprintMap[];
}

type Flow = keyof Merge;

export function mergeKeys(input: MergeInput, policy: SyncPolicy, history?: History): Merge {
  const keys = [...new Set([...input.git.keys(), ...input.store.keys()])].sort();
  const differing = keys.filter((key) => input.git.get(key) !== input.store.get(key));
  const natural = new Map(differing.map((key) => [key, changedBy(input, key, history)]));
  for (const group of groupsOf(policy, differing)) markConflicts(group, natural);

  const result: Record<Flow, string[]> = { pull: [], push: [], conflicts: [], drift: [] };
  for (const key of differing) result[allowed(natural.get(key), policy)].push(key);
  return result;
}

type Author = 'git' | 'store' | 'both';

function changedBy({ base, git, store }: MergeInput, key: string, history?: History): Author {
  const [b, l, r] = [base.get(key), git.get(key), store.get(key)];
  if (r === b) return 'git';
  if (l === b) return 'store';
  // A written value wins over the removal of the previous one.
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

/** The user name of one side with the password of the other is worse than a conflict. */
function markConflicts(group: readonly string[], natural: Map<string, Author>): void {
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
  // The winner on a side that is not synced from keeps its value.
  if (policy.conflict === 'PreferGit') return push ? 'push' : 'drift';
  if (policy.conflict === 'PreferStore') return pull ? 'pull' : 'drift';
  return 'conflicts';
}

/** Keys that differ after a round, and the side that counts as agreed. */
export interface Unequal {
  /** Changed only in git: to be pushed, or not pushed by policy. */
  readonly asInStore?: readonly string[];
  /** Changed only in the store. */
  readonly asInGit?: readonly string[];
}

/** The base after a round: equal keys are agreed; other keys keep the old base. */
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
