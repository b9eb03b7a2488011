/**
 * Conditions of a synced secret: `Synced`, and `Stale` while the store does not answer. Messages
 * name keys, versions and commits, never a value.
 */
import { type Condition, type JsonObject, listAt, rfc3339 } from '../apimachinery/index.ts';
import type { SyncOutcome, SyncState } from '../secrets-merge/index.ts';

export const SYNCED = 'Synced';
export const STALE = 'Stale';

/** Sync state of a secret, for the counts in reports and metrics. */
export type Standing = 'synced' | 'differs' | 'held' | 'failed' | 'waiting' | 'stale';

/** Result of a cycle for one secret. */
export type Finding =
  | { readonly is: 'outcome'; readonly outcome: SyncOutcome; readonly held: SyncState['held'] }
  /** Only this secret is affected. */
  | { readonly is: 'failed'; readonly reason: string; readonly message: string }
  /** The whole store is affected. */
  | { readonly is: 'unavailable'; readonly reason: string; readonly message: string }
  | { readonly is: 'disabled' };

export type ReportedCondition = Pick<
  Condition,
  'type' | 'status' | 'severity' | 'reason' | 'message'
>;

/**
 * Undefined: nothing is known yet, and the previous condition stays. `isInForce`: the store has
 * answered with the current configuration; otherwise an earlier success does not count.
 */
export function syncedCondition(
  finding: Finding,
  { place, isInForce }: { readonly place: string; readonly isInForce: boolean },
): ReportedCondition | undefined {
  switch (finding.is) {
    case 'outcome':
      return ofOutcome(finding.outcome, finding.held, place);
    case 'failed':
      return condition('False', 'Error', finding.reason, finding.message);
    case 'unavailable':
      return isInForce ? undefined : condition('False', 'Error', finding.reason, finding.message);
    default:
      return condition(
        'Unknown',
        'Info',
        'Disabled',
        'The secret store is not enabled in the configuration',
      );
  }
}

export function standingOf(finding: Finding): Standing {
  if (finding.is === 'disabled') return 'waiting';
  if (finding.is !== 'outcome') return finding.is === 'failed' ? 'failed' : 'stale';
  const { result } = finding.outcome;
  if (result === 'Synced') return 'synced';
  if (result === 'Differs') return 'differs';
  return result === 'Held' || result === 'WantsDeletion' ? 'held' : 'waiting';
}

function ofOutcome(
  outcome: SyncOutcome,
  held: SyncState['held'],
  place: string,
): ReportedCondition | undefined {
  const { result, reason = '', keys, version, known } = outcome;
  const what = keys.length === 0 ? '' : `: ${keys.join(', ')}`;
  if (result === 'Synced') {
    const at = version ? `${place}, version ${version}` : place;
    return condition('True', '', 'Synced', `Git and the store agree (${at})`);
  }
  if (result === 'Differs') {
    return condition('False', 'Warning', reason, `${DIFFERENCES[reason] ?? 'They differ'}${what}`);
  }
  if (result === 'WantsDeletion') {
    const message = `${place} would be deleted ${reason === 'DeleteInGit' ? 'in git' : 'in the store'} together with many others; approve it: gitplane secrets sync --now --allow-deletions`;
    return condition('False', 'Error', 'MassDeletionBlocked', message);
  }
  if (result !== 'Held') return undefined;
  const text = MANUAL_REASONS[reason] ?? 'Nothing is written on either side';
  const why = known === undefined ? text : `${text} (version ${version}, after version ${known})`;
  const remedy = REMEDIES[reason] ?? (held === undefined ? '' : resolutionOf(held));
  return condition('False', 'Error', reason, `${why}${what}.${remedy === '' ? '' : ` ${remedy}`}`);
}

function resolutionOf({ commit, version }: NonNullable<SyncState['held']>): string {
  return `Decide with the annotation gitplane.dev/secret-store-resolve: "git@${commit}" keeps the values in git, "store@${version}" those in the store`;
}

const DIFFERENCES: Readonly<Record<string, string>> = {
  GitChanged: 'Changed in git, and only pulled',
  StoreChanged: 'Changed in the store, and only pushed',
  NotInStore: 'Not in the store, and only pulled',
  DeletedInStore: 'Deleted in the store, and kept in git',
  EmptiedInStore: 'Emptied in the store, and kept in git',
  EmptiedInGit: 'Emptied in git, and kept in the store',
};

const MANUAL_REASONS: Readonly<Record<string, string>> = {
  Conflict: 'Changed on both sides since they agreed',
  HistoryUnknown:
    'Both sides differ from their last agreement, and the git history, which shows the newer side, cannot be read',
  AdoptionConflict: 'Git and the store have different values and never agreed',
  CoveredValue:
    'A push covered a version of the store that was never read; it is still in the history of the key',
  ForeignOwner: 'Another tool owns the key in the store (managed-by)',
  UnsupportedValue: 'The store has values that are not text, and a push would change them',
  NoHistory: 'The store keeps no history, and the overwritten values exist nowhere else',
  MountReplaced: 'The mount was created again, which does not count as a deletion',
  StoreOlder:
    'The store was restored from an older copy: it shows an older version than the one that was synced',
  StoreLags:
    'A standby of the store shows an older version than the one that was synced: it lags behind the active node, or the store was restored from an older copy',
  TooLarge: 'Larger than the store accepts',
};

/** Remedies where a choice between two values does not help. */
const REMEDIES: Readonly<Record<string, string>> = {
  ForeignOwner: 'Remove the field from custom_metadata, or only pull',
  UnsupportedValue: 'Write them as text in the store, or give the token the capability "patch"',
  NoHistory: 'Set max_versions above 1, or take what the store has',
  TooLarge: 'Split the secret',
};

function condition(
  status: Condition['status'],
  severity: NonNullable<Condition['severity']>,
  reason: string,
  message: string,
): ReportedCondition {
  return { type: SYNCED, status, severity, reason, message };
}

export function staleCondition(
  { reason, message }: { reason: string; message: string },
  lastSynced: number | undefined,
): ReportedCondition {
  const since = lastSynced === undefined ? 'never synced' : `last synced ${rfc3339(lastSynced)}`;
  const text = `The last good values stay in use (${since}): ${message}`;
  return { type: STALE, status: 'True', severity: 'Warning', reason, message: text };
}

/** The status with the conditions set and removed; undefined: unchanged. */
export function withConditions(
  status: JsonObject | undefined,
  change: { readonly set: readonly ReportedCondition[]; readonly remove: readonly string[] },
  now: number,
): JsonObject | undefined {
  const before = listAt<Condition>(status, ['conditions']);
  const gone = new Set([...change.remove, ...change.set.map(({ type }) => type)]);
  const made = change.set.map((one): Condition => {
    const old = before.find(({ type }) => type === one.type);
    const isSame = old?.status === one.status && old.lastTransitionTime !== undefined;
    return { ...one, lastTransitionTime: (isSame && old.lastTransitionTime) || rfc3339(now) };
  });
  const conditions = [...before.filter(({ type }) => !gone.has(type)), ...made];
  if (JSON.stringify(conditions.map(fields).sort()) === JSON.stringify(before.map(fields).sort())) {
    return undefined;
  }
  return { ...status, conditions: conditions };
}

function fields(one: Condition): string {
  return JSON.stringify([one.type, one.status, one.severity ?? '', one.reason, one.message]);
}
