/**
 * What is remembered of one object while it is synced. Every change is on the disk before the next
 * thing happens, so that a sync can stop anywhere; the base is written last of all.
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

const NOT_WAITED_LONG: Pick<SyncState, 'staleReads' | 'missingReads'> = {
  staleReads: 0,
  missingReads: 0,
};

/** What else is settled together with a new base. */
export interface AlsoSettled {
  readonly intents?: readonly Intent[];
  readonly covered?: readonly StoreVersion[];
  /** Absent: asked for when it is needed. */
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

  /** The object is not tracked any more. The last thing that a sync does. */
  async forget(): Promise<void> {
    await this.task.memory.save(NEW_STATE);
  }

  /** A version as `SyncState.seen` has it. */
  seenAt(at: StoreVersion, key: KeyHistory | undefined): NonNullable<SyncState['seen']> {
    const { mount } = this.task.store;
    return { ...inLife(at, key), ...(mount !== undefined && { mount }) };
  }

  /** What was seen on another mount is neither older nor newer. Reaches the disk with the next save. */
  forgetOtherStore(): void {
    const { mount } = this.task.store;
    const { seen, ...rest } = this.#state;
    const isOther = seen?.mount !== undefined && mount !== undefined && seen.mount !== mount;
    if (isOther) this.#state = rest;
  }

  async keyHistory(): Promise<KeyHistory | undefined> {
    const { store } = this.task;
    return store.isVersioned ? await store.keyHistory() : undefined;
  }

  /** Remembers what both sides agree on. Written last: whatever came before can be found again. */
  async agree(
    agreed: Pick<SyncBase, 'prints' | 'at' | 'commit'>,
    also: AlsoSettled = {},
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
    const { keyCreatedTime: made = base?.keyCreatedTime } = inLife(agreed.at, key);
    const next: SyncBase = {
      ...agreed,
      ...(made !== undefined && { keyCreatedTime: made }),
      ...(store.mount !== undefined && { mount: store.mount }),
    };
    // Of a push that landed earlier: what was seen since is newer, and older answers are still old.
    const isLater = also.intents !== undefined && seen !== undefined && isOlder(next.at, seen);
    this.#state = {
      base: next,
      intents,
      covered,
      ...NOT_WAITED_LONG,
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

/** With the life of the key, where its history knows just that version. */
function inLife({ version, createdTime }: StoreVersion, key: KeyHistory | undefined): KnownVersion {
  const isOfKey = key?.versions.get(version) === createdTime;
  return { version, createdTime, ...(isOfKey && { keyCreatedTime: key.createdTime }) };
}
