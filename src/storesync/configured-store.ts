/**
 * From the configuration to a connection, again and again: what is configured now is used as soon as
 * it works, and until then what worked before.
 */
import type { ObjectKey } from '../apimachinery/key.ts';
import type { SecretStoreConfig } from '../config/sections/secret-store.ts';
import { secretDataOf } from '../kinds/secret-data.ts';
import type { KindTable } from '../kinds/table.ts';
import { StoreError } from '../secretsync/ports.ts';
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
  /** What is in force; asked at each cycle. */
  readonly configuration: () => SecretStoreConfig | undefined;
  readonly environment: Environment;
}

export class ConfiguredStore {
  readonly #options: ConfiguredStoreOptions;
  /** Where secrets that hold tokens are. */
  readonly secrets: Collection;
  #wanted: StoreSettings | undefined;
  #current: StoreSettings | undefined;

  constructor(options: ConfiguredStoreOptions) {
    this.#options = options;
    const [group = ''] = options.kinds.groups;
    this.secrets = { group, kind: options.kinds.byPlural(group, 'sharedsecrets')?.kind ?? '' };
  }

  /** What the connection in use was made with. */
  get current(): StoreSettings | undefined {
    return this.#current;
  }

  /** The object that holds the token, where one does. */
  tokenKey(): ObjectKey | undefined {
    const name = this.#wanted?.tokenRef?.name;
    if (name === undefined || name === '') return undefined;
    return { ...this.secrets, namespace: TOKEN_NAMESPACE, name };
  }

  /** The token as it is configured now. */
  token(): string | undefined {
    const { store, environment } = this.#options;
    const { token, tokenRef } = this.#wanted ?? {};
    if (token !== undefined) return token;
    if (tokenRef === undefined) return tokenOfEnvironment(environment);
    const key = this.tokenKey();
    const stored = key && store.get(key);
    const value = stored && secretDataOf(stored.object)[tokenRef.key];
    const text = value && Buffer.from(value, 'base64').toString('utf8').trim();
    if (text) return text;
    return tokenRef.optional ? tokenOfEnvironment(environment) : undefined;
  }

  /**
   * The connection to use from now on, which may be the one in use; a new one is tried first where
   * another one works. `problem`: what is configured cannot be used, and why.
   */
  async follow(
    inUse: StoreConnection | undefined,
    connect: (settings: StoreSettings) => StoreConnection,
  ): Promise<{ connection: StoreConnection | undefined; problem: string | undefined }> {
    let wanted: StoreSettings | undefined;
    try {
      wanted = readStoreSettings(this.#options.configuration(), this.#options.environment);
    } catch (error) {
      return { connection: inUse, problem: keptWords(inUse, message(error)) };
    }
    const before = this.#wanted;
    this.#wanted = wanted;
    if (wanted === undefined) {
      this.#current = undefined;
      return { connection: undefined, problem: undefined };
    }
    const isSame = this.#current && connectionOf(this.#current) === connectionOf(wanted);
    if (inUse !== undefined && isSame) {
      this.#current = wanted;
      return { connection: inUse, problem: this.#tokenProblem() };
    }
    try {
      const connection = connect(wanted);
      // Nothing is lost by using one that does not work where there is no other.
      if (inUse !== undefined) await tried(connection);
      this.#current = wanted;
      return { connection, problem: this.#tokenProblem() };
    } catch (error) {
      this.#wanted = inUse === undefined ? wanted : before;
      return { connection: inUse, problem: keptWords(inUse, message(error)) };
    }
  }

  #tokenProblem(): string | undefined {
    const { tokenRef } = this.#wanted ?? {};
    if (tokenRef === undefined || this.token() !== undefined) return undefined;
    const where = JSON.stringify(`${TOKEN_NAMESPACE}/${tokenRef.name}`);
    return `secretStore.auth.tokenSecretRef: SharedSecret ${where} has no key ${JSON.stringify(tokenRef.key)}`;
  }
}

/** Rejects when there is no store that takes the token. */
async function tried(connection: StoreConnection): Promise<void> {
  try {
    await connection.beginCycle();
  } catch (error) {
    connection.close();
    throw error;
  }
}

function keptWords(inUse: StoreConnection | undefined, why: string): string {
  return inUse === undefined ? why : `${why}. The settings from before stay in use`;
}

/** Only sentences of ours: others may quote what they were given. */
function message(error: unknown): string {
  if (error instanceof StoreError) return error.message;
  const text = error instanceof Error ? error.message : '';
  return /^(The address of the secret store|secretStore\.)/.test(text) ? text : 'An internal error';
}
