/** Opens the sync of secrets with the configured stores. */
import { hkdfSync } from 'node:crypto';
import type { EventRing } from '../../apimachinery/index.ts';
import type { DataDirectory } from '../../bootstrap/index.ts';
import type { PlatformConfig } from '../../config/index.ts';
import { describeSuspension, type Suspensions } from '../../registry/index.ts';
import { assertHeld } from '../../replication/index.ts';
import { SecretSync, type SecretSyncOptions } from '../../secret-store-sync/index.ts';
import { loadStateKey } from '../../state/index.ts';
import { createSecretSyncMetrics } from '../../telemetry/index.ts';
import type { ConfigService } from '../config/config-service.ts';
import type { Observation } from '../observability/branch-observation.ts';
import type { DaemonOptions } from '../options.ts';
import type { ReplicatedPlatform } from '../replicated/replicated-platform.ts';

type Given =
  | 'kinds'
  | 'store'
  | 'branch'
  | 'registry'
  | 'history'
  | 'isReviewed'
  | 'logger'
  | 'clock';

export interface SecretStoreParts extends Pick<SecretSyncOptions, Given> {
  readonly options: Pick<DaemonOptions, 'environment' | 'credentialFolders'>;
  readonly data: Pick<DataDirectory, 'stateKey'>;
  readonly config: Pick<
    ConfigService,
    'secretStores' | 'subscribe' | 'onMissingVariables' | 'reportSecretStore' | 'reportPulls'
  >;
  readonly observation: Pick<Observation, 'metrics'>;
  readonly events: EventRing;
  readonly suspensions: Suspensions;
  readonly replicated?: Pick<ReplicatedPlatform, 'term'> | undefined;
}

export interface SecretStore {
  readonly sync: SecretSync;
  close(): Promise<void>;
}

export function openSecretStoreSync(parts: SecretStoreParts): SecretStore {
  const { options, data, config, observation, suspensions } = parts;
  const sync = new SecretSync({
    ...parts,
    secret: fingerprintSecret(loadStateKey(data.stateKey)),
    stores: () => config.secretStores,
    notInForce: (why) => config.reportSecretStore(why),
    pullsIncomplete: (why) => config.reportPulls(why),
    environment: options.environment,
    credentialFolders: options.credentialFolders,
    suspended: (store) => {
      const found = suspensions.find('secret-store', store);
      return found && describeSuspension(found);
    },
    assertMayAct: parts.replicated && (() => assertHeld(parts.replicated?.term)),
    metrics: createSecretSyncMetrics(observation.metrics.registry),
  });
  const ofStores = ({ secretStore, secretStores }: PlatformConfig): string =>
    JSON.stringify([secretStore, secretStores]);
  const unsubscribe = config.subscribe((now, before) => {
    if (ofStores(now) !== ofStores(before)) sync.configurationChanged();
  });
  const forget = suspensions.subscribe(({ suspension }) => {
    if (suspension.part === 'secret-store') sync.configurationChanged();
  });
  config.onMissingVariables(() => sync.configurationChanged());
  sync.start();
  return {
    sync,
    close: async () => {
      unsubscribe();
      forget();
      await sync.close();
    },
  };
}

/** As durable as the state key: the fingerprints are in the state that this key encrypts. */
function fingerprintSecret(stateKey: Buffer): Uint8Array {
  return Buffer.from(hkdfSync('sha256', stateKey, '', 'gitplane secret sync fingerprints', 32));
}
