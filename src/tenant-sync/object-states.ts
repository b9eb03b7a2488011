/** Sync state of each object of a tenant, and their summary. */
import { type JsonObject, rfc3339 } from '../apimachinery/index.ts';
import type { SyncedKindName } from '../endpoint-patches/index.ts';
import type { SourceName } from './managed-annotations.ts';

/**
 * Synced: the target is current. Skipped: the object is not meant to be synced. Stale: the target
 * is not current yet, and will be without intervention. Failed: it is not, and a change is needed.
 */
export type SyncState = 'Synced' | 'Skipped' | 'Stale' | 'Failed';

export interface ObjectState {
  readonly kind: SyncedKindName;
  readonly source: SourceName;
  readonly target: SourceName;
  readonly state: SyncState;
  /** Reason why it is not Synced. */
  readonly reason?: string;
  readonly message?: string;
  /** Time of the last state change. */
  readonly since: string;
}

export interface SyncSummary {
  readonly state: 'Synced' | 'Stale' | 'Failed' | 'Disabled' | 'Suspended';
  readonly reason?: string;
  readonly message?: string;
  readonly objects: number;
  readonly synced: number;
  readonly skipped: number;
  readonly stale: number;
  readonly failed: number;
  readonly lastSyncTime?: string;
  /** Summary of the Services, where both kinds are reported together. */
  readonly services?: SyncSummary;
}

export class ObjectStates {
  readonly #states = new Map<string, ObjectState>();
  readonly #counts: Record<SyncState, number> = { Synced: 0, Skipped: 0, Stale: 0, Failed: 0 };

  get(key: string): ObjectState | undefined {
    return this.#states.get(key);
  }

  /** Returns the previous state if it changed. */
  set(
    key: string,
    next: Omit<ObjectState, 'since'>,
    now: number,
  ): { changed: boolean; before: ObjectState | undefined } {
    const before = this.#states.get(key);
    const { state, reason, message, target } = next;
    const same = before?.state === state && before.reason === reason && before.message === message;
    const moved =
      before?.target.name !== target.name || before.target.namespace !== target.namespace;
    if (same && !moved) return { changed: false, before };
    if (before !== undefined) this.#counts[before.state] -= 1;
    this.#counts[state] += 1;
    this.#states.set(key, { ...next, since: rfc3339(now) });
    return { changed: true, before };
  }

  remove(key: string): void {
    const before = this.#states.get(key);
    if (before === undefined) return;
    this.#counts[before.state] -= 1;
    this.#states.delete(key);
  }

  /** In order of namespace and name. */
  list(): ObjectState[] {
    return [...this.#states.keys()].sort().flatMap((key) => this.#states.get(key) ?? []);
  }

  count(state: SyncState): number {
    return this.#counts[state];
  }

  get size(): number {
    return this.#states.size;
  }

  *keysIn(state: SyncState): Iterable<string> {
    for (const [key, found] of this.#states) if (found.state === state) yield key;
  }

  /** `unknown`: number of objects without a state; `again`: true while objects are queued. */
  summary(
    lastSyncTime: string | undefined,
    { unknown, again }: { unknown: number; again: boolean },
  ): SyncSummary {
    const { Synced: synced, Skipped: skipped, Failed: failed } = this.#counts;
    const stale = this.#counts.Stale + unknown;
    const state = failed > 0 ? 'Failed' : stale > 0 || again ? 'Stale' : 'Synced';
    return {
      state,
      ...this.#worst(state),
      objects: this.#states.size + unknown,
      synced,
      skipped,
      stale,
      failed,
      ...(lastSyncTime === undefined ? {} : { lastSyncTime }),
    };
  }

  /** The first object that explains the summary. */
  #worst(state: SyncSummary['state']): Pick<SyncSummary, 'reason' | 'message'> {
    if (state === 'Synced') return {};
    for (const found of this.#states.values()) {
      if (found.state !== state) continue;
      const { source, reason = state, message = '' } = found;
      return { reason, message: `${source.namespace}/${source.name}: ${message}` };
    }
    return { reason: 'Pending', message: 'objects wait for their turn' };
  }
}

const SEVERITY: readonly SyncSummary['state'][] = [
  'Disabled',
  'Suspended',
  'Synced',
  'Stale',
  'Failed',
];

/** The counts of the first summary, with the worse state of both. */
export function worstOf(first: SyncSummary, second: SyncSummary): SyncSummary {
  if (SEVERITY.indexOf(second.state) <= SEVERITY.indexOf(first.state)) return first;
  const { state, reason, message } = second;
  return {
    ...first,
    state,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message: `Services: ${message}` }),
  };
}

export function summaryAsJson({ services, ...summary }: SyncSummary): JsonObject {
  return { ...summary, ...(services && { services: summaryAsJson(services) }) };
}
