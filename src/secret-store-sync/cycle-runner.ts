/**
 * Runs cycles, and holds the data that one cycle leaves to the next: sync records, unchanged
 * secrets, and visited links. It does not schedule cycles.
 */
import type { KindTable } from '../kinds/index.ts';
import {
  Fingerprints,
  NEW_STATE,
  type Preference,
  type SecretValues,
  type SyncBase,
  sameFingerprints,
} from '../secrets-merge/index.ts';
import type { Store } from '../state/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { Finding } from './conditions.ts';
import type { StoreConnection } from './connection.ts';
import { findingOf, runCycle } from './cycle.ts';
import { type GitParts, secretValues } from './git-side.ts';
import type { LinkedSecret } from './linked-secrets.ts';
import { SyncRecordStore } from './memory.ts';
import { type Cycle, type Outage, withCause } from './outage.ts';
import { UnchangedSecrets } from './unchanged-secrets.ts';
import { VisitOrder } from './visit-order.ts';

export interface CycleRunnerOptions extends GitParts {
  readonly kinds: KindTable;
  readonly store: Store;
  /** Name of the secret store. */
  readonly name: string;
  /** 32 bytes that live as long as the state. */
  readonly secret: Uint8Array;
  readonly logger: Logger;
}

/** Input of one cycle. */
export interface CycleContext {
  readonly connection: StoreConnection;
  /** Number of all secrets linked to the store. */
  readonly tracked: () => number;
  /** Outage of the previous cycle. */
  readonly knownOutage: Outage | undefined;
  readonly isStopping: () => boolean;
  /** As in `CycleParts`. */
  readonly onStoreOlder: Preference;
  /** As in `CycleParts`. */
  readonly nextChange: (isInWork: (id: string) => boolean) => LinkedSecret | undefined;
  /** Called with each finding as soon as it is final, except for those of an outage. */
  readonly found: (secret: LinkedSecret, finding: Finding) => void;
}

/** As in `CycleParts`. */
export interface CycleRun extends CycleContext {
  readonly allowDeletions: boolean;
  readonly isFull: boolean;
  readonly isDue: (secret: LinkedSecret) => boolean;
}

export class CycleRunner {
  readonly #options: CycleRunnerOptions;
  readonly #records: SyncRecordStore;
  readonly #unchanged = new UnchangedSecrets();
  readonly #fingerprints: Fingerprints;
  readonly #owner: string;
  readonly #order: VisitOrder;

  constructor(options: CycleRunnerOptions) {
    this.#options = options;
    this.#records = new SyncRecordStore(options.store, options.name);
    this.#order = new VisitOrder(this.#records.cursor);
    this.#fingerprints = new Fingerprints(options.secret);
    // Derived from the secret: another daemon on the same store has another owner id.
    this.#owner = this.#fingerprints.whole(new Map([['owner', '']])).slice(0, 22);
  }

  async run(secrets: readonly LinkedSecret[], of: CycleRun): Promise<Cycle> {
    const { store, branch, registry, history, isReviewed, kinds, logger } = this.#options;
    const onError = (err: unknown): void => logger.error({ err }, 'A secret could not be synced');
    try {
      await of.connection.beginCycle();
    } catch (error) {
      const outage = asOutage(findingOf({ onError }, error));
      return withCause(new Map(secrets.map(({ id }) => [id, outage])), [outage, of.knownOutage]);
    }
    const findings = await runCycle(
      {
        connection: of.connection,
        records: this.#records,
        unchanged: this.#unchanged,
        order: this.#order,
        git: {
          store,
          branch,
          registry,
          history,
          isReviewed,
          onHistoryError: (err) => logger.warn({ err }, 'The history of a secret cannot be read'),
        },
        store,
        kinds: kinds.kinds,
        fingerprints: this.#fingerprints,
        owner: this.#owner,
        tracked: of.tracked(),
        allowDeletions: of.allowDeletions,
        isFull: of.isFull,
        isDue: of.isDue,
        isStopping: of.isStopping,
        onStoreOlder: of.onStoreOlder,
        isChanged: (secret) => this.#order.isChanged(secret) && this.#differsFromBase(secret),
        nextChange: of.nextChange,
        found: (secret, finding) => {
          if (finding.is === 'unavailable') return;
          this.#order.visited(secret, !isPush(finding));
          this.#unchanged.record(secret, finding);
          of.found(secret, finding);
        },
        onError,
      },
      secrets,
    );
    this.#order.save();
    return withCause(findings, [undefined, of.knownOutage]);
  }

  /** Stores the sync record of a secret that was created from the store. */
  async saveCreated(
    { id, uid, link }: Pick<LinkedSecret, 'id' | 'uid' | 'link'>,
    made: Pick<SyncBase, 'at' | 'commit' | 'mount'> & { readonly values: SecretValues },
  ): Promise<void> {
    const { values, ...rest } = made;
    const base = { ...rest, prints: this.#fingerprints.of(values) };
    await this.#records.of(id, { uid, link }).save({ ...NEW_STATE, base });
  }

  /** True if a secret changed since its last cycle, other than by the sync itself. */
  isChanged(secret: LinkedSecret): boolean {
    return this.#order.isRelinked(secret) || this.#differsFromBase(secret);
  }

  #differsFromBase({ id, uid, key, link }: LinkedSecret): boolean {
    const { base } = this.#records.stateOf(id, { uid, link });
    const stored = this.#options.store.get(key);
    if (base === undefined || stored === undefined) return true;
    return !sameFingerprints(base.prints, this.#fingerprints.of(secretValues(stored.object)));
  }

  /** The next cycle reads every secret: the store may be another one. */
  readAll(): void {
    this.#unchanged.clear();
  }

  /** Called when a secret is unlinked; its sync record stays for the store side. */
  unlink(id: string): void {
    this.#order.forget(id);
  }

  /** Removes the sync record of the secret. */
  async forget(id: string): Promise<void> {
    await this.#records.forget(id);
  }
}

/** A failure before the first secret concerns all of them. */
function asOutage(finding: Finding): Outage {
  if (finding.is === 'unavailable') return finding;
  const { reason, message } = finding.is === 'failed' ? finding : { reason: '', message: '' };
  return { is: 'unavailable', reason, message };
}

function isPush(finding: Finding): boolean {
  return finding.is === 'outcome' && finding.outcome.pushed > 0;
}
