/** Parses and validates the options of `gitplane serve`. */
import { MIN_TTL_SECONDS, type SigningAlgorithm } from '../auth/index.ts';
import { normalizeFolder } from '../manifests/index.ts';
import {
  type Address,
  type ParsedOptions,
  parseAddress,
  readChoice,
  readNumber,
  UsageError,
} from '../options/index.ts';
import { isSubnet } from '../outbound/index.ts';
import type { PruneBudget } from '../registry/index.ts';
import { parseSchedule, type Schedule, ScheduleError } from '../scheduler/index.ts';
import type { PolicyFiles } from '../signatures/index.ts';
import { LOG_FORMATS, LOG_LEVELS, type LogOptions } from '../telemetry/index.ts';
import { type ReplicaOptions, readReplicaOptions } from './replicated/replica-options.ts';
import { type ForgeOptions, readForge } from './repository/forge-options.ts';
import { type RemoteSource, readRemote } from './repository/remote-options.ts';

export interface DaemonOptions {
  readonly dataDir: string;
  readonly listen: Address;
  readonly listenHttp: Address | undefined;
  /** Both files or neither. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly hostnames: readonly string[];
  /** Base URL without a trailing slash; undefined: that of the listener. */
  readonly publicUrl: string | undefined;
  readonly branch: string;
  /** Folder of the repository with the manifests; '' is the root. */
  readonly under: string;
  readonly apiGroup: string;
  readonly proxyPrefix: string;
  readonly pruneBudget: PruneBudget;
  /** Limit of files and folders in a tree that is read. */
  readonly maxPaths: number;
  /** Form of the names of references on the host: `v…`, or `name-x-namespace-x-tenant`. */
  readonly referenceNames: 'short' | 'concat';
  readonly seed: string | undefined;
  /** Configuration file; undefined: the Config in git. */
  readonly configFile: string | undefined;
  /** Variables that the configuration may refer to. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Files with age identities, beside `age.key`. */
  readonly ageKeyFiles: readonly string[];
  /** File with public keys of PGP recipients. */
  readonly pgpKeys: string | undefined;
  /** Accept plaintext secrets in a repository that encrypts secrets. */
  readonly allowPlaintextSecrets: boolean;
  /** Make the first administrator where the repository has manifests in other places alone. */
  readonly allowEmpty: boolean;
  /** Refs on which a repository that encrypts secrets refuses pushed plaintext. */
  readonly refusePlaintext: 'all' | 'branch';
  /** Absent: the repository is hosted here. */
  readonly remote: RemoteSource | undefined;
  /** Absent: nothing is reported to a forge. */
  readonly forge: ForgeOptions | undefined;
  /** Signers whose commits may be pushed; undefined: signatures are not required. */
  readonly signatures: PolicyFiles | undefined;
  /** File of the key that signs the daemon's commits. */
  readonly commitKey: string | undefined;
  /** Time that expired keys stay in git; Infinity: forever. */
  readonly keepExpiredKeysMs: number;
  /** Seconds. */
  readonly endpointTokenMaxTtl: number;
  /** Algorithm of ID tokens. */
  readonly oidcSigningAlg: SigningAlgorithm;
  /** Subnets that requests may reach although they are link-local or of a metadata service. */
  readonly allowOutbound: readonly string[];
  /** Folders of files that the configuration may use as credentials. */
  readonly credentialFolders: readonly string[];
  /** Memory limit of each git process. */
  readonly gitMemoryMib: number;
  /** Full maintenance of the repository, unless the configuration has a window; undefined: never. */
  readonly maintenanceSchedule: Schedule | undefined;
  readonly logLevel: string;
  readonly logFormat: LogOptions['logFormat'];
  /** Absent: a single daemon with embedded state. */
  readonly replica: ReplicaOptions | undefined;
}

const GROUP = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;
const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Throws UsageError. */
export function readDaemonOptions(options: ParsedOptions): DaemonOptions {
  const listenHttp = options.text('listen-http');
  return {
    dataDir: options.required('data-dir'),
    listen: parseAddress('listen', options.required('listen')),
    listenHttp: listenHttp === undefined ? undefined : parseAddress('listen-http', listenHttp),
    tls: readTls(options),
    hostnames: options.all('hostname'),
    publicUrl: readUrl('public-url', options.text('public-url')),
    branch: options.required('branch'),
    under: readFolder(options.required('path')),
    apiGroup: matching(options, 'api-group', GROUP),
    proxyPrefix: matching(options, 'proxy-prefix', SEGMENT),
    maxPaths: readNumber(options, 'push-max-paths', { least: 1 }),
    pruneBudget: {
      objects: readNumber(options, 'prune-budget-objects'),
      percent: readNumber(options, 'prune-budget-percent', { most: 100 }),
    },
    referenceNames: readChoice(options, 'reference-names', ['short', 'concat']),
    seed: options.text('seed'),
    configFile: options.text('config'),
    environment: options.environment,
    ageKeyFiles: options.all('age-key-file'),
    pgpKeys: options.text('pgp-keys'),
    refusePlaintext: readChoice(options, 'refuse-plaintext', ['all', 'branch']),
    allowEmpty: options.isOn('allow-empty'),
    allowPlaintextSecrets: options.isOn('allow-plaintext-secrets'),
    remote: readRemote(options),
    forge: readForge(options, options.required('branch')),
    signatures: readSignatures(options),
    commitKey: options.text('signing-key'),
    keepExpiredKeysMs: readDays(options, 'keep-expired-keys'),
    endpointTokenMaxTtl: readTokenTtl(options),
    oidcSigningAlg: readChoice(options, 'oidc-signing-alg', ['RS256', 'ES256']),
    allowOutbound: readSubnets(options, 'allow-outbound'),
    credentialFolders: options.all('credentials-dir'),
    gitMemoryMib: readNumber(options, 'git-memory', { least: 64 }),
    maintenanceSchedule: readSchedule(options, 'maintenance-schedule'),
    logLevel: readChoice(options, 'log-level', LOG_LEVELS),
    logFormat: readChoice(options, 'log-format', LOG_FORMATS),
    replica: readReplicaOptions(options),
  };
}

function readSubnets(options: ParsedOptions, name: string): readonly string[] {
  const subnets = options.all(name);
  const wrong = subnets.find((subnet) => !isSubnet(subnet));
  if (wrong === undefined) return subnets;
  throw new UsageError(
    `Cannot use --${name} "${wrong}": write an address, or a subnet as 169.254.1.0/24`,
  );
}

function readSchedule(options: ParsedOptions, name: string): Schedule | undefined {
  const text = options.required(name);
  if (text === 'off') return undefined;
  try {
    return parseSchedule(text);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    const message = `Cannot use --${name} ${JSON.stringify(text)}: ${error.message}, or off`;
    throw new UsageError(message, { cause: error });
  }
}

const DAY_MS = 86_400_000;

function readDays(options: ParsedOptions, name: string): number {
  if (options.required(name) === 'forever') return Number.POSITIVE_INFINITY;
  return readNumber(options, name) * DAY_MS;
}

/** Lifetime limit, because a signing key is published until the last token that it signed has ended. */
const LONGEST_TOKEN_SECONDS = 90 * 86_400;

function readTokenTtl(options: ParsedOptions): number {
  const name = 'endpoint-token-max-ttl';
  const seconds = readNumber(options, name);
  if (seconds >= MIN_TTL_SECONDS && seconds <= LONGEST_TOKEN_SECONDS) return seconds;
  const range = `${MIN_TTL_SECONDS} to ${LONGEST_TOKEN_SECONDS}`;
  throw new UsageError(`Cannot use --${name} "${seconds}": use ${range} seconds`);
}

function readTls(options: ParsedOptions): DaemonOptions['tls'] {
  const certFile = options.text('tls-cert');
  const keyFile = options.text('tls-key');
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  throw new UsageError('--tls-cert and --tls-key go together; give both or none');
}

function readUrl(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plain = url !== undefined && url.search === '' && url.hash === '' && url.username === '';
  if (plain && (url.protocol === 'https:' || url.protocol === 'http:')) {
    return text.replace(/\/+$/, '');
  }
  throw new UsageError(`Cannot use --${name} "${text}": write https://HOST[:PORT][/PATH]`);
}

function readSignatures(options: ParsedOptions): PolicyFiles | undefined {
  const files = {
    allowedSigners: options.text('allowed-signers'),
    gpgKeyring: options.text('gpg-keyring'),
    rules: options.text('signature-policy'),
  };
  if (files.allowedSigners !== undefined || files.gpgKeyring !== undefined) return files;
  if (files.rules === undefined) return undefined;
  throw new UsageError(
    '--signature-policy needs to know keys; give --allowed-signers or --gpg-keyring with it',
  );
}

function readFolder(path: string): string {
  try {
    return normalizeFolder(path);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function matching(options: ParsedOptions, name: string, pattern: RegExp): string {
  const value = options.required(name);
  if (pattern.test(value)) return value;
  throw new UsageError(`Cannot use --${name} ${JSON.stringify(value)}`);
}
