/**
 * The connection that the configuration describes. No other is used: if it cannot be made, there is
 * none, and the connection of an earlier configuration sends no more requests.
 */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { ObjectKey } from '../apimachinery/index.ts';
import { credentialFileProblem, type SecretStoreConfig } from '../config/index.ts';
import type { WatchTimes } from '../files/index.ts';
import { type KindTable, rootsProblem, secretDataOf } from '../kinds/index.ts';
import type { TransportTls } from '../secret-store-client/index.ts';
import type { Collection, Store } from '../state/index.ts';
import type { StoreConnection } from './connection.ts';
import { FollowedFiles } from './followed-files.ts';
import { loginSecrets, type SecretReference, withoutLineBreak } from './login-settings.ts';
import {
  type Environment,
  readStoreSettings,
  type StoreSettings,
  settingsFiles,
  TOKEN_NAMESPACE,
  tokenOfEnvironment,
} from './settings.ts';
import { SettingsError } from './settings-error.ts';

type Refuse = (fields: string, problem: string) => never;

export interface ConfiguredStoreOptions {
  /** Configuration block of the store, such as `secretStore`. */
  readonly home: string;
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get'>;
  /** The current configuration block; read for each request. */
  readonly configuration: () => SecretStoreConfig | undefined;
  /** Message about environment variables that the configuration names and that are not set. */
  readonly missingVariables?: () => string | undefined;
  readonly environment: Environment;
  /** Folders with files that the configuration may use as credentials. */
  readonly credentialFolders?: readonly string[];
  /** Timing of the file watch; absent: the defaults. */
  readonly fileTimes?: WatchTimes;
}

/** Reason and message for conditions. */
export interface StoreProblem {
  readonly reason: 'VariableMissing' | 'TokenMissing' | SettingsError['reason'];
  readonly message: string;
}

export interface Followed {
  readonly connection: StoreConnection | undefined;
  /** Reason why the configured store cannot be used. */
  readonly problem: StoreProblem | undefined;
}

export class ConfiguredStore {
  readonly #options: ConfiguredStoreOptions;
  /** Collection of the secrets that hold tokens. */
  readonly secrets: Collection;
  readonly #files: FollowedFiles;
  #current: StoreSettings | undefined;

  /** `changed` is called after a change of a file that the configuration names. */
  constructor(options: ConfiguredStoreOptions, changed: () => void) {
    this.#options = options;
    this.#files = new FollowedFiles(changed, options.fileTimes);
    const [group = ''] = options.kinds.groups;
    this.secrets = { group, kind: options.kinds.byPlural(group, 'sharedsecrets')?.kind ?? '' };
  }

  /** Settings of the last `follow`. */
  get current(): StoreSettings | undefined {
    return this.#current;
  }

  /** True if the configuration reads a credential from this object. */
  refersTo({ namespace, name }: ObjectKey): boolean {
    const { enabled, auth = {} } = this.#options.configuration() ?? {};
    return enabled === true && namespace === TOKEN_NAMESPACE && loginSecrets(auth).includes(name);
  }

  /** The configured token; undefined if a login provides one. */
  token(): string | undefined {
    const { environment } = this.#options;
    const settings = this.#settings();
    if (settings === undefined || settings.login !== undefined) return undefined;
    const { token, tokenRef } = settings;
    if (token !== undefined) return token;
    if (tokenRef === undefined) return tokenOfEnvironment(environment);
    const text = this.#secretText(tokenRef)?.trim();
    if (text) return text;
    return tokenRef.optional ? tokenOfEnvironment(environment) : undefined;
  }

  #secretText({ name = '', key }: SecretReference): string | undefined {
    if (name === '') return undefined;
    const place = { ...this.secrets, namespace: TOKEN_NAMESPACE, name };
    const stored = this.#options.store.get(place);
    const value = stored && secretDataOf(stored.object)[key];
    return value ? withoutLineBreak(Buffer.from(value, 'base64').toString('utf8')) : undefined;
  }

  /** Text of a file that the configuration names. Throws `SettingsError`. */
  fileText(field: string, path: string): string {
    this.#assertMayRead(field, path);
    return this.#files.text(field, path);
  }

  /** True if the current configuration describes a connection with these settings. */
  asksFor(settings: StoreSettings): boolean {
    const now = this.#settings();
    return now !== undefined && connectionOf(now) === connectionOf(settings);
  }

  /** The connection to use from now on, which may be the current one. */
  follow(
    inUse: StoreConnection | undefined,
    connect: (settings: StoreSettings) => StoreConnection,
  ): Followed {
    const before = this.#current;
    this.#current = undefined;
    const { configuration, environment, missingVariables } = this.#options;
    const missing = missingVariables?.();
    if (missing !== undefined) return refused('VariableMissing', missing);
    this.#files.follow(settingsFiles(configuration(), environment));
    try {
      const wanted = this.#read();
      if (wanted === undefined) return { connection: undefined, problem: undefined };
      checkTls(wanted.tls, this.#options.home);
      const isSame = before !== undefined && connectionOf(before) === connectionOf(wanted);
      const connection = inUse !== undefined && isSame ? inUse : connect(wanted);
      this.#current = wanted;
      return { connection, problem: this.#tokenProblem(wanted) };
    } catch (error) {
      if (error instanceof SettingsError) return refused(error.reason, error.message);
      return refused('AddressInvalid', message(error));
    }
  }

  close(): void {
    this.#files.close();
  }

  /** Undefined also if they cannot be read: `follow` reports the reason. */
  #settings(): StoreSettings | undefined {
    try {
      return this.#read();
    } catch {
      return undefined;
    }
  }

  /** Throws `SettingsError`. */
  #read(): StoreSettings | undefined {
    const { home, configuration, environment } = this.#options;
    return readStoreSettings(configuration(), {
      home,
      environment,
      fileText: (field, path) => this.fileText(field, path),
      secretText: (reference) => this.#secretText(reference),
    });
  }

  /**
   * The author of the configuration administers the platform, not its machine. So a file that is
   * sent to a store, or signs for it, must be in a folder that the operator has named.
   */
  #assertMayRead(field: string, path: string): void {
    const { home } = this.#options;
    // Environment variables are set by the operator.
    const isCredential = field === `${home}.clientKeyFile` || field.startsWith(`${home}.auth.`);
    if (!isCredential) return;
    const refused = credentialFileProblem(path, this.#options.credentialFolders ?? []);
    if (refused !== undefined) throw new SettingsError('FileUnreadable', `${field}: ${refused}`);
  }

  #tokenProblem({ tokenRef }: StoreSettings): StoreProblem | undefined {
    if (tokenRef === undefined || this.token() !== undefined) return undefined;
    const secret = JSON.stringify(`${TOKEN_NAMESPACE}/${tokenRef.name}`);
    const why = `${this.#options.home}.auth.tokenSecretRef: SharedSecret ${secret} has no key ${JSON.stringify(tokenRef.key)}`;
    return { reason: 'TokenMissing', message: why };
  }
}

/** Checks certificates and keys. The `SettingsError` names the configuration field and contains no value. */
function checkTls({ ca, cert, key }: TransportTls, home: string): void {
  const refuse: Refuse = (fields, problem) => {
    throw new SettingsError('FileUnreadable', `${home}: ${fields} ${problem}`);
  };
  const authority = ca === undefined ? undefined : rootsProblem(ca);
  if (authority !== undefined) refuse('caFile or caData', authority);
  if (cert === undefined && key === undefined) return;
  if (cert === undefined) refuse('clientCertFile or clientCertData', 'is missing beside the key');
  if (key === undefined)
    refuse('clientKeyFile or clientKeyData', 'is missing beside the certificate');
  const certificate = rootsProblem(cert);
  if (certificate !== undefined) refuse('clientCertFile or clientCertData', certificate);
  const fits = fitting(cert, key);
  if (fits !== undefined) refuse('clientKeyFile or clientKeyData', fits);
}

function fitting(cert: string, key: string): string | undefined {
  try {
    const privateKey = createPrivateKey(key);
    const isPair = new X509Certificate(cert).checkPrivateKey(privateKey);
    return isPair ? undefined : 'is not the key of the client certificate';
  } catch {
    return 'must hold a private key as PEM, without a passphrase';
  }
}

/**
 * Settings that differ in more than the interval, the policy and the token need another connection.
 */
function connectionOf(settings: StoreSettings): string {
  const { address, skipTLSVerify, tls, namespace, login } = settings;
  return JSON.stringify([address, skipTLSVerify, tls, namespace, login]);
}

function refused(reason: StoreProblem['reason'], why: string): Followed {
  return { connection: undefined, problem: { reason, message: why } };
}

/** Only messages of this code: others may quote their input. */
function message(error: unknown): string {
  const text = error instanceof Error ? error.message : '';
  return text.startsWith('The address of the secret store') ? text : 'An internal error';
}
