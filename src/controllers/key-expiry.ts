/**
 * Removes expired keys after a delay, during which their owner can read why they do not work, and
 * extend them. Each removal is a commit like any other deletion. Level-triggered: a round reads the
 * present keys, so a missed round only causes a delay.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, type EventSink, StatusError } from '../apimachinery/index.ts';
import type { Kind } from '../kinds/index.ts';
import { ownOptions, type Registry } from '../registry/index.ts';
import type { Store } from '../state/index.ts';
import type { Logger } from '../telemetry/index.ts';

export interface KeyExpiryOptions {
  /** The kind of keys. */
  readonly kind: Kind;
  /** Names of expired keys whose delay has passed. */
  overdue(): readonly string[];
  readonly registry: Pick<Registry, 'delete'>;
  readonly store: Pick<Store, 'get'>;
  readonly logger: Logger;
  readonly events: EventSink;
  readonly clock: Clock;
}

export interface KeyExpiry {
  /**
   * Removes all overdue keys, in rounds; resolves with their names. Rejects if the signal aborts
   * it.
   */
  sweep(signal: AbortSignal): Promise<string[]>;
}

/** Keys per round, so that other writes are served between rounds. */
const MAX_PER_ROUND = 50;
const NEXT_ROUND_MS = 1000;

const COMPONENT = 'gitplane-key-expiry';

export function openKeyExpiry(options: KeyExpiryOptions): KeyExpiry {
  /** Keys whose deletion was refused: name and version. */
  const refused = new Map<string, string>();

  const versionOf = (name: string): string | undefined => {
    const { group, kind } = options.kind;
    return options.store.get({ group, kind, namespace: '', name })?.object.metadata.resourceVersion;
  };
  const round = async (names: readonly string[]): Promise<string[]> => {
    const removed = await Promise.all(names.map((name) => remove(options, name, versionOf(name))));
    for (const { name, verdict, version } of removed) {
      if (verdict === 'refused' && version !== undefined) refused.set(name, version);
      else refused.delete(name);
    }
    const gone = removed.filter(({ verdict }) => verdict === 'removed').map(({ name }) => name);
    if (gone.length > 0) options.logger.info({ keys: gone }, 'Removed access keys that ended');
    return gone;
  };
  const sweep = async (signal: AbortSignal): Promise<string[]> => {
    const all: string[] = [];
    for (;;) {
      const due = options.overdue().filter((name) => refused.get(name) !== versionOf(name));
      const gone = await round(due.slice(0, MAX_PER_ROUND));
      for (const name of gone) all.push(name);
      if (due.length <= MAX_PER_ROUND || gone.length === 0) return all;
      await sleep(NEXT_ROUND_MS, undefined, { signal });
    }
  };
  return { sweep };
}

interface Removal {
  readonly name: string;
  readonly version: string | undefined;
  /** `later`: it changed meanwhile, or the branch is not writable. */
  readonly verdict: 'removed' | 'refused' | 'later';
}

/** Only in the version that was overdue: a key may be extended at the last moment. */
async function remove(
  { kind, registry, logger, events, clock }: KeyExpiryOptions,
  name: string,
  version: string | undefined,
): Promise<Removal> {
  const reason = 'It ended, and the time that keys are kept after their end is over.';
  const options = ownOptions({ reason });
  try {
    const precondition = { resourceVersion: version };
    const target = { kind, namespace: '', name, delete: precondition, options };
    const { object } = await registry.delete(target);
    const key = { group: kind.group, kind: kind.kind, namespace: '', name };
    const { uid = '' } = object.metadata;
    const what = {
      reason: 'Expired',
      message: `Removed: ${reason}`,
      component: COMPONENT,
    } as const;
    events.record({ key, uid, type: 'Normal', time: clock.now(), ...what });
    return { name, version, verdict: 'removed' };
  } catch (error) {
    const code = error instanceof StatusError ? error.code : 500;
    if (code === 403) return { name, version, verdict: 'refused' };
    if (code !== 404 && code !== 409) logger.warn({ err: error, key: name }, 'Cannot remove a key');
    return { name, version, verdict: 'later' };
  }
}
