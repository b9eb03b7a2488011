/**
 * What looks after objects when nobody asks: ends deletions, collects garbage, removes old keys, syncs
 * secrets with their store.
 */
import type { Clock, KubeObject } from '../apimachinery/index.ts';
import {
  GarbageCollector,
  type KeyExpiry,
  openKeyExpiry,
  startConditionEvents,
  startDeletion,
  startKeyOwners,
} from '../controllers/index.ts';
import type { KindTable } from '../kinds/index.ts';
import type { Branch, ObjectRegistry } from '../registry/index.ts';
import type { Store } from '../state/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { AccessControl } from './access/access-control.ts';
import type { DaemonOptions } from './options.ts';
import { openSecretStore, type SecretStore, type SecretStoreParts } from './secret-store.ts';

export interface ControllersParts extends Omit<SecretStoreParts, 'registry'> {
  readonly options: DaemonOptions;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly kinds: KindTable;
  readonly store: Store;
  /** With what follows from owners and access rules. */
  readonly readable: Store;
  readonly branch: Branch;
  readonly access: AccessControl;
  readonly registry: Pick<ObjectRegistry, 'update' | 'delete'>;
  /** Writes to the branch that is served, wherever those of others go. */
  readonly served: Pick<ObjectRegistry, 'create' | 'update' | 'delete'>;
  onError(error: unknown): void;
}

export interface Controllers {
  readonly secretStore: SecretStore;
  /** A job of the scheduler. */
  readonly keyExpiry: KeyExpiry;
  /** See `GarbageCollector`. */
  release(owner: KubeObject): Promise<void>;
  /** Resolves when none of them writes any more. */
  stop(): Promise<void>;
}

export function startControllers(parts: ControllersParts): Controllers {
  const { options, store, readable } = parts;
  const stopDeletion = startDeletion(parts);
  const stopConditions = startConditionEvents(parts);
  const budget = options.pruneBudget;
  const garbage = new GarbageCollector({ ...parts, store: readable, written: store, budget });
  const stopKeyOwners = startKeyOwners(parts);
  const secretStore = openSecretStore({ ...parts, registry: parts.served });
  return {
    secretStore,
    keyExpiry: keyExpiryOf(parts),
    release: (owner) => garbage.release(owner),
    stop: async () => {
      await secretStore.close();
      stopDeletion();
      stopConditions();
      await stopKeyOwners();
      await garbage.stop();
    },
  };
}

function keyExpiryOf(parts: ControllersParts): KeyExpiry {
  const { options, kinds, access } = parts;
  const kind = kinds.kinds.find(({ isKey }) => isKey);
  if (kind === undefined) throw new Error('The table of kinds has no kind of keys');
  const overdue = (): string[] => access.overdueKeys(options.keepExpiredKeysMs);
  return openKeyExpiry({ ...parts, kind, overdue });
}
