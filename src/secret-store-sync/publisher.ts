/**
 * Publishes findings: in the status of secrets, as events, and in metrics. The status is written
 * only when it changes, never for the time alone, so that a quiet store causes no writes.
 */
import type { Clock, EventRing, JsonObject } from '../apimachinery/index.ts';
import { placeOf } from '../kinds/index.ts';
import type { Branch } from '../registry/index.ts';
import type { Store } from '../state/index.ts';
import type { Logger, SecretSyncMetrics } from '../telemetry/index.ts';
import {
  type Finding,
  type ReportedCondition,
  STALE,
  type Standing,
  SYNCED,
  staleCondition,
  standingOf,
  syncedCondition,
  withConditions,
} from './conditions.ts';
import type { LinkedSecret } from './linked-secrets.ts';

/** Component name in events. */
const COMPONENT = 'gitplane-secret-sync';

export interface PublisherOptions {
  /** Name of the secret store in metrics. */
  readonly name: string;
  readonly store: Pick<Store, 'get'>;
  readonly branch: Pick<Branch, 'submit'>;
  readonly events: EventRing;
  readonly metrics: SecretSyncMetrics;
  readonly logger: Logger;
  readonly clock: Clock;
}

interface LastPublished {
  readonly standing: Standing;
  /** Reason of the last finding that is not a success. */
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly lastSynced: number | undefined;
  /** The last written conditions, and the version of the object that has them. */
  readonly written?: { readonly words: string; readonly version: number | undefined };
}

/** A secret that needs attention. */
export interface Attention {
  /** Name of the secret store. */
  readonly store: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly state: Standing;
  readonly reason: string;
  readonly message: string;
}

export class SyncPublisher {
  readonly #options: PublisherOptions;
  readonly #known = new Map<string, LastPublished>();

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** Publishes findings of existing secrets. Never rejects. `isInForce`: see `syncedCondition`. */
  async publish(
    secrets: Iterable<LinkedSecret>,
    findings: ReadonlyMap<string, Finding>,
    isInForce = true,
  ): Promise<void> {
    const writes: Promise<void>[] = [];
    for (const secret of secrets) {
      const finding = findings.get(secret.id);
      if (finding !== undefined) writes.push(this.#publishOne(secret, finding, isInForce));
    }
    await Promise.all(writes);
  }

  forget(id: string): void {
    this.#known.delete(id);
  }

  clear(): void {
    this.#known.clear();
  }

  counts(): Record<Standing, number> {
    const counts = { synced: 0, differs: 0, held: 0, failed: 0, waiting: 0, stale: 0 };
    for (const { standing } of this.#known.values()) counts[standing] += 1;
    return counts;
  }

  attention(secrets: Iterable<LinkedSecret>): Attention[] {
    const found: Attention[] = [];
    for (const { id, key, link } of secrets) {
      const { standing, reason = '', message = '' } = this.#known.get(id) ?? {};
      if (standing === undefined || standing === 'synced' || standing === 'waiting') continue;
      const { kind, namespace, name } = key;
      found.push({ store: link.store, kind, namespace, name, state: standing, reason, message });
    }
    return found;
  }

  async #publishOne(secret: LinkedSecret, finding: Finding, isInForce: boolean): Promise<void> {
    const { name, clock, metrics, logger } = this.#options;
    const { id, link } = secret;
    const before = this.#known.get(id);
    const standing = standingOf(finding);
    const synced = syncedCondition(finding, { place: placeOf(link), isInForce });
    const isFine = standing === 'synced';
    const lastSynced = isFine ? clock.now() : before?.lastSynced;
    const told = finding.is === 'unavailable' ? finding : synced;
    this.#known.set(id, {
      standing: standing === 'waiting' && before !== undefined ? before.standing : standing,
      reason: told?.reason ?? before?.reason,
      message: told?.message ?? before?.message,
      lastSynced,
    });
    this.#count(finding);
    this.#report(secret, { finding, synced, before });
    if (standing === 'failed' || standing === 'stale') {
      metrics.failures.inc({ store: name, reason: told?.reason ?? 'Unknown' });
    }
    const stale = finding.is === 'unavailable' ? staleCondition(finding, lastSynced) : undefined;
    await this.#writeIfChanged(secret, [synced, stale], before?.written).catch((err: unknown) =>
      logger.debug({ err, secret: id }, 'The status cannot be written yet'),
    );
  }

  /** Skips an object that already has these conditions. */
  async #writeIfChanged(
    secret: LinkedSecret,
    told: readonly (ReportedCondition | undefined)[],
    said: LastPublished['written'],
  ): Promise<void> {
    const { id, key } = secret;
    const version = (): number | undefined => this.#options.store.get(key)?.resourceVersion;
    const words = JSON.stringify(told);
    if (said === undefined || said.words !== words || said.version !== version()) {
      await this.#write(secret, told);
    }
    const known = this.#known.get(id);
    if (known !== undefined)
      this.#known.set(id, { ...known, written: { words, version: version() } });
  }

  #count(finding: Finding): void {
    if (finding.is !== 'outcome') return;
    const { pulled, pushed } = finding.outcome;
    const { name: store, metrics } = this.#options;
    if (pulled > 0) metrics.keys.inc({ store, direction: 'pull' }, pulled);
    if (pushed > 0) metrics.keys.inc({ store, direction: 'push' }, pushed);
  }

  #report(
    { key, uid, link }: LinkedSecret,
    of: {
      finding: Finding;
      synced: ReportedCondition | undefined;
      before: LastPublished | undefined;
    },
  ): void {
    const { events, logger, clock } = this.#options;
    const { finding, synced, before } = of;
    const place = placeOf(link);
    const object = { key, uid, time: clock.now(), component: COMPONENT };
    if (finding.is === 'outcome') {
      const { pulled, pushed, version, commit } = finding.outcome;
      const facts = {
        kind: key.kind,
        namespace: key.namespace,
        name: key.name,
        place,
        version,
        commit,
      };
      if (pulled > 0) {
        logger.info({ ...facts, keys: pulled }, 'Pulled from the secret store');
        const message = `Pulled ${pulled} keys from ${place}`;
        events.record({ ...object, type: 'Normal', reason: 'Pulled', message });
      }
      if (pushed > 0) {
        logger.info({ ...facts, keys: pushed }, 'Pushed to the secret store');
        const message = `Pushed ${pushed} keys to ${place}`;
        events.record({ ...object, type: 'Normal', reason: 'Pushed', message });
      }
    }
    if (synced === undefined || synced.severity !== 'Error') return;
    const { reason = '', message = '' } = synced;
    if (before?.reason === reason && before.message === message) return;
    logger.warn(
      { namespace: key.namespace, name: key.name, reason, why: message },
      'A secret is not synced',
    );
    events.record({ ...object, type: 'Warning', reason, message });
  }

  async #write(
    secret: LinkedSecret,
    told: readonly (ReportedCondition | undefined)[],
  ): Promise<void> {
    const { store, branch, clock } = this.#options;
    const { key, uid } = secret;
    const set = told.filter((one) => one !== undefined);
    const isStale = set.some(({ type }) => type === STALE);
    const change = { set, remove: isStale ? [] : [STALE] };
    const next = ():
      | { status: JsonObject; stored: NonNullable<ReturnType<Store['get']>> }
      | undefined => {
      const stored = store.get(key);
      if (stored === undefined || stored.object.metadata.uid !== uid) return undefined;
      const status = withConditions(stored.object.status, change, clock.now());
      return status && { status, stored };
    };
    if (next() === undefined) return;
    await branch.submit({
      key,
      prepare: () => {
        const found = next();
        if (found === undefined) return { do: 'nothing' };
        const { status, stored } = found;
        const object = { ...stored.object, status };
        return { do: 'state', changes: [{ type: 'put', key, object, hidden: stored.hidden }] };
      },
    });
  }

  /** Removes the conditions from a secret that is no longer linked. */
  async removeConditions(key: LinkedSecret['key']): Promise<void> {
    const { store, branch, clock } = this.#options;
    const without = (): JsonObject | undefined =>
      withConditions(
        store.get(key)?.object.status,
        { set: [], remove: [SYNCED, STALE] },
        clock.now(),
      );
    if (without() === undefined) return;
    await branch.submit({
      key,
      prepare: () => {
        const stored = store.get(key);
        const status = without();
        if (stored === undefined || status === undefined) return { do: 'nothing' };
        const { status: _before, ...rest } = stored.object;
        const { conditions: left, ...others } = status;
        const isBare = Array.isArray(left) && left.length === 0;
        const kept = isBare ? others : status;
        const object = Object.keys(kept).length === 0 ? rest : { ...rest, status: kept };
        return { do: 'state', changes: [{ type: 'put', key, object, hidden: stored.hidden }] };
      },
    });
  }
}
