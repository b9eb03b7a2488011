/**
 * Decides on what was read, and brings what `decide` asks for: how deep the history is, and what it
 * holds.
 */
import { decide, type Situation, type Step } from './decide.ts';
import type { Seen } from './look.ts';
import type { History } from './merge.ts';
import type { Prints, SecretValues } from './prints.ts';
import type { SyncRecord } from './sync-record.ts';

export async function nextStep(record: SyncRecord, seen: Seen): Promise<Step> {
  const step = decide(await withHistoryDepth(record, seen.situation));
  if (step.do !== 'look') return step;
  const history = await historyOf(record, seen);
  return decide(await withHistoryDepth(record, { ...seen.situation, history }));
}

/** A store that keeps a single version keeps no history; asked only where it matters. */
async function withHistoryDepth(record: SyncRecord, situation: Situation): Promise<Situation> {
  const { policy, resolution, keepsHistory } = situation;
  const mayCover =
    policy.conflict === 'PreferGit' || policy.adopt === 'PreferGit' || resolution?.winner === 'git';
  if (!keepsHistory || !mayCover) return situation;
  const key = await record.task.store.keyHistory();
  return { ...situation, keepsHistory: key === undefined || key.maxVersions > 1 };
}

/** What both sides held since the base. */
async function historyOf(record: SyncRecord, { store }: Seen): Promise<History> {
  const { git, store: storeSide, fingerprints } = record.task;
  const { base } = record.state;
  if (base === undefined) return { git: [], store: [] };
  const past = await git.history(base.commit);
  const versions: SecretValues[] = [];
  if (storeSide.isVersioned && store.state !== 'absent') {
    for (let version = store.at.version - 1; version > base.at.version; version -= 1) {
      const read = await storeSide.read(version);
      if (read.state === 'live') versions.push(read.values);
    }
  }
  const printed = (list: readonly SecretValues[]): Prints[] =>
    list.map((values) => fingerprints.of(values));
  return { git: printed(past), store: printed(versions) };
}
