/** The secret stores of a configuration by their names: that of `secretStore`, and those of `secretStores`. */
import { type FieldPath, valueAt } from '../apimachinery/index.ts';
import { DEFAULT_STORE } from '../kinds/index.ts';
import type { PlatformConfig } from './platform-config.ts';
import type { SecretStoreConfig } from './sections/secret-store.ts';

/** The part of the configuration that is about one store. */
export interface SecretStoreBlock {
  /** Its place, as in `secretStore` or `secretStores[eu]`. */
  readonly home: string;
  /** As it is in force. */
  readonly config: SecretStoreConfig | undefined;
  /** Variables that it names and the environment lacks, in a sentence. */
  readonly missing: string | undefined;
}

type Stores = Pick<PlatformConfig, 'secretStore' | 'secretStores'>;

/** The default store is always among them. */
export function secretStoreBlocks(
  config: Stores,
  missing: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, SecretStoreBlock> {
  const configs = new Map([[DEFAULT_STORE, config.secretStore]]);
  for (const store of config.secretStores ?? []) configs.set(store.name ?? '', store);
  const names = new Set([...configs.keys(), ...missing.keys()]);
  return new Map(
    [...names].map((name) => {
      const home = name === DEFAULT_STORE ? 'secretStore' : `secretStores[${name}]`;
      return [name, { home, config: configs.get(name), missing: missing.get(name) }];
    }),
  );
}

/** Name of the store that a path of a written configuration is in; undefined: in none. */
export function secretStoreAt(written: unknown, path: FieldPath): string | undefined {
  const [block, index = ''] = path;
  if (block === 'secretStore') return DEFAULT_STORE;
  return block === 'secretStores' ? String(valueAt(written, [block, index, 'name'])) : undefined;
}

/** The configuration without these stores. */
export function withoutStores(config: PlatformConfig, names: ReadonlySet<string>): PlatformConfig {
  const { secretStore, secretStores, ...rest } = config;
  return {
    ...rest,
    ...(secretStore && !names.has(DEFAULT_STORE) && { secretStore }),
    ...(secretStores && {
      secretStores: secretStores.filter(({ name = '' }) => !names.has(name)),
    }),
  };
}
