/**
 * What became of a push whose end nobody saw, and what it covered. Version numbers come back when a
 * key is removed and made anew, so a push can land on a value that nobody has read: that value is
 * still in the store, as the version before, and has to be reported.
 */
import type { KeyHistory } from './guards.ts';
import type { Intent, StoreVersion } from './sync-state.ts';

export type Verdict =
  /** Nothing is certain: the answers may come from a node that lags behind. Ask again later. */
  | { readonly is: 'unknown' }
  /** It did not become a version, or nobody can tell any more. */
  | { readonly is: 'void'; readonly covered?: StoreVersion }
  | { readonly is: 'landed'; readonly at: StoreVersion; readonly covered?: StoreVersion };

/** What version `cas` + 1 holds, as a fingerprint of all of it; undefined: it cannot be read. */
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
  // From before the read that the push was based on.
  if (createdTime < intent.predecessor.createdTime) return { is: 'unknown' };
  if (successor === undefined || successor.createdTime !== createdTime) return { is: 'unknown' };
  if (successor.whole === undefined) {
    const covered = coveredBy(intent, key);
    return { is: 'void', ...(covered && { covered }) };
  }
  return successor.whole === intent.target ? landed(intent, key, at) : { is: 'void' };
}

/** The version that was acknowledged is not the one that is there: one of the two is history. */
function otherLife(intent: Intent, at: StoreVersion): Verdict {
  const isGone = intent.landed !== undefined && intent.landed.createdTime < at.createdTime;
  return { is: isGone ? 'void' : 'unknown' };
}

function landed(intent: Intent, key: KeyHistory, at: StoreVersion): Verdict {
  const covered = coveredBy(intent, key);
  return { is: 'landed', at, ...(covered && { covered }) };
}

/** The version under the push, unless it is the one that was read before, and as it was then. */
function coveredBy({ cas, predecessor }: Intent, key: KeyHistory): StoreVersion | undefined {
  const createdTime = key.versions.get(cas);
  if (cas === 0 || createdTime === undefined) return undefined;
  const isRestored = predecessor.isDeleted && key.undeleted.has(cas);
  return createdTime === predecessor.createdTime && !isRestored
    ? undefined
    : { version: cas, createdTime };
}

const MOST_INTENTS = 16;

/** The same push tried again is one intent; the oldest of far too many is given up. */
export function withIntent(intents: readonly Intent[], intent: Intent): readonly Intent[] {
  const others = intents.filter(
    ({ cas, target, predecessor, landed }) =>
      landed !== undefined ||
      cas !== intent.cas ||
      target !== intent.target ||
      predecessor.createdTime !== intent.predecessor.createdTime,
  );
  return [...others, intent].slice(-MOST_INTENTS);
}

/** After a push became version `cas` + 1 no other one with the same `cas` can have. */
export function afterLanding(intents: readonly Intent[], intent: Intent): readonly Intent[] {
  return intents.filter(({ cas, landed }) => cas !== intent.cas || landed !== undefined);
}
