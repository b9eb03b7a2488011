/**
 * Results of pushes whose answer was lost, and the versions they covered. Version numbers restart
 * when a key is removed and created again, so a push can overwrite a value that was never read.
 * That value is still in the store as the previous version, and must be reported.
 */
import type { KeyHistory } from './guards.ts';
import type { Intent, StoreVersion } from './sync-state.ts';

export type Verdict =
  /** The answers may come from a node that lags behind: retry later. */
  | { readonly is: 'unknown' }
  /** It did not become a version, or the result is no longer known. */
  | { readonly is: 'void'; readonly covered?: StoreVersion }
  | { readonly is: 'landed'; readonly at: StoreVersion; readonly covered?: StoreVersion };

/** Fingerprint of version `cas` + 1; undefined: unreadable. */
export interface Successor {
  readonly createdTime: string;
  readonly whole: string | undefined;
}

export function judgeIntent(
  intent: Intent,
  key: KeyHistory | undefined,
  successor: Successor | undefined,
): Verdict {
  const version = intent.cas + 1;
  const createdTime = key?.versions.get(version);
  if (key === undefined) return { is: 'unknown' };
  if (createdTime === undefined) {
    return { is: key.currentVersion > version ? 'void' : 'unknown' };
  }
  const at = { version, createdTime };
  if (intent.landed !== undefined) {
    return intent.landed.createdTime === createdTime
      ? landed(intent, key, at)
      : otherLife(intent, at);
  }
  // The version is older than the read before the push.
  if (createdTime < intent.predecessor.createdTime) return { is: 'unknown' };
  if (successor === undefined || successor.createdTime !== createdTime) return { is: 'unknown' };
  if (successor.whole === undefined) {
    const covered = coveredBy(intent, key);
    return { is: 'void', ...(covered && { covered }) };
  }
  return successor.whole === intent.target ? landed(intent, key, at) : { is: 'void' };
}

/**
 * The acknowledged version is not the current one: one of them is from an earlier life of the key.
 */
function otherLife(intent: Intent, at: StoreVersion): Verdict {
  const isGone = intent.landed !== undefined && intent.landed.createdTime < at.createdTime;
  return { is: isGone ? 'void' : 'unknown' };
}

function landed(intent: Intent, key: KeyHistory, at: StoreVersion): Verdict {
  const covered = coveredBy(intent, key);
  return { is: 'landed', at, ...(covered && { covered }) };
}

/** The version that the push overwrote, unless it is the one that was read, in the same state. */
function coveredBy({ cas, predecessor }: Intent, key: KeyHistory): StoreVersion | undefined {
  const createdTime = key.versions.get(cas);
  if (cas === 0 || createdTime === undefined) return undefined;
  const isRestored = predecessor.isDeleted && key.undeleted.has(cas);
  return createdTime === predecessor.createdTime && !isRestored
    ? undefined
    : { version: cas, createdTime };
}

const MAX_INTENTS = 16;

/** A repeated push is one intent; the oldest intents above the limit are dropped. */
export function withIntent(intents: readonly Intent[], intent: Intent): readonly Intent[] {
  const others = intents.filter(
    ({ cas, target, predecessor, landed }) =>
      landed !== undefined ||
      cas !== intent.cas ||
      target !== intent.target ||
      predecessor.createdTime !== intent.predecessor.createdTime,
  );
  return [...others, intent].slice(-MAX_INTENTS);
}

/** After a push became version `cas` + 1, no other push with the same `cas` can succeed. */
export function afterLanding(intents: readonly Intent[], intent: Intent): readonly Intent[] {
  return intents.filter(({ cas, landed }) => cas !== intent.cas || landed !== undefined);
}
