/** Copies keys of the store to git: one commit on exactly the values that were read, or none. */
import type { Step } from './decide.ts';
import { NO_PRINTS } from './fingerprints.ts';
import { changed, changeOf } from './key-changes.ts';
import { agreedFingerprints } from './merge.ts';
import { type Observation, shownFingerprints } from './observe.ts';
import type { SyncRecord } from './sync-record.ts';

/** False: another writer changed the object meanwhile, and nothing was pulled. */
export async function pull(
  record: SyncRecord,
  seen: Observation,
  { keys, push }: Step & { do: 'pull' },
): Promise<boolean> {
  const { git, store } = seen;
  if (git === undefined || store.state !== 'live') throw new Error('Nothing to pull');
  const { set, remove } = changeOf(keys, store.values);
  // Until the base is written, only this record distinguishes older from newer answers.
  const key = await record.keyHistory();
  const pulled = shownFingerprints(seen);
  await record.save({ seen: record.seenAt(store.at, key), pulled });
  const commit = await record.task.git.change({ seen: git, set, remove, from: store.at });
  if (commit === undefined) return false;
  const after = changed(seen.gitPrints, keys, pulled);
  const base = seen.situation.state.base?.prints ?? NO_PRINTS;
  const prints = agreedFingerprints({ base, git: after, store: pulled }, { asInStore: push });
  await record.agree({ prints, at: store.at, commit }, { key });
  return true;
}
