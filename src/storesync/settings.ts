/**
 * What the platform configuration says of the secret store (spec section 2.8.11), completed from the
 * environment as the clients of OpenBao and Vault do: `BAO_*` first, then `VAULT_*`.
 */
import { parseGoDuration } from '../apimachinery/duration.ts';
import type { SecretStoreConfig } from '../config/sections/secret-store.ts';

export interface TokenReference {
  /** Of a SharedSecret in the namespace `default`; may be empty. */
  readonly name: string;
  readonly key: string;
  /** Without the secret the environment is asked. */
  readonly optional: boolean;
}

export interface StoreSettings {
  /** `https://host:port`. */
  readonly address: string;
  readonly skipTLSVerify: boolean;
  /** Empty: the root. */
  readonly namespace: string;
  /** Absent: see `tokenRef`, and then the environment. */
  readonly token?: string;
  readonly tokenRef?: TokenReference;
  readonly intervalMs: number;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_INTERVAL_MS = 60_000;
/** A store is not asked more often than that, whatever is configured. */
const SHORTEST_INTERVAL_MS = 1_000;

/** Where the secret of a token reference is. */
export const TOKEN_NAMESPACE = 'default';

/** Undefined: there is no sync. Throws one sentence, without secrets, when something is missing. */
export function readStoreSettings(
  given: SecretStoreConfig | undefined,
  environment: Environment,
): StoreSettings | undefined {
  if (given?.enabled !== true) return undefined;
  const own = given.address?.trim() ?? '';
  const address = own || fromEnvironment(environment, 'ADDR');
  if (address === undefined) {
    throw new Error(
      'secretStore.address is empty, and so are BAO_ADDR and VAULT_ADDR in the environment',
    );
  }
  const { token, tokenSecretRef } = given.auth ?? {};
  // Who takes the address from the environment means the store that is described there.
  const namespace =
    given.namespace || (own === '' ? fromEnvironment(environment, 'NAMESPACE') : undefined) || '';
  const interval = parseGoDuration(given.syncInterval) ?? 0;
  return {
    address: address.replace(/\/+$/, ''),
    skipTLSVerify: given.skipTLSVerify === true,
    namespace: namespace.replace(/^\/+|\/+$/g, ''),
    ...(token?.trim() && { token: token.trim() }),
    ...(!token?.trim() && tokenSecretRef && { tokenRef: referenceOf(tokenSecretRef) }),
    intervalMs: Math.max(interval > 0 ? interval : DEFAULT_INTERVAL_MS, SHORTEST_INTERVAL_MS),
  };
}

function referenceOf({ name = '', key, optional = false }: WrittenReference): TokenReference {
  return { name, key, optional };
}

type WrittenReference = NonNullable<NonNullable<SecretStoreConfig['auth']>['tokenSecretRef']>;

/** The token of the environment, where the configuration names none. */
export function tokenOfEnvironment(environment: Environment): string | undefined {
  return fromEnvironment(environment, 'TOKEN');
}

/** What differs between two settings beside the interval is another connection. */
export function connectionOf(settings: StoreSettings): string {
  const { address, skipTLSVerify, namespace } = settings;
  return JSON.stringify([address, skipTLSVerify, namespace]);
}

function fromEnvironment(environment: Environment, name: string): string | undefined {
  return environment[`BAO_${name}`] || environment[`VAULT_${name}`] || undefined;
}
