/** Decides on an observation, and reads the history that `decide` asks for. */
import { decide, differingKeys, type Situation, type Step } from './decide.ts';
import { type FingerprintMap, NO_PRINTS, type SecretValues } from './fingerprints.ts';
import type { History } from './merge.ts';
import type { Observation } from './observe.ts';
import type { SyncRecord } from './sync-record.ts';
import type { StoreVersion } from './sync-state.ts';

/**
 * Full cycles that wait for the history, which may be lost, for example after a rewritten branch.
 */
const MAX_UNKNOWN_HISTORIES = 3;
/** Store versions that are searched for an earlier value. */
const MAX_VERSIONS = 100;

export async function nextStep(record: SyncRecord, seen: Observation): Promise<Step> {
  const { situation } = seen;
  const step = decide(await withHistoryDepth(record, situation));
  const isHistoryAsked = step.do === 'look';
  const history = isHistoryAsked ? await historyOf(record, seen) : undefined;
  if (isHistoryAsked && history === undefined) return await withoutHistory(record, seen);
  if (record.state.unknownHistories) await record.save({ unknownHistories: 0 });
  if (history === undefined) return step;
  return decide(await withHistoryDepth(record, { ...situation, history }));
}

/** Both sides changed a key and the earlier values are unknown: this is not a conflict. */
async function withoutHistory(record: SyncRecord, { gitPrints, view }: Observation): Promise<Step> {
  const { state, task } = record;
  const unknownHistories = (state.unknownHistories ?? 0) + (task.isFull === false ? 0 : 1);
  if (unknownHistories !== state.unknownHistories && unknownHistories <= MAX_UNKNOWN_HISTORIES)
    await record.save({ unknownHistories });
  if (unknownHistories < MAX_UNKNOWN_HISTORIES) return { do: 'wait' };
  const shown = view.state === 'live' ? view.prints : NO_PRINTS;
  return { do: 'hold', reason: 'HistoryUnknown', keys: differingKeys(gitPrints, shown) };
}

/** A store with one version per key has no history; checked only when it matters. */
async function withHistoryDepth(record: SyncRecord, situation: Situation): Promise<Situation> {
  const { policy, resolution, keepsHistory } = situation;
  const mayCover =
    policy.conflict === 'PreferGit' || policy.adopt === 'PreferGit' || resolution?.winner === 'git';
  if (!keepsHistory || !mayCover) return situation;
  const key = await record.task.store.keyHistory();
  return { ...situation, keepsHistory: key === undefined || key.maxVersions > 1 };
}

/** Values of both sides since the base; undefined: the git history is unavailable. */
async function historyOf(record: SyncRecord, { store }: Observation): Promise<History | undefined> {
  const { git, fingerprints } = record.task;
  const { base, pulled } = record.state;
  if (base === undefined) return { git: [], store: [] };
  const past = await git.history(base.commit);
  if (past === undefined) return undefined;
  const versions = store.state === 'absent' ? [] : await versionsBetween(record, base.at, store.at);
  const printed = (list: readonly SecretValues[]): FingerprintMap[] =>
    list.map((values) => fingerprints.of(values));
  return { git: printed(past), store: [...printed(versions), ...(pulled ? [pulled] : [])] };
}

/** Kept versions of the store after `base` and before `at`. */
async function versionsBetween(
  { task: { store } }: SyncRecord,
  base: StoreVersion,
  at: StoreVersion,
): Promise<SecretValues[]> {
  const key = store.isVersioned ? await store.keyHistory() : undefined;
  const kept = [...(key?.versions.keys() ?? [])].filter(
    (version) => version > base.version && version < at.version,
  );
  const values: SecretValues[] = [];
  for (const version of kept.sort((a, b) => b - a).slice(0, MAX_VERSIONS)) {
    const read = await store.read(version);
    if (read.state === 'live') values.push(read.values);
  }
  return values;
}
