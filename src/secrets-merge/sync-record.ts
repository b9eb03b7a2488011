/**
 * The sync record of one object during a sync. Every change is on disk before the next action, so
 * that a sync can stop at any point; the base is written last.
 */

import { sameFingerprints } from './fingerprints.ts';
import type { KeyHistory } from './guards.ts';
import { mayPush } from './policy.ts';
import {
  type Intent,
  isOlder,
  type KnownVersion,
  NEW_STATE,
  type StoreVersion,
  type SyncBase,
  type SyncState,
} from './sync-state.ts';
import type { SyncTask } from './sync-task.ts';

const NO_DOUBTFUL_READS: Pick<SyncState, 'staleReads' | 'missingReads'> = {
  staleReads: 0,
  missingReads: 0,
};

/** Other parts of the record that change with a new base. */
export interface AgreementChanges {
  readonly intents?: readonly Intent[];
  readonly covered?: readonly StoreVersion[];
  /** Absent: read on demand. */
  readonly key?: KeyHistory | undefined;
}

export class SyncRecord {
  readonly task: SyncTask;
  #state: SyncState;

  constructor(task: SyncTask, state: SyncState) {
    this.task = task;
    this.#state = state;
  }

  get state(): SyncState {
    return this.#state;
  }

  async save(change: Partial<SyncState>): Promise<void> {
    this.#state = { ...this.#state, ...change };
    await this.task.memory.save(this.#state);
  }

  /** Ends the tracking of the object; the last action of a sync. */
  async forget(): Promise<void> {
    await this.task.memory.save(NEW_STATE);
  }

  /** A version in the format of `SyncState.seen`. */
  seenAt(at: StoreVersion, key: KeyHistory | undefined): NonNullable<SyncState['seen']> {
    const { mount } = this.task.store;
    return { ...withKeyCreation(at, key), ...(mount !== undefined && { mount }) };
  }

  /** A version of another mount is not comparable. Written with the next save. */
  dropSeenOfOtherMount(): void {
    const { mount } = this.task.store;
    const { seen, ...rest } = this.#state;
    const isOther = seen?.mount !== undefined && mount !== undefined && seen.mount !== mount;
    if (isOther) this.#state = rest;
  }

  async keyHistory(): Promise<KeyHistory | undefined> {
    const { store } = this.task;
    return store.isVersioned ? await store.keyHistory() : undefined;
  }

  /** Records the agreement of both sides. Written last: everything before can be recomputed. */
  async agree(
    agreed: Pick<SyncBase, 'prints' | 'at' | 'commit'>,
    also: AgreementChanges = {},
  ): Promise<void> {
    const { store, policy, owner, fingerprints } = this.task;
    const { base } = this.#state;
    const isSame =
      base !== undefined &&
      sameFingerprints(base.prints, agreed.prints) &&
      base.at.version === agreed.at.version &&
      base.at.createdTime === agreed.at.createdTime &&
      base.mount === store.mount;
    const { held, seen } = this.#state;
    const isKnown = isSame && held === undefined && seen === undefined;
    if (isKnown && also.intents === undefined) return;
    const { intents = this.#state.intents, covered = this.#state.covered } = also;
    const key = also.key ?? (isSame ? undefined : await this.keyHistory());
    const { keyCreatedTime: made = base?.keyCreatedTime } = withKeyCreation(agreed.at, key);
    const next: SyncBase = {
      ...agreed,
      ...(made !== undefined && { keyCreatedTime: made }),
      ...(store.mount !== undefined && { mount: store.mount }),
    };
    // For a push that succeeded earlier, `seen` is newer and stays, so that older answers are still
    // recognised.
    const isLater = also.intents !== undefined && seen !== undefined && isOlder(next.at, seen);
    this.#state = {
      base: next,
      intents,
      covered,
      ...NO_DOUBTFUL_READS,
      ...(isLater && { seen }),
    };
    await this.task.memory.save(this.#state);
    if (!isSame && store.isVersioned && mayPush(policy)) {
      await store.mark({
        owner,
        whole: fingerprints.whole(agreed.prints),
        version: agreed.at.version,
      });
    }
  }
}

/** Adds the creation time of the key if its history contains exactly this version. */
function withKeyCreation(
  { version, createdTime }: StoreVersion,
  key: KeyHistory | undefined,
): KnownVersion {
  const isOfKey = key?.versions.get(version) === createdTime;
  return { version, createdTime, ...(isOfKey && { keyCreatedTime: key.createdTime }) };
}
