/**
 * Syncs one object: executes the steps of `decide` until both sides are stable. It can stop at any
 * point, and the next run continues: a push is recorded before it is sent, a pull applies to
 * exactly the commit that was read, and the base is written last.
 */
import type { Step } from './decide.ts';
import { visible } from './decide.ts';
import type { FingerprintMap } from './fingerprints.ts';
import { NO_PRINTS } from './fingerprints.ts';
import { changed, changeOf } from './key-changes.ts';
import { agreedFingerprints } from './merge.ts';
import { nextStep } from './next-step.ts';
import { type Observation, observe } from './observe.ts';
import { push } from './push.ts';
import { settleIntents } from './settle-intents.ts';
import { SyncRecord } from './sync-record.ts';
import { isOlder } from './sync-state.ts';
import type { SyncOutcome, SyncResult, SyncTask } from './sync-task.ts';

/**
 * Deletes an object on one side, in the version that was read, because it is gone on the other
 * side.
 */
type DeletionStep = Step & { do: 'delete-in-store' | 'delete-in-git' };

const MAX_ROUNDS = 6;

/** Rejects with `StoreError`, or with the error of git or the disk. */
export async function syncObject(task: SyncTask): Promise<SyncOutcome> {
  return await new ObjectSync(new SyncRecord(task, await task.memory.load())).run();
}

class ObjectSync {
  readonly #record: SyncRecord;
  #pulled = 0;
  #pushed = 0;

  constructor(record: SyncRecord) {
    this.#record = record;
  }

  async run(): Promise<SyncOutcome> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      await settleIntents(this.#record);
      const seen = await observe(this.#record);
      if (seen === undefined) return this.#outcome('Waiting', { reason: 'StaleRead' });
      const step = await nextStep(this.#record, seen);
      if (seen.situation.older !== undefined && step.do !== 'hold')
        await this.#dropNewerRecords(seen);
      const outcome = await this.#execute(seen, step);
      if (outcome !== undefined) return outcome;
    }
    return this.#outcome('Waiting', { reason: 'Outrun' });
  }

  /** Undefined: decide again. */
  async #execute(seen: Observation, step: Step): Promise<SyncOutcome | undefined> {
    switch (step.do) {
      case 'pull':
        if (await pull(this.#record, seen, step)) this.#pulled += step.keys.length;
        return undefined;
      case 'push':
        return await this.#push(seen, step.keys);
      case 'rest':
        return await this.#rest(seen, step);
      case 'hold':
        await requireManualResolution(this.#record, seen, step);
        return this.#outcome('Held', step, seen);
      case 'confirm':
        return this.#outcome('Waiting', { reason: 'Unconfirmed' });
      case 'wait':
        return this.#outcome('Waiting', { reason: 'HistoryUnknown' });
      case 'look':
        throw new Error('The history was given and is asked for again');
      case 'forget':
        await this.#record.forget();
        return this.#outcome('Forgotten');
      default:
        return await this.#delete(seen, step);
    }
  }

  /** Clears records of newer versions, which an older copy of the store does not have. */
  async #dropNewerRecords({ store }: Observation): Promise<void> {
    const { covered, intents } = this.#record.state;
    if (store.state === 'absent' || covered.length + intents.length === 0) return;
    await this.#record.save({
      intents: [],
      covered: covered.filter((version) => !isOlder(store.at, version)),
    });
  }

  async #rest(seen: Observation, step: Step & { do: 'rest' }): Promise<SyncOutcome> {
    if (step.agreed !== undefined && seen.git && seen.store.state === 'live') {
      await this.#record.agree({ prints: step.agreed, at: seen.store.at, commit: seen.git.commit });
    }
    const { difference: reason } = step;
    return reason === undefined
      ? this.#outcome('Synced', {}, seen)
      : this.#outcome('Differs', { reason, keys: step.keys }, seen);
  }

  async #push(seen: Observation, keys: readonly string[]): Promise<SyncOutcome | undefined> {
    const written = await push(this.#record, seen, keys);
    if (written.is === 'refused') {
      return this.#outcome('Held', { reason: written.reason, keys }, seen);
    }
    if (written.is === 'written') this.#pushed += keys.length;
    return undefined;
  }

  async #delete(seen: Observation, step: DeletionStep): Promise<SyncOutcome | undefined> {
    const reason = step.do === 'delete-in-store' ? 'DeleteInStore' : 'DeleteInGit';
    if (!this.#record.task.mayDelete) return this.#outcome('WantsDeletion', { reason });
    if (!(await deleteObject(this.#record, seen, step))) return undefined;
    const { store } = seen;
    const keys = store.state === 'live' ? [...store.values.keys()] : [];
    return this.#outcome('Forgotten', { reason, keys });
  }

  #outcome(
    result: SyncResult,
    about: { reason?: SyncOutcome['reason']; keys?: readonly string[] } = {},
    seen?: Observation,
  ): SyncOutcome {
    const { reason, keys = [] } = about;
    return {
      result,
      keys,
      pulled: this.#pulled,
      pushed: this.#pushed,
      ...(reason !== undefined && { reason }),
      ...(seen?.situation.older && { known: seen.situation.older.known }),
      ...(seen?.git && { commit: seen.git.commit }),
      ...(seen && seen.store.state !== 'absent' && { version: seen.store.at.version }),
    };
  }
}

/**
 * Copies keys of the store to git: one commit on exactly the values that were read.
 * False: another writer changed the object meanwhile, and nothing was pulled.
 */
async function pull(
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

/** Fingerprints of the store for the keys of the object. */
function shownFingerprints({ situation, gitPrints, view }: Observation): FingerprintMap {
  return view.state === 'live' ? visible(situation, gitPrints, view.prints) : NO_PRINTS;
}

/** Records fingerprints of the two values that the user sees and may decide on. */
async function requireManualResolution(
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

/** False: another writer changed the object in git meanwhile, and it stays. */
async function deleteObject(
  record: SyncRecord,
  { git, store }: Observation,
  step: DeletionStep,
): Promise<boolean> {
  if (step.do === 'delete-in-store') {
    const { createdTime } = store.state === 'absent' ? { createdTime: undefined } : store.at;
    await record.task.store.deleteVersion(step.version, createdTime);
  } else if (git === undefined || !(await record.task.git.remove(git))) return false;
  await record.forget();
  return true;
}
