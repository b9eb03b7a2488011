/**
 * Copies keys of git to the store. The push is recorded before it is sent, so that `settleIntents`
 * can find its result later, whatever happens in between.
 */
import { visible } from './decide.ts';
import { type Fingerprints, NO_PRINTS } from './fingerprints.ts';
import { afterLanding, withIntent } from './intents.ts';
import { changed, changeOf } from './key-changes.ts';
import { agreedFingerprints } from './merge.ts';
import type { Observation } from './observe.ts';
import { type GitRead, type StoreChange, StoreError, type WriteOutcome } from './ports.ts';
import type { SyncRecord } from './sync-record.ts';
import type { Intent } from './sync-state.ts';

/**
 * A versioned store agrees only after the push is settled, since it may have covered another
 * version.
 */
export async function push(
  record: SyncRecord,
  seen: Observation,
  keys: readonly string[],
): Promise<WriteOutcome> {
  const { store: storeSide, fingerprints } = record.task;
  const { git, store } = seen;
  if (git === undefined) throw new Error('Nothing to push');
  const intent = intentOf({ seen, git, keys }, fingerprints);
  // An earlier attempt of the same push may have succeeded: giving up keeps its intent.
  const { intents: before } = record.state;
  if (storeSide.isVersioned) await record.save({ intents: withIntent(before, intent) });
  const written = await write(record, { seen: store, ...changeOf(keys, git.values) }, before);
  if (written.is !== 'written') return written;
  if (!storeSide.isVersioned) {
    await record.agree({ prints: intent.prints, at: written.at, commit: git.commit });
    return written;
  }
  const intents = afterLanding(record.state.intents, intent);
  await record.save({ intents: [...intents, { ...intent, landed: written.at }] });
  return written;
}

interface Planned {
  readonly seen: Observation;
  readonly git: GitRead;
  readonly keys: readonly string[];
}

function intentOf({ seen, git, keys }: Planned, fingerprints: Fingerprints): Intent {
  const { store, view, gitPrints, situation } = seen;
  const before = view.state === 'live' ? view.prints : NO_PRINTS;
  const after = changed(before, keys, gitPrints);
  const shown = visible(situation, gitPrints, after);
  const base = situation.state.base?.prints ?? NO_PRINTS;
  return {
    cas: store.state === 'absent' ? 0 : store.at.version,
    predecessor: {
      createdTime: store.state === 'absent' ? '' : store.at.createdTime,
      whole: fingerprints.whole(before),
      isDeleted: store.state === 'deleted',
    },
    target: fingerprints.whole(after),
    prints: agreedFingerprints({ base, git: gitPrints, store: shown }),
    commit: git.commit,
  };
}

/** A push that certainly failed leaves no intent. */
async function write(
  record: SyncRecord,
  change: StoreChange,
  before: readonly Intent[],
): Promise<WriteOutcome> {
  const giveUp = (): Promise<void> => record.save({ intents: before });
  try {
    const written = await record.task.store.write(change);
    if (written.is !== 'written') await giveUp();
    return written;
  } catch (error) {
    if (error instanceof StoreError && !error.mayHaveHappened) await giveUp();
    throw error;
  }
}
