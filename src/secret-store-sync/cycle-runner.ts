/**
 * Cycles one after another, and what one of them leaves to the next: what is remembered of each
 * secret, which of them rest, and how each was tied. When there is one is not told here.
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
import { SyncNotes } from './memory.ts';
import { asOutage, type Cycle, type Outage, withCause } from './outage.ts';
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

/** How things are when a cycle begins. */
export interface CycleContext {
  readonly connection: StoreConnection;
  /** How many secrets are tied to the store in all. */
  readonly tracked: () => number;
  /** The outage that the cycle before met. */
  readonly knownOutage: Outage | undefined;
  readonly isStopping: () => boolean;
  /** As `CycleParts` has it. */
  readonly onStoreOlder: Preference;
  /** As `CycleParts` has it. */
  readonly nextChange: (isInWork: (id: string) => boolean) => LinkedSecret | undefined;
  /** Called with each finding as soon as it is certain, but for those of an outage. */
  readonly found: (secret: LinkedSecret, finding: Finding) => void;
}

/** As `CycleParts` has them. */
export interface CycleRun extends CycleContext {
  readonly allowDeletions: boolean;
  readonly isFull: boolean;
  readonly isDue: (secret: LinkedSecret) => boolean;
}

export class CycleRunner {
  readonly #options: CycleRunnerOptions;
  readonly #notes: SyncNotes;
  readonly #quiet = new UnchangedSecrets();
  readonly #fingerprints: Fingerprints;
  readonly #owner: string;
  readonly #order: VisitOrder;

  constructor(options: CycleRunnerOptions) {
    this.#options = options;
    this.#notes = new SyncNotes(options.store, options.name);
    this.#order = new VisitOrder(this.#notes.cursor);
    this.#fingerprints = new Fingerprints(options.secret);
    // Known by whoever has the secret: another daemon on the same store is somebody else.
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
        notes: this.#notes,
        quiet: this.#quiet,
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
          this.#quiet.note(secret, finding);
          of.found(secret, finding);
        },
        onError,
      },
      secrets,
    );
    this.#order.save();
    return withCause(findings, [undefined, of.knownOutage]);
  }

  /** Remembers that a secret was made of what the store has. */
  async made(
    { id, uid, link }: Pick<LinkedSecret, 'id' | 'uid' | 'link'>,
    made: Pick<SyncBase, 'at' | 'commit' | 'mount'> & { readonly values: SecretValues },
  ): Promise<void> {
    const { values, ...rest } = made;
    const base = { ...rest, prints: this.#fingerprints.of(values) };
    await this.#notes.of(id, { uid, link }).save({ ...NEW_STATE, base });
  }

  /** Whether a secret changed since its cycle. What the sync itself brought into git is no news. */
  isNews(secret: LinkedSecret): boolean {
    return this.#order.isTiedAnew(secret) || this.#differsFromBase(secret);
  }

  #differsFromBase({ id, uid, key, link }: LinkedSecret): boolean {
    const { base } = this.#notes.stateOf(id, { uid, link });
    const stored = this.#options.store.get(key);
    if (base === undefined || stored === undefined) return true;
    return !sameFingerprints(base.prints, this.#fingerprints.of(secretValues(stored.object)));
  }

  /** The next cycle reads every secret: the store may be another one. */
  readAll(): void {
    this.#quiet.clear();
  }

  /** The secret is tied no more; what is remembered of it stays for the store's sake. */
  untie(id: string): void {
    this.#order.forget(id);
  }

  /** What is remembered of the secret goes too. */
  async forget(id: string): Promise<void> {
    await this.#notes.forget(id);
  }
}

function isPush(finding: Finding): boolean {
  return finding.is === 'outcome' && finding.outcome.pushed > 0;
}
