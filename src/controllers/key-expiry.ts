/**
 * Removes keys that ended, some time later: until then their owner reads why they do not work, and
 * can give them more time. Each removal is a commit like any other deletion. Level-triggered: a
 * round looks at what is there, so a missed round costs only time.
 */
import type { Clock } from '../apimachinery/clock.ts';
import type { EventSink } from '../apimachinery/object-events.ts';
import { StatusError } from '../apimachinery/status-error.ts';
import type { Kind } from '../kinds/kind.ts';
import { ownOptions } from '../registry/own-writes.ts';
import type { Registry } from '../registry/registry.ts';
import type { Store } from '../state/store.ts';
import type { Logger } from '../telemetry/logger.ts';

export interface KeyExpiryOptions {
  /** The kind of keys. */
  readonly kind: Kind;
  /** Names of the keys whose time is up. */
  overdue(): readonly string[];
  readonly registry: Pick<Registry, 'delete'>;
  readonly store: Pick<Store, 'get'>;
  readonly logger: Logger;
  readonly events: EventSink;
  readonly clock: Clock;
}

export interface KeyExpiry {
  /** One round; resolves with the names of what was removed. Never rejects. */
  sweep(): Promise<string[]>;
  stop(): void;
}

const EVERY_MS = 10 * 60_000;
/** Keys of one round, so that other writes get their turn between rounds. */
const MOST_AT_ONCE = 50;
const NEXT_ROUND_MS = 1000;

const COMPONENT = 'gitplane-key-expiry';

export function startKeyExpiry(options: KeyExpiryOptions): KeyExpiry {
  /** Keys that may not be deleted, by name, in the version that said so. */
  const refused = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const versionOf = (name: string): string | undefined => {
    const { group, kind } = options.kind;
    return options.store.get({ group, kind, namespace: '', name })?.object.metadata.resourceVersion;
  };
  const sweep = async (): Promise<string[]> => {
    const due = options.overdue().filter((name) => refused.get(name) !== versionOf(name));
    const round = due.slice(0, MOST_AT_ONCE);
    const removed = await Promise.all(round.map((name) => remove(options, name, versionOf(name))));
    for (const { name, verdict, version } of removed) {
      if (verdict === 'refused' && version !== undefined) refused.set(name, version);
      else refused.delete(name);
    }
    const gone = removed.filter(({ verdict }) => verdict === 'removed').map(({ name }) => name);
    if (gone.length > 0) options.logger.info({ keys: gone }, 'Removed access keys that ended');
    schedule(due.length > round.length && gone.length > 0 ? NEXT_ROUND_MS : EVERY_MS);
    return gone;
  };
  const schedule = (delay: number): void => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(() => void sweep(), delay).unref();
  };
  schedule(EVERY_MS);
  return {
    sweep,
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

interface Removal {
  readonly name: string;
  readonly version: string | undefined;
  /** `later`: it changed meanwhile, or the branch cannot be written now. */
  readonly verdict: 'removed' | 'refused' | 'later';
}

/** Only in the version that was found overdue: a key may be given more time at the last moment. */
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
