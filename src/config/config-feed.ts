/**
 * The current configuration, shared by the whole daemon. It is replaced as a whole or not at all,
 * and is deeply frozen: a caller that holds one value sees one consistent configuration.
 */
import type { JsonObject } from '../apimachinery/index.ts';
import { configDefaults } from '../kinds/index.ts';
import type { PlatformConfig } from './platform-config.ts';
import { type Environment, type MissingVariable, resolveReferences } from './references.ts';
import { secretStoreAt, withoutStores } from './secret-stores.ts';

/** Called after the change, in the order of subscription. */
export type ConfigListener = (config: PlatformConfig, before: PlatformConfig) => void;

/** Access for consumers: read `current` at each use, or subscribe. */
export interface PlatformConfigSource {
  /** Deeply frozen; another value after every change. */
  readonly current: PlatformConfig;
  /** Not called for what is in force already. Returns what ends the subscription. */
  subscribe(listener: ConfigListener): () => void;
}

export interface Offered {
  /** False: what was in force before stays. */
  readonly taken: boolean;
  readonly missing: readonly MissingVariable[];
}

export class ConfigFeed implements PlatformConfigSource {
  readonly #environment: Environment;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Set<ConfigListener>();
  #current = DEFAULTS;
  #json = JSON.stringify(DEFAULTS);

  constructor(of: { environment: Environment; onError(error: unknown): void }) {
    this.#environment = of.environment;
    this.#onError = of.onError;
  }

  get current(): PlatformConfig {
    return this.#current;
  }

  subscribe(listener: ConfigListener): () => void {
    // Two subscriptions of one function are two.
    const own: ConfigListener = (config, before) => listener(config, before);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /**
   * Puts a configuration that passed its checks into force, unless it names variables that are not
   * there. `leaveOut`: there is nothing to fall back to, so that blocks that name them are left out.
   * The block of a secret store never falls back: secrets would go to a store that is not
   * configured any more.
   */
  offer(written: JsonObject, leaveOut: boolean): Offered {
    const { config, missing } = resolveReferences(written, this.#environment);
    const stores = missing.flatMap(({ path }) => secretStoreAt(written, path) ?? []);
    if (stores.length < missing.length && !leaveOut) {
      if (stores.length > 0) {
        const kept = withoutStores(this.#current, new Set(stores));
        this.#publish(kept);
      }
      return { taken: false, missing };
    }
    this.#publish(config);
    return { taken: true, missing };
  }

  #publish(config: object): void {
    const json = JSON.stringify(config);
    if (json === this.#json) return;
    const before = this.#current;
    this.#json = json;
    this.#current = frozen(checked(config));
    for (const listener of [...this.#listeners]) {
      try {
        listener(this.#current, before);
      } catch (error) {
        // A listener that fails does not stop the others.
        this.#onError(error);
      }
    }
  }
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const item of Object.values(value)) frozen(item);
  return Object.freeze(value);
}

/** The schemas of the configuration, which the types are generated from, have checked `config`. */
function checked(config: object): PlatformConfig {
  return config as PlatformConfig;
}

/** The configuration of a platform that has none. */
export const DEFAULTS: PlatformConfig = frozen(checked(configDefaults()));
