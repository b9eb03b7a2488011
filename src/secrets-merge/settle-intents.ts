/**
 * Settles pushes with unknown results: reads the result of each from the store, makes successful
 * ones the base, and records the versions that they covered.
 */
import { judgeIntent, type Successor } from './intents.ts';
import type { SyncRecord } from './sync-record.ts';
import { type Intent, isOlder, type StoreVersion } from './sync-state.ts';

/** Oldest first; a push with a result that is still unknown stays. */
export async function settleIntents(record: SyncRecord): Promise<void> {
  if (record.state.intents.length === 0 || !record.task.store.isVersioned) return;
  const key = await record.task.store.keyHistory();
  for (const intent of record.state.intents) {
    const isThere = intent.landed === undefined && key?.versions.has(intent.cas + 1) === true;
    const successor = isThere ? await readSuccessor(record, intent) : undefined;
    const verdict = judgeIntent(intent, key, successor);
    if (verdict.is === 'unknown') continue;
    const intents = record.state.intents.filter((other) => other !== intent);
    const covered = await coveredUnseen(record, intent, verdict.covered);
    const { base } = record.state;
    const isNews = verdict.is === 'landed' && (base === undefined || isOlder(base.at, verdict.at));
    if (verdict.is === 'landed' && isNews) {
      const { prints, commit } = intent;
      await record.agree({ prints, at: verdict.at, commit }, { intents, covered, key });
    } else {
      await record.save({ intents, covered });
    }
  }
}

async function readSuccessor(record: SyncRecord, intent: Intent): Promise<Successor | undefined> {
  const read = await record.task.store.read(intent.cas + 1);
  if (read.state === 'absent') return undefined;
  const { fingerprints } = record.task;
  const whole =
    read.state === 'live' ? fingerprints.whole(fingerprints.of(read.values)) : undefined;
  return { createdTime: read.at.createdTime, whole };
}

/**
 * Adds a covered version, unless it holds the values that were read before the push, or agreed on.
 */
async function coveredUnseen(
  record: SyncRecord,
  intent: Intent,
  version: StoreVersion | undefined,
): Promise<readonly StoreVersion[]> {
  const { covered, base } = record.state;
  if (version === undefined) return covered;
  const read = await record.task.store.read(version.version);
  const { fingerprints } = record.task;
  const known = [intent.predecessor.whole, base && fingerprints.whole(base.prints)];
  const isKnown =
    read.state === 'live' &&
    read.at.createdTime === version.createdTime &&
    known.includes(fingerprints.whole(fingerprints.of(read.values)));
  return isKnown ? covered : [...covered, version];
}
