/**
 * The connection that the configuration asks for. It is the only one that is used: where it cannot be
 * made there is none, and the connection of an earlier configuration asks the store nothing more.
 */
import type { ObjectKey } from '../apimachinery/key.ts';
import type { SecretStoreConfig } from '../config/sections/secret-store.ts';
import { secretDataOf } from '../kinds/secret-data.ts';
import type { KindTable } from '../kinds/table.ts';
import type { Collection, Store } from '../state/store.ts';
import type { StoreConnection } from './connection.ts';
import {
  connectionOf,
  type Environment,
  readStoreSettings,
  type StoreSettings,
  TOKEN_NAMESPACE,
  tokenOfEnvironment,
} from './settings.ts';

export interface ConfiguredStoreOptions {
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get'>;
  /** The configuration in force; read for each request. */
  readonly configuration: () => SecretStoreConfig | undefined;
  /** Variables that the configuration of the store names and the environment lacks, in a sentence. */
  readonly missingVariables?: () => string | undefined;
  readonly environment: Environment;
}

/** Reason and message for conditions. */
export interface StoreProblem {
  readonly reason: 'VariableMissing' | 'AddressInvalid' | 'TokenMissing';
  readonly message: string;
}

export interface Followed {
  readonly connection: StoreConnection | undefined;
  /** Why the configured store cannot be used. */
  readonly problem: StoreProblem | undefined;
}

export class ConfiguredStore {
  readonly #options: ConfiguredStoreOptions;
  /** Collection of the secrets that hold tokens. */
  readonly secrets: Collection;
  #current: StoreSettings | undefined;

  constructor(options: ConfiguredStoreOptions) {
    this.#options = options;
    const [group = ''] = options.kinds.groups;
    this.secrets = { group, kind: options.kinds.byPlural(group, 'sharedsecrets')?.kind ?? '' };
  }

  /** Settings of the newest `follow`. */
  get current(): StoreSettings | undefined {
    return this.#current;
  }

  /** The object that holds the token, where one does. */
  tokenKey(): ObjectKey | undefined {
    const name = this.#settings()?.tokenRef?.name;
    return name ? { ...this.secrets, namespace: TOKEN_NAMESPACE, name } : undefined;
  }

  /** The token as it is configured now. */
  token(): string | undefined {
    const { store, environment } = this.#options;
    const settings = this.#settings();
    if (settings === undefined) return undefined;
    const { token, tokenRef } = settings;
    if (token !== undefined) return token;
    if (tokenRef === undefined) return tokenOfEnvironment(environment);
    const key = { ...this.secrets, namespace: TOKEN_NAMESPACE, name: tokenRef.name };
    const stored = tokenRef.name === '' ? undefined : store.get(key);
    const value = stored && secretDataOf(stored.object)[tokenRef.key];
    const text = value && Buffer.from(value, 'base64').toString('utf8').trim();
    if (text) return text;
    return tokenRef.optional ? tokenOfEnvironment(environment) : undefined;
  }

  /** True if the configuration of this moment asks for a connection of these settings. */
  asksFor(settings: StoreSettings): boolean {
    const now = this.#settings();
    return now !== undefined && connectionOf(now) === connectionOf(settings);
  }

  /** The connection to use from now on, which may be the one in use. */
  follow(
    inUse: StoreConnection | undefined,
    connect: (settings: StoreSettings) => StoreConnection,
  ): Followed {
    const before = this.#current;
    this.#current = undefined;
    const { configuration, environment, missingVariables } = this.#options;
    const missing = missingVariables?.();
    if (missing !== undefined) return refused('VariableMissing', missing);
    try {
      const wanted = readStoreSettings(configuration(), environment);
      if (wanted === undefined) return { connection: undefined, problem: undefined };
      const isSame = before !== undefined && connectionOf(before) === connectionOf(wanted);
      const connection = inUse !== undefined && isSame ? inUse : connect(wanted);
      this.#current = wanted;
      return { connection, problem: this.#tokenProblem(wanted) };
    } catch (error) {
      return refused('AddressInvalid', message(error));
    }
  }

  /** Undefined as well where they cannot be read: `follow` says why. */
  #settings(): StoreSettings | undefined {
    const { configuration, environment } = this.#options;
    try {
      return readStoreSettings(configuration(), environment);
    } catch {
      return undefined;
    }
  }

  #tokenProblem({ tokenRef }: StoreSettings): StoreProblem | undefined {
    if (tokenRef === undefined || this.token() !== undefined) return undefined;
    const secret = JSON.stringify(`${TOKEN_NAMESPACE}/${tokenRef.name}`);
    const why = `secretStore.auth.tokenSecretRef: SharedSecret ${secret} has no key ${JSON.stringify(tokenRef.key)}`;
    return { reason: 'TokenMissing', message: why };
  }
}

function refused(reason: StoreProblem['reason'], why: string): Followed {
  return { connection: undefined, problem: { reason, message: why } };
}

/** Only sentences of ours: others may quote what they were given. */
function message(error: unknown): string {
  const text = error instanceof Error ? error.message : '';
  return /^(The address of the secret store|secretStore\.)/.test(text) ? text : 'An internal error';
}
