/**
 * One object, synced: asks `decide` for a step, carries it out and asks again until both sides rest.
 * It can stop between any two lines and the next run goes on from there. That holds because a push
 * is remembered before it is sent, a pull lands on exactly the commit that was read, and the base is
 * written last.
 */
import {
  type Difference,
  decide,
  type HoldReason,
  type Resolution,
  type Situation,
  type Step,
  type StoreView,
  visible,
} from './decide.ts';
import {
  isNewAllTheSame,
  type KeyHistory,
  looksStale,
  STALE_READS_BEFORE_LOOKING,
} from './guards.ts';
import { afterLanding, judgeIntent, type Successor, withIntent } from './intents.ts';
import { agreedPrints, type History } from './merge.ts';
import { mayPush, type SyncPolicy } from './policy.ts';
import {
  type GitRead,
  type GitSide,
  type StoreChange,
  StoreError,
  type StoreRead,
  type StoreSide,
  type SyncMemory,
  type WriteOutcome,
} from './ports.ts';
import {
  type Fingerprints,
  NO_PRINTS,
  type Prints,
  type SecretValues,
  samePrints,
} from './prints.ts';
import {
  type Intent,
  isOlder,
  type KnownVersion,
  type StoreVersion,
  type SyncBase,
  type SyncState,
} from './sync-state.ts';

export interface SyncTask {
  readonly git: GitSide;
  readonly store: StoreSide;
  readonly memory: SyncMemory;
  readonly fingerprints: Fingerprints;
  readonly policy: SyncPolicy;
  /** Who this daemon is in markers; the same for its whole life. */
  readonly owner: string;
  /** Whether this cycle may delete: the guard against mass deletions has counted. */
  readonly mayDelete: boolean;
  readonly resolution?: Resolution;
}

export type SyncResult =
  | 'Synced'
  | 'Differs'
  | 'Held'
  /** Nothing was believed or nobody else could be outrun; the next cycle tries again. */
  | 'Waiting'
  | 'Forgotten'
  | 'WantsDeletion';

export interface SyncOutcome {
  readonly result: SyncResult;
  readonly reason?:
    | Difference
    | HoldReason
    | 'StaleRead'
    | 'Unconfirmed'
    | 'Outrun'
    | 'TooLarge'
    | 'DeleteInStore'
    | 'DeleteInGit';
  /** Keys it is about, never values. */
  readonly keys: readonly string[];
  readonly pulled: number;
  readonly pushed: number;
  readonly commit?: string;
  readonly version?: number;
}

const MOST_ROUNDS = 6;
const NOT_WAITED_LONG: Pick<SyncState, 'staleReads' | 'missingReads'> = {
  staleReads: 0,
  missingReads: 0,
};

/** Rejects with `StoreError`, or with what git or the disk rejected with. */
export async function syncObject(task: SyncTask): Promise<SyncOutcome> {
  return await new ObjectSync(task, await task.memory.load()).run();
}

interface Seen {
  readonly git: GitRead | undefined;
  readonly gitPrints: Prints;
  readonly store: StoreRead;
  readonly view: StoreView;
  readonly situation: Situation;
}

class ObjectSync {
  readonly #task: SyncTask;
  #state: SyncState;
  #pulled = 0;
  #pushed = 0;

  constructor(task: SyncTask, state: SyncState) {
    this.#task = task;
    this.#state = state;
  }

  async run(): Promise<SyncOutcome> {
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      await this.#settleIntents();
      const seen = await this.#look();
      if ('result' in seen) return seen;
      const outcome = await this.#carryOut(seen, await this.#decide(seen));
      if (outcome !== undefined) return outcome;
    }
    return this.#outcome('Waiting', { reason: 'Outrun' });
  }

  /** Reads both sides; an outcome instead when what was read is not to be believed. */
  async #look(): Promise<Seen | SyncOutcome> {
    const { git: gitSide, store: storeSide, fingerprints, policy, owner, resolution } = this.#task;
    const git = await gitSide.read();
    const store = await storeSide.read();
    this.#forgetOtherStore(storeSide.mount);
    const { base, ...withoutBase } = this.#state;
    const isOtherMount =
      base?.mount !== undefined && storeSide.mount !== undefined && base.mount !== storeSide.mount;
    // Versions of another mount are neither older nor newer.
    const isOld = store.state !== 'absent' && !isOtherMount && !(await this.#believe(store.at));
    if (isOld) return this.#outcome('Waiting', { reason: 'StaleRead' });
    const gitPrints = fingerprints.of(git?.values ?? new Map());
    const { values, ...rest } = store.state === 'live' ? store : { ...store, values: undefined };
    const view = (values ? { ...rest, prints: fingerprints.of(values) } : rest) as StoreView;
    await this.#countMissing(store, isOtherMount ? undefined : base);
    const situation: Situation = {
      git: git ? { state: 'live', commit: git.commit, prints: gitPrints } : { state: 'absent' },
      store: view,
      state: isOtherMount ? withoutBase : this.#state,
      isOtherMount,
      policy,
      owner,
      whole: (prints) => fingerprints.whole(prints),
      keepsHistory: storeSide.isVersioned,
      ...(resolution && { resolution }),
    };
    return { git, gitPrints, store, view, situation };
  }

  async #believe(at: StoreVersion): Promise<boolean> {
    if (!looksStale(this.#state, at)) {
      if (this.#state.staleReads > 0) await this.#save({ staleReads: 0 });
      return true;
    }
    await this.#save({ staleReads: this.#state.staleReads + 1 });
    if (this.#state.staleReads < STALE_READS_BEFORE_LOOKING) return false;
    const key = await this.#task.store.keyHistory();
    return key !== undefined && isNewAllTheSame(this.#state, at, key);
  }

  async #countMissing(store: StoreRead, base: SyncBase | undefined): Promise<void> {
    const isMissing = store.state !== 'live' && base !== undefined;
    const missingReads = isMissing ? Math.min(this.#state.missingReads + 1, 99) : 0;
    if (missingReads !== this.#state.missingReads) await this.#save({ missingReads });
  }

  async #decide(seen: Seen): Promise<Step> {
    const step = decide(await this.#withHistoryDepth(seen.situation));
    return step.do === 'look'
      ? decide(
          await this.#withHistoryDepth({ ...seen.situation, history: await this.#history(seen) }),
        )
      : step;
  }

  /** A store that keeps a single version keeps no history; asked only where it matters. */
  async #withHistoryDepth(situation: Situation): Promise<Situation> {
    const { policy, resolution, keepsHistory } = situation;
    const mayCover =
      policy.conflict === 'PreferGit' ||
      policy.adopt === 'PreferGit' ||
      resolution?.winner === 'git';
    if (!keepsHistory || !mayCover) return situation;
    const key = await this.#task.store.keyHistory();
    return { ...situation, keepsHistory: key === undefined || key.maxVersions > 1 };
  }

  async #history({ store }: Seen): Promise<History> {
    const { git, store: storeSide, fingerprints } = this.#task;
    const { base } = this.#state;
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

  /** Undefined: ask again. */
  async #carryOut(seen: Seen, step: Step): Promise<SyncOutcome | undefined> {
    switch (step.do) {
      case 'pull':
        return await this.#pull(seen, step);
      case 'push':
        return await this.#push(seen, step.keys);
      case 'rest':
        return await this.#rest(seen, step);
      case 'hold':
        await this.#hold(seen, step);
        return this.#outcome('Held', step, seen);
      case 'confirm':
        return this.#outcome('Waiting', { reason: 'Unconfirmed' });
      case 'look':
        throw new Error('The history was given and is asked for again');
      case 'forget':
        await this.#task.memory.save({ intents: [], covered: [], staleReads: 0, missingReads: 0 });
        return this.#outcome('Forgotten');
      default:
        return await this.#delete(seen, step);
    }
  }

  async #rest(seen: Seen, step: Step & { do: 'rest' }): Promise<SyncOutcome> {
    if (step.agreed !== undefined && seen.git && seen.store.state === 'live') {
      await this.#agree({ prints: step.agreed, at: seen.store.at, commit: seen.git.commit });
    }
    const { difference: reason } = step;
    return reason === undefined
      ? this.#outcome('Synced', {}, seen)
      : this.#outcome('Differs', { reason, keys: step.keys }, seen);
  }

  /** A person may decide on exactly this pair, and on no other. */
  async #hold(seen: Seen, { reason }: Step & { do: 'hold' }): Promise<void> {
    const { fingerprints, resolution } = this.#task;
    if (seen.git === undefined) return;
    const prints =
      seen.view.state === 'live'
        ? visible(seen.situation, seen.gitPrints, seen.view.prints)
        : NO_PRINTS;
    const held = {
      commit: seen.git.commit,
      git: fingerprints.whole(seen.gitPrints),
      version: seen.store.state === 'absent' ? 0 : seen.store.at.version,
      store: fingerprints.whole(prints),
    };
    const { held: before } = this.#state;
    if (reason === 'CoveredValue' && before !== undefined && resolution !== undefined) {
      const shown = resolution.winner === 'git' ? before.commit : String(before.version);
      if (shown === resolution.id) return await this.#save({ covered: [] });
    }
    const isSame =
      before !== undefined &&
      before.git === held.git &&
      before.store === held.store &&
      before.version === held.version;
    const { seen: known } = this.#state;
    if (seen.store.state === 'absent') {
      if (!isSame) await this.#save({ held });
    } else if (!isSame || known === undefined || isOlder(known, seen.store.at)) {
      const key = await this.#keyHistory();
      await this.#save({ held, seen: this.#known(seen.store.at, key) });
    }
  }

  #known(at: StoreVersion, key: KeyHistory | undefined): NonNullable<SyncState['seen']> {
    const { mount } = this.#task.store;
    return { ...inLife(at, key), ...(mount !== undefined && { mount }) };
  }

  /** What was seen on another mount is neither older nor newer. */
  #forgetOtherStore(mount: string | undefined): void {
    const { seen, ...rest } = this.#state;
    const isOther = seen?.mount !== undefined && mount !== undefined && seen.mount !== mount;
    if (isOther) this.#state = rest;
  }

  async #keyHistory(): Promise<KeyHistory | undefined> {
    const { store } = this.#task;
    return store.isVersioned ? await store.keyHistory() : undefined;
  }

  async #pull(seen: Seen, { keys, push }: Step & { do: 'pull' }): Promise<undefined> {
    const { git, store } = seen;
    if (git === undefined || store.state !== 'live') throw new Error('Nothing to pull');
    const { set, remove } = changeOf(keys, store.values);
    // Until the base is written nothing else tells an older answer from a newer one.
    const key = await this.#keyHistory();
    await this.#save({ seen: this.#known(store.at, key) });
    const commit = await this.#task.git.change({ seen: git, set, remove, from: store.at });
    if (commit === undefined) return;
    this.#pulled += keys.length;
    const shown =
      seen.view.state === 'live'
        ? visible(seen.situation, seen.gitPrints, seen.view.prints)
        : NO_PRINTS;
    const after = changed(seen.gitPrints, keys, shown);
    const base = seen.situation.state.base?.prints ?? NO_PRINTS;
    const prints = agreedPrints({ base, git: after, store: shown }, { asInStore: push });
    await this.#agree({ prints, at: store.at, commit }, { key });
  }

  async #push(seen: Seen, keys: readonly string[]): Promise<SyncOutcome | undefined> {
    const { store: storeSide } = this.#task;
    const { git, store } = seen;
    if (git === undefined) throw new Error('Nothing to push');
    const intent = this.#intentOf(seen, git, keys);
    // The same push may have been tried before, and may have landed: giving up leaves that open.
    const { intents: before } = this.#state;
    if (storeSide.isVersioned) await this.#save({ intents: withIntent(before, intent) });
    const written = await this.#write({ seen: store, ...changeOf(keys, git.values) }, before);
    if (written.is === 'outrun') return undefined;
    if (written.is === 'refused')
      return this.#outcome('Held', { reason: written.reason, keys }, seen);
    this.#pushed += keys.length;
    if (!storeSide.isVersioned) {
      await this.#agree({ prints: intent.prints, at: written.at, commit: git.commit });
      return undefined;
    }
    const intents = afterLanding(this.#state.intents, intent);
    await this.#save({ intents: [...intents, { ...intent, landed: written.at }] });
    return undefined;
  }

  #intentOf(
    { store, view, gitPrints, situation }: Seen,
    git: GitRead,
    keys: readonly string[],
  ): Intent {
    const { fingerprints } = this.#task;
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
      prints: agreedPrints({ base, git: gitPrints, store: shown }),
      commit: git.commit,
    };
  }

  /** A push that is known to have failed leaves nothing to wait for. */
  async #write(change: StoreChange, before: readonly Intent[]): Promise<WriteOutcome> {
    const giveUp = (): Promise<void> => this.#save({ intents: before });
    try {
      const written = await this.#task.store.write(change);
      if (written.is !== 'written') await giveUp();
      return written;
    } catch (error) {
      if (error instanceof StoreError && !error.mayHaveHappened) await giveUp();
      throw error;
    }
  }

  async #delete({ git, store }: Seen, step: Step): Promise<SyncOutcome | undefined> {
    const reason = step.do === 'delete-in-store' ? 'DeleteInStore' : 'DeleteInGit';
    if (!this.#task.mayDelete) return this.#outcome('WantsDeletion', { reason });
    if (step.do === 'delete-in-store') {
      const { createdTime } = store.state === 'absent' ? { createdTime: undefined } : store.at;
      await this.#task.store.deleteVersion(step.version, createdTime);
    } else if (git === undefined || !(await this.#task.git.remove(git))) return undefined;
    await this.#task.memory.save({ intents: [], covered: [], staleReads: 0, missingReads: 0 });
    return this.#outcome('Forgotten', {
      reason,
      keys: store.state === 'live' ? [...store.values.keys()] : [],
    });
  }

  /** Finds out what became of pushes whose end is not known, oldest first. */
  async #settleIntents(): Promise<void> {
    if (this.#state.intents.length === 0 || !this.#task.store.isVersioned) return;
    const key = await this.#task.store.keyHistory();
    for (const intent of this.#state.intents) {
      const isThere = intent.landed === undefined && key?.versions.has(intent.cas + 1) === true;
      const successor = isThere ? await this.#successor(intent) : undefined;
      const verdict = judgeIntent(intent, key, successor);
      if (verdict.is === 'unknown') continue;
      const intents = this.#state.intents.filter((other) => other !== intent);
      const covered = await this.#unseen(intent, verdict.covered);
      const { base } = this.#state;
      const isNews =
        verdict.is === 'landed' && (base === undefined || isOlder(base.at, verdict.at));
      if (verdict.is === 'landed' && isNews) {
        const { prints, commit } = intent;
        await this.#agree({ prints, at: verdict.at, commit }, { intents, covered, key });
      } else {
        await this.#save({ intents, covered });
      }
    }
  }

  async #successor(intent: Intent): Promise<Successor | undefined> {
    const read = await this.#task.store.read(intent.cas + 1);
    if (read.state === 'absent') return undefined;
    const { fingerprints } = this.#task;
    const whole =
      read.state === 'live' ? fingerprints.whole(fingerprints.of(read.values)) : undefined;
    return { createdTime: read.at.createdTime, whole };
  }

  /** A version that was covered unseen, unless it holds what was seen before it or agreed on. */
  async #unseen(
    intent: Intent,
    version: StoreVersion | undefined,
  ): Promise<readonly StoreVersion[]> {
    const { covered, base } = this.#state;
    if (version === undefined) return covered;
    const read = await this.#task.store.read(version.version);
    const { fingerprints } = this.#task;
    const known = [intent.predecessor.whole, base && fingerprints.whole(base.prints)];
    const isKnown =
      read.state === 'live' &&
      read.at.createdTime === version.createdTime &&
      known.includes(fingerprints.whole(fingerprints.of(read.values)));
    return isKnown ? covered : [...covered, version];
  }

  /** Remembers what both sides agree on. Written last: whatever came before can be found again. */
  async #agree(
    agreed: Pick<SyncBase, 'prints' | 'at' | 'commit'>,
    more: {
      intents?: readonly Intent[];
      covered?: readonly StoreVersion[];
      key?: KeyHistory | undefined;
    } = {},
  ): Promise<void> {
    const { store, policy, owner, fingerprints } = this.#task;
    const { base } = this.#state;
    const isSame =
      base !== undefined &&
      samePrints(base.prints, agreed.prints) &&
      base.at.version === agreed.at.version &&
      base.at.createdTime === agreed.at.createdTime &&
      base.mount === store.mount;
    const { held, seen } = this.#state;
    const isKnown = isSame && held === undefined && seen === undefined;
    if (isKnown && more.intents === undefined) return;
    const { intents = this.#state.intents, covered = this.#state.covered } = more;
    const key = more.key ?? (isSame ? undefined : await this.#keyHistory());
    const { keyCreatedTime: made = base?.keyCreatedTime } = inLife(agreed.at, key);
    const next: SyncBase = {
      ...agreed,
      ...(made !== undefined && { keyCreatedTime: made }),
      ...(store.mount !== undefined && { mount: store.mount }),
    };
    // Of a push that landed earlier: what was seen since is newer, and older answers are still old.
    const isLater = more.intents !== undefined && seen !== undefined && isOlder(next.at, seen);
    this.#state = {
      base: next,
      intents,
      covered,
      ...NOT_WAITED_LONG,
      ...(isLater && { seen }),
    };
    await this.#task.memory.save(this.#state);
    if (!isSame && store.isVersioned && mayPush(policy)) {
      await store.mark({
        owner,
        whole: fingerprints.whole(agreed.prints),
        version: agreed.at.version,
      });
    }
  }

  async #save(change: Partial<SyncState>): Promise<void> {
    this.#state = { ...this.#state, ...change };
    await this.#task.memory.save(this.#state);
  }

  #outcome(
    result: SyncResult,
    about: { reason?: SyncOutcome['reason']; keys?: readonly string[] } = {},
    seen?: Seen,
  ): SyncOutcome {
    const { reason, keys = [] } = about;
    return {
      result,
      keys,
      pulled: this.#pulled,
      pushed: this.#pushed,
      ...(reason !== undefined && { reason }),
      ...(seen?.git && { commit: seen.git.commit }),
      ...(seen && seen.store.state !== 'absent' && { version: seen.store.at.version }),
    };
  }
}

/** With the life of the key, where its history knows just that version. */
function inLife({ version, createdTime }: StoreVersion, key: KeyHistory | undefined): KnownVersion {
  const isOfKey = key?.versions.get(version) === createdTime;
  return { version, createdTime, ...(isOfKey && { keyCreatedTime: key.createdTime }) };
}

function changeOf(
  keys: readonly string[],
  values: SecretValues,
): { set: SecretValues; remove: string[] } {
  const set = new Map<string, Uint8Array>();
  const remove: string[] = [];
  for (const key of keys) {
    const value = values.get(key);
    if (value === undefined) remove.push(key);
    else set.set(key, value);
  }
  return { set, remove };
}

function changed(prints: Prints, keys: readonly string[], from: Prints): Prints {
  const after = new Map(prints);
  for (const key of keys) {
    const print = from.get(key);
    if (print === undefined) after.delete(key);
    else after.set(key, print);
  }
  return after;
}
