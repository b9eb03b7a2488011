/**
 * Settings of a secret store from the platform configuration (spec section 2.8.11), completed from
 * the environment as the clients of OpenBao and Vault do: `BAO_*` first, then `VAULT_*`.
 */
import { parseGoDuration } from '../apimachinery/index.ts';
import type { SecretStoreConfig } from '../config/index.ts';
import { pemInField } from '../kinds/index.ts';
import type { TransportTls } from '../secret-store-client/index.ts';
import type { Preference } from '../secrets-merge/index.ts';
import {
  type LoginSettings,
  type LoginSources,
  loginFiles,
  readLogin,
  withoutLineBreak,
} from './login-settings.ts';
import { SettingsError } from './settings-error.ts';

export interface TokenReference {
  /** Name of a SharedSecret in the namespace `default`; may be empty. */
  readonly name: string;
  readonly key: string;
  /** True: without the secret, the environment is used. */
  readonly optional: boolean;
}

export interface StoreSettings {
  /** `https://host:port`, with or without a path. */
  readonly address: string;
  readonly skipTLSVerify: boolean;
  readonly tls: TransportTls;
  /** Empty: the root. */
  readonly namespace: string;
  /** Absent: `login`, then `tokenRef`, then the environment. */
  readonly token?: string;
  readonly login?: LoginSettings;
  readonly tokenRef?: TokenReference;
  readonly intervalMs: number;
  /** For secrets without a policy. */
  readonly onStoreOlder: Preference;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface SettingsSources extends LoginSources {
  readonly environment: Environment;
}

const DEFAULT_INTERVAL_MS = 60_000;
/** Lower limit of the interval, whatever is configured. */
const SHORTEST_INTERVAL_MS = 1_000;

/** Namespace of the secret of a token reference. */
export const TOKEN_NAMESPACE = 'default';

/** Undefined: the sync is off. Throws `SettingsError` for missing settings. */
export function readStoreSettings(
  given: SecretStoreConfig | undefined,
  sources: SettingsSources,
): StoreSettings | undefined {
  if (given?.enabled !== true) return undefined;
  const { environment } = sources;
  const own = given.address?.trim() ?? '';
  const address = own || fromEnvironment(environment, 'ADDR');
  if (address === undefined) {
    const message = `${sources.home}.address is empty, and so are BAO_ADDR and VAULT_ADDR in the environment`;
    throw new SettingsError('AddressInvalid', message);
  }
  const { auth = {} } = given;
  const { tokenSecretRef } = auth;
  const token = auth.token?.trim() || tokenInFile(auth.tokenFile, sources);
  const login = readLogin(auth, sources);
  // An address from the environment comes with the namespace of the environment.
  const namespace =
    given.namespace || (own === '' ? fromEnvironment(environment, 'NAMESPACE') : undefined) || '';
  const interval = parseGoDuration(given.syncInterval) ?? 0;
  return {
    address: address.replace(/\/+$/, ''),
    skipTLSVerify: given.skipTLSVerify === true,
    tls: tlsOf(given, sources),
    namespace: namespace.replace(/^\/+|\/+$/g, ''),
    ...(token && { token }),
    ...(login && { login }),
    ...(!token && tokenSecretRef && { tokenRef: referenceOf(tokenSecretRef) }),
    intervalMs: Math.max(interval > 0 ? interval : DEFAULT_INTERVAL_MS, SHORTEST_INTERVAL_MS),
    onStoreOlder: given.onStoreOlder ?? 'Hold',
  };
}

/** The files from which these settings are read. */
export function settingsFiles(
  given: SecretStoreConfig | undefined,
  environment: Environment,
): string[] {
  if (given?.enabled !== true) return [];
  const ofTls = TLS_FIELDS.flatMap(({ part }) => {
    const { path } = tlsSource(given, environment, part);
    return path === undefined ? [] : [path];
  });
  return [...ofTls, ...loginFiles(given.auth ?? {})];
}

/** One line without spaces, as a header requires; other files are not tokens. */
function tokenInFile(
  path: string | undefined,
  { fileText, home }: SettingsSources,
): string | undefined {
  if (!path) return undefined;
  const field = `${home}.auth.tokenFile`;
  const token = withoutLineBreak(fileText(field, path));
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new SettingsError('FileUnreadable', `${field}: ${path} must hold one token on one line`);
}

const TLS_FIELDS = [
  { part: 'ca', data: 'caData', file: 'caFile', variable: 'CACERT' },
  { part: 'cert', data: 'clientCertData', file: 'clientCertFile', variable: 'CLIENT_CERT' },
  { part: 'key', data: 'clientKeyData', file: 'clientKeyFile', variable: 'CLIENT_KEY' },
] as const;

interface TlsSource {
  /** Field of the store; absent: an environment variable. */
  readonly field?: string;
  readonly text?: string | undefined;
  readonly path?: string | undefined;
}

/** The environment applies where the configuration has no value. */
function tlsSource(
  given: SecretStoreConfig,
  environment: Environment,
  part: keyof TransportTls,
): TlsSource {
  const { data, file, variable } = TLS_FIELDS.find((one) => one.part === part) ?? TLS_FIELDS[0];
  if (given[data]) return { text: given[data] };
  if (given[file]) return { field: file, path: given[file] };
  return { path: fromEnvironment(environment, variable) };
}

function tlsOf(
  given: SecretStoreConfig,
  { environment, fileText, home }: SettingsSources,
): TransportTls {
  const texts = TLS_FIELDS.flatMap(({ part, variable }): [string, string][] => {
    const { field, text, path } = tlsSource(given, environment, part);
    if (text !== undefined) return [[part, pemInField(text) ?? text]];
    const place = field === undefined ? `BAO_${variable}` : `${home}.${field}`;
    return path === undefined ? [] : [[part, fileText(place, path)]];
  });
  return Object.fromEntries(texts);
}

function referenceOf({ name = '', key, optional = false }: WrittenReference): TokenReference {
  return { name, key, optional };
}

type WrittenReference = NonNullable<NonNullable<SecretStoreConfig['auth']>['tokenSecretRef']>;

/** The token of the environment, used if the configuration names none. */
export function tokenOfEnvironment(environment: Environment): string | undefined {
  return fromEnvironment(environment, 'TOKEN');
}

function fromEnvironment(environment: Environment, name: string): string | undefined {
  return environment[`BAO_${name}`] || environment[`VAULT_${name}`] || undefined;
}
