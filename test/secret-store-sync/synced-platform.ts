/**
 * A platform in this process whose secrets follow a store over HTTP. Cycles run when a test asks for
 * one, and soon after a change in git; the interval is too long to matter.
 */

import { Registry } from 'prom-client';
import { onTestFinished } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import { EventRing } from '../../src/apimachinery/object-events.ts';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { secretStoreBlocks } from '../../src/config/secret-stores.ts';
import { History } from '../../src/history/history.ts';
import type { Keyring } from '../../src/sealing/data-keys.ts';
import { SecretSync, type SecretSyncOptions } from '../../src/secret-store-sync/secret-sync.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { createSecretSyncMetrics } from '../../src/telemetry/secret-sync-metrics.ts';
import type { KvMount } from '../support/kv/kv-mount.ts';
import { type KvServer, startKvServer } from '../support/kv-server.ts';
import {
  kindOf,
  kinds,
  openTestPlatform,
  type PlatformSetup,
  type TestPlatform,
} from '../support/platform.ts';

const PREFIX = 'gitplane.dev/secret-store-';
export const PATH = 'app/mail';

export interface SyncedSetup extends PlatformSetup {
  readonly server?: KvServer;
  readonly environment?: Readonly<Record<string, string>>;
  /** In place of the one with the address and the token of the server. */
  readonly config?: object;
  /** The block `secretStores`. */
  readonly stores?: readonly object[];
  readonly isReviewed?: boolean;
  /** Variables that the default store names and the environment lacks. */
  readonly missing?: () => string | undefined;
  readonly options?: Partial<SecretSyncOptions>;
}

export class SyncedPlatform {
  readonly platform: TestPlatform;
  readonly server: KvServer;
  readonly sync: SecretSync;
  readonly events: EventRing;
  readonly metrics: Registry;
  readonly log: string[];
  /** Each message for the condition InForce of the Config. */
  readonly told: (string | undefined)[];
  /** Each message for the condition SecretsPulled of the Config. */
  readonly toldOfPulls: (string | undefined)[];
  readonly #setup: SyncedSetup;
  readonly #stop: () => Promise<void>;

  constructor(
    of: Pick<
      SyncedPlatform,
      'platform' | 'server' | 'sync' | 'events' | 'metrics' | 'log' | 'told' | 'toldOfPulls'
    > & {
      setup: SyncedSetup;
      stop: () => Promise<void>;
    },
  ) {
    this.platform = of.platform;
    this.server = of.server;
    this.sync = of.sync;
    this.events = of.events;
    this.metrics = of.metrics;
    this.log = of.log;
    this.told = of.told;
    this.toldOfPulls = of.toldOfPulls;
    this.#setup = of.setup;
    this.#stop = of.stop;
  }

  /** The mount `secret/` of the store. */
  get mount(): KvMount {
    const mount = this.server.store.mounts.get('')?.get('secret/');
    if (mount === undefined) throw new Error('The store has no mount secret/');
    return mount;
  }

  cycle(allowDeletions = false, store?: string): Promise<void> {
    return this.sync.syncNow({ allowDeletions, store });
  }

  /** A SharedSecret `mail` that is tied to `secret/app/mail`; annotations without their prefix. */
  async tie(
    data: Readonly<Record<string, string>>,
    annotations: Readonly<Record<string, string>> = {},
    name = 'mail',
  ): Promise<void> {
    await this.platform.create('sharedsecrets', secret(name, data, annotations), 'default');
  }

  object(name = 'mail'): KubeObject | undefined {
    return this.platform.find('sharedsecrets', name, 'default')?.object;
  }

  /** Values of the secret in git, as text. */
  data(name = 'mail'): Record<string, string> | undefined {
    const object = this.object(name);
    if (object === undefined) return undefined;
    const data = (object.spec?.['data'] ?? {}) as Record<string, string>;
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  }

  /** Changes values in git, as a user of the API does. */
  async edit(data: Readonly<Record<string, string>>, name = 'mail'): Promise<void> {
    await this.change((object) => {
      object['spec'] = { ...(object['spec'] as object), data: encoded(data) };
    }, name);
  }

  async annotate(
    annotations: Readonly<Record<string, string | undefined>>,
    name = 'mail',
  ): Promise<void> {
    await this.change((object) => {
      const metadata = object['metadata'] as { annotations?: Record<string, string | undefined> };
      for (const [key, text] of Object.entries(annotations)) {
        metadata.annotations = { ...metadata.annotations, [PREFIX + key]: text };
        if (text === undefined) delete metadata.annotations[PREFIX + key];
      }
    }, name);
  }

  async change(change: (object: Record<string, unknown>) => void, name = 'mail'): Promise<void> {
    await this.platform.registry.update({
      verb: 'patch',
      kind: kindOf('sharedsecrets'),
      namespace: 'default',
      name,
      duplicates: [],
      options: { user: { name: 'ann', groups: [] }, dryRun: false, fieldValidation: 'Strict' },
      change: (current) => {
        const copy = structuredClone(current) as unknown as Record<string, unknown>;
        change(copy);
        return copy;
      },
    });
  }

  async remove(name = 'mail'): Promise<void> {
    await this.platform.registry.delete({
      kind: kindOf('sharedsecrets'),
      namespace: 'default',
      name,
      delete: {},
      options: { user: { name: 'ann', groups: [] }, dryRun: false, fieldValidation: 'Strict' },
    });
  }

  /** `Synced=True Synced`, and the others. */
  conditions(name = 'mail'): string[] {
    const conditions = (this.object(name)?.status?.['conditions'] ?? []) as unknown as {
      type: string;
      status: string;
      reason: string;
    }[];
    return conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`);
  }

  message(name = 'mail'): string {
    const conditions = (this.object(name)?.status?.['conditions'] ?? []) as unknown as {
      message: string;
    }[];
    return conditions.map(({ message }) => message).join('\n');
  }

  async configure(secretStore: object, secretStores: readonly object[] = []): Promise<void> {
    const raw = JSON.stringify({ secretStore, secretStores });
    await this.platform.patch('config', 'default', (object) => {
      object.spec.raw = raw;
    });
  }

  /** Ends this daemon and starts another one on what it left behind. */
  async restart(changes: Partial<SyncedSetup> = {}): Promise<SyncedPlatform> {
    await this.#stop();
    await this.platform.close();
    const { repository } = this.platform;
    return await openSynced({ ...this.#setup, repository, server: this.server, ...changes });
  }
}

export function encoded(data: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
}

export function secret(
  name: string,
  data: Readonly<Record<string, string>>,
  annotations: Readonly<Record<string, string>> = {},
): object {
  const all = { 'kv-mount-path': 'secret', 'kv-secret-path': PATH, ...annotations };
  const named = Object.entries(all).map(([key, text]) => [PREFIX + key, text]);
  return {
    metadata: { name, annotations: Object.fromEntries(named) },
    spec: { data: encoded(data) },
  };
}

/** Opens the platform with its Config, and the sync; all of it ends with the test. */
export async function openSynced(given: SyncedSetup = {}): Promise<SyncedPlatform> {
  const server = given.server ?? (await newServer());
  const setup = { disk: new Map<string, Buffer>(), ...given, server };
  const platform = await openTestPlatform(setup);
  const { keyring, environment = {}, isReviewed = false } = setup;
  const secrets = keyring && { keyring, mindsClear: true };
  const reader = fileReader(
    kinds,
    '',
    secrets as { keyring: Keyring; mindsClear: boolean } | undefined,
  );
  const { repository, branch, store, registry } = platform;
  const history = new History({ repository, branch, kinds, reader, under: '' });
  if (platform.find('config', 'default') === undefined) {
    const { config = defaultConfig(server), stores = [] } = setup;
    const raw = JSON.stringify({ secretStore: config, secretStores: stores });
    await platform.create('config', { metadata: { name: 'default' }, spec: { raw } });
  }
  const log: string[] = [];
  const metrics = new Registry();
  const events = new EventRing();
  const told: (string | undefined)[] = [];
  const toldOfPulls: (string | undefined)[] = [];
  const sync = new SecretSync({
    kinds,
    store,
    branch,
    registry,
    history,
    isReviewed,
    secret: Buffer.alloc(32, 9),
    stores: () => {
      const missing = setup.missing?.();
      return secretStoreBlocks(
        platform.find('config', 'default')?.object.status ?? {},
        new Map(missing === undefined ? [] : [['default', missing]]),
      );
    },
    environment,
    notInForce: (why) => void told.push(why),
    pullsIncomplete: (why) => void toldOfPulls.push(why),
    metrics: createSecretSyncMetrics(metrics),
    events,
    logger: createLogger('debug', { write: (line) => void log.push(line) }),
    clock: Date,
    ...setup.options,
  });
  const config = kindOf('config');
  const unobserve = store.observe({ group: config.group, kind: config.kind }, () =>
    sync.configurationChanged(),
  );
  let stopped = false;
  const stop = async (): Promise<void> => {
    if (stopped) return;
    stopped = true;
    unobserve();
    await sync.close();
    history.close();
  };
  onTestFinished(stop);
  sync.start();
  return new SyncedPlatform({
    platform,
    server,
    sync,
    events,
    metrics,
    log,
    told,
    toldOfPulls,
    setup,
    stop,
  });
}

export function defaultConfig(server: KvServer): object {
  return {
    enabled: true,
    address: server.address,
    auth: { token: 'root' },
    syncInterval: '1h',
  };
}

async function newServer(): Promise<KvServer> {
  const server = await startKvServer();
  server.store.mount('secret/');
  onTestFinished(() => server.close());
  return server;
}
