/** Manual resolution: records fingerprints of the two values that the user sees. */
import type { Step } from './decide.ts';
import { type Observation, shownFingerprints } from './observe.ts';
import type { SyncRecord } from './sync-record.ts';
import { isOlder } from './sync-state.ts';

/** The user may decide on exactly this pair of values. */
export async function requireManualResolution(
  record: SyncRecord,
  seen: Observation,
  { reason }: Step & { do: 'hold' },
): Promise<void> {
  const { fingerprints, resolution } = record.task;
  if (seen.git === undefined) return;
  const prints = shownFingerprints(seen);
  const held = {
    commit: seen.git.commit,
    git: fingerprints.whole(seen.gitPrints),
    version: seen.store.state === 'absent' ? 0 : seen.store.at.version,
    store: fingerprints.whole(prints),
  };
  const { held: before } = record.state;
  if (reason === 'CoveredValue' && before !== undefined && resolution !== undefined) {
    const shown = resolution.winner === 'git' ? before.commit : String(before.version);
    if (shown === resolution.id) return await record.save({ covered: [] });
  }
  const isSame =
    before !== undefined &&
    before.git === held.git &&
    before.store === held.store &&
    before.version === held.version;
  const { seen: known } = record.state;
  // `seen` never moves back to an older version.
  if (seen.store.state === 'absent' || seen.situation.older !== undefined) {
    if (!isSame) await record.save({ held });
  } else if (!isSame || known === undefined || isOlder(known, seen.store.at)) {
    const key = await record.keyHistory();
    await record.save({ held, seen: record.seenAt(seen.store.at, key) });
  }
}
