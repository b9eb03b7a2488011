/**
 * Reads both sides and puts them into a `Situation` to decide on. What looks older than what is known
 * is not believed: it may come from a node of the store that lags behind.
 */
import { type Situation, type StoreView, visible } from './decide.ts';
import { isNewAllTheSame, looksStale, STALE_READS_BEFORE_LOOKING } from './guards.ts';
import type { GitRead, StoreRead } from './ports.ts';
import { NO_PRINTS, type Prints } from './prints.ts';
import type { SyncRecord } from './sync-record.ts';
import type { StoreVersion, SyncBase } from './sync-state.ts';

/** Both sides as they were read, with the values, which `situation` does not have. */
export interface Seen {
  readonly git: GitRead | undefined;
  readonly gitPrints: Prints;
  readonly store: StoreRead;
  readonly view: StoreView;
  readonly situation: Situation;
}

/** Undefined: what was read is not to be believed. */
export async function look(record: SyncRecord): Promise<Seen | undefined> {
  const { git: gitSide, store: storeSide, fingerprints, policy, owner, resolution } = record.task;
  const git = await gitSide.read();
  const store = await storeSide.read();
  record.forgetOtherStore();
  const { base, ...withoutBase } = record.state;
  const isOtherMount =
    base?.mount !== undefined && storeSide.mount !== undefined && base.mount !== storeSide.mount;
  // Versions of another mount are neither older nor newer.
  const isOld = store.state !== 'absent' && !isOtherMount && !(await believe(record, store.at));
  if (isOld) return undefined;
  const gitPrints = fingerprints.of(git?.values ?? new Map());
  const { values, ...rest } = store.state === 'live' ? store : { ...store, values: undefined };
  const view = (values ? { ...rest, prints: fingerprints.of(values) } : rest) as StoreView;
  await countMissing(record, store, isOtherMount ? undefined : base);
  const situation: Situation = {
    git: git ? { state: 'live', commit: git.commit, prints: gitPrints } : { state: 'absent' },
    store: view,
    state: isOtherMount ? withoutBase : record.state,
    isOtherMount,
    policy,
    owner,
    whole: (prints) => fingerprints.whole(prints),
    keepsHistory: storeSide.isVersioned,
    ...(resolution && { resolution }),
  };
  return { git, gitPrints, store, view, situation };
}

/** What the store shows of the keys that the object is about. */
export function shownPrints({ situation, gitPrints, view }: Seen): Prints {
  return view.state === 'live' ? visible(situation, gitPrints, view.prints) : NO_PRINTS;
}

async function believe(record: SyncRecord, at: StoreVersion): Promise<boolean> {
  if (!looksStale(record.state, at)) {
    if (record.state.staleReads > 0) await record.save({ staleReads: 0 });
    return true;
  }
  await record.save({ staleReads: record.state.staleReads + 1 });
  if (record.state.staleReads < STALE_READS_BEFORE_LOOKING) return false;
  const key = await record.task.store.keyHistory();
  return key !== undefined && isNewAllTheSame(record.state, at, key);
}

async function countMissing(
  record: SyncRecord,
  store: StoreRead,
  base: SyncBase | undefined,
): Promise<void> {
  const isMissing = store.state !== 'live' && base !== undefined;
  const missingReads = isMissing ? Math.min(record.state.missingReads + 1, 99) : 0;
  if (missingReads !== record.state.missingReads) await record.save({ missingReads });
}
