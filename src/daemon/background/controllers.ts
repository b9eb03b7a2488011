/**
 * Starts the controllers: they end deletions, collect garbage, remove expired keys and sync secrets
 * with their stores.
 */
import type { Clock, KubeObject } from '../../apimachinery/index.ts';
import {
  GarbageCollector,
  type KeyExpiry,
  openKeyExpiry,
  startConditionEvents,
  startDeletion,
  startKeyOwners,
} from '../../controllers/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import type { Branch, ObjectRegistry } from '../../registry/index.ts';
import type { Store } from '../../state/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { AccessControl } from '../access/access-control.ts';
import type { DaemonOptions } from '../options.ts';
import {
  openSecretStoreSync,
  type SecretStore,
  type SecretStoreParts,
} from './secret-store-sync.ts';

export interface ControllersContext extends Omit<SecretStoreParts, 'registry'> {
  readonly options: DaemonOptions;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly kinds: KindTable;
  readonly store: Store;
  /** Store with the derived objects: roles and bindings of owners and access rules. */
  readonly readable: Store;
  readonly branch: Branch;
  readonly access: AccessControl;
  readonly registry: Pick<ObjectRegistry, 'update' | 'delete'>;
  /** Writes to the served branch, also when writes of clients go to a review branch. */
  readonly served: Pick<ObjectRegistry, 'create' | 'update' | 'delete'>;
  onError(error: unknown): void;
}

export interface Controllers {
  readonly secretStore: SecretStore;
  /** Work of the job `expired-keys`. */
  readonly keyExpiry: KeyExpiry;
  /** See `GarbageCollector`. */
  release(owner: KubeObject): Promise<void>;
  /** Resolves when no controller writes any more. */
  close(): Promise<void>;
}

export function startControllers(parts: ControllersContext): Controllers {
  const { options, store, readable } = parts;
  const stopDeletion = startDeletion(parts);
  const stopConditions = startConditionEvents(parts);
  const budget = options.pruneBudget;
  const garbage = new GarbageCollector({ ...parts, store: readable, written: store, budget });
  const stopKeyOwners = startKeyOwners(parts);
  const secretStore = openSecretStoreSync({ ...parts, registry: parts.served });
  return {
    secretStore,
    keyExpiry: keyExpiryOf(parts),
    release: (owner) => garbage.release(owner),
    close: async () => {
      await secretStore.close();
      stopDeletion();
      stopConditions();
      await stopKeyOwners();
      await garbage.stop();
    },
  };
}

function keyExpiryOf(parts: ControllersContext): KeyExpiry {
  const { options, kinds, access } = parts;
  const kind = kinds.kinds.find(({ isKey }) => isKey);
  if (kind === undefined) throw new Error('The table of kinds has no kind of keys');
  const overdue = (): string[] => access.overdueKeys(options.keepExpiredKeysMs);
  return openKeyExpiry({ ...parts, kind, overdue });
}
